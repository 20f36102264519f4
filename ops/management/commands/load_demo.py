"""Creates the demo project, and loads its source maps and a month of resampled page views."""

import sys
from datetime import UTC, datetime

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error
from tqdm import tqdm

from ops.demo.loading import (
    DemoError,
    count_pending,
    count_unlabelled,
    date_groups,
    ensure_demo_project,
    store_views,
    upload_maps,
    wait_until_done,
)
from ops.supervisor.folder import DataFolder, write_private

BAR_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
TRACES_A_VIEW = 4  # about
STEPS = 1_000  # of the bar: a quarter is for storing, the rest for folding, which takes longer


class Command(BaseCommand):
    help = (
        "Create the project `demo`, and load its source maps and page views recorded before, with dates of this month."
    )
    requires_system_checks = []  # they import every page: a second

    def handle(self, *args: object, **options: object) -> None:
        try:
            project = ensure_demo_project()
            upload_maps(project)
            stored = 0
            with tqdm(total=STEPS, desc="Sample data", file=sys.stderr, bar_format=BAR_FORMAT) as bar:
                for count in store_views(project, datetime.now(UTC), settings.DEMO_VIEWS):
                    stored += count
                    bar.update(STEPS * count // (4 * TRACES_A_VIEW * settings.DEMO_VIEWS))

                def show(pending: int) -> None:
                    bar.update(max(0, STEPS * (stored - pending) // max(1, stored) - bar.n))

                wait_until_done(lambda: count_pending(project), show, "traces are not folded")
            date_groups(project)
            wait_until_done(lambda: count_unlabelled(project), lambda left: None, "scripts have no names")
        except DemoError as error:
            raise CommandError(str(error)) from None
        except Error as error:
            raise CommandError(f"The database refused the samples: {error}") from None
        write_private(DataFolder(settings.DATA_DIR).demo_loaded, f"{stored}\n")
