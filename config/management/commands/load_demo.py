"""Creates the demo project and loads its samples through the door, as a browser would."""

import sys
from datetime import UTC, datetime

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from config.demo import DemoError, ensure_demo_project, read_samples, send_samples, wait_until_folded
from config.env import read_str
from config.up.folder import DataFolder, write_private

BAR_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"


class Command(BaseCommand):
    help = (
        "Create the project `demo` and load recorded traces into it through the door, with dates moved to these days."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--url", default=read_str("FIELDFLAME_URL", "http://127.0.0.1:8000"), help="where the door is"
        )

    def handle(self, *args: object, **options: object) -> None:
        project = ensure_demo_project()
        samples = read_samples(datetime.now(UTC))
        try:
            # Half of the bar is for sending and half for folding, since both take time.
            with tqdm(total=2 * len(samples), desc="Sample traces", file=sys.stderr, bar_format=BAR_FORMAT) as bar:
                for count in send_samples(str(options["url"]), samples):
                    bar.update(count)

                def show(pending: int) -> None:
                    bar.update(max(0, 2 * len(samples) - pending - bar.n))

                wait_until_folded(project, show)
        except DemoError as error:
            raise CommandError(str(error)) from None
        write_private(DataFolder(settings.DATA_DIR).demo_loaded, f"{len(samples)}\n")
