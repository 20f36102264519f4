"""Takes the pictures of the README and the documents from a running Fieldflame with the demo."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.demo.pictures import take_pictures
from config.demo.recording.programs import ProgramError, find_chromium
from config.env import read_str
from config.up.folder import DataFolder

IMAGES = Path(settings.BASE_DIR) / "docs" / "images"


class Command(BaseCommand):
    help = "Take the README's pictures of the demo, light and dark, from a running Fieldflame. Needs Chromium."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help="only these pictures (default: all)")
        parser.add_argument("--url", default=read_str("FIELDFLAME_URL", "http://127.0.0.1:8000"), help="the dashboard")
        parser.add_argument("--user", default="admin", help="who looks (default: %(default)s)")
        parser.add_argument("--output", type=Path, default=IMAGES, help="the folder (default: docs/images)")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        try:
            chromium = find_chromium()
        except ProgramError as error:
            raise CommandError(str(error)) from None
        from playwright.sync_api import sync_playwright  # only the tests' packages have it

        kept = DataFolder(settings.DATA_DIR).admin_password
        password = os.environ.get("FIELDFLAME_PASSWORD") or (kept.read_text().strip() if kept.exists() else "")
        if not password:
            raise CommandError(
                f"No password: set FIELDFLAME_PASSWORD, or FIELDFLAME_DATA to the folder with {kept.name}."
            )
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=os.geteuid() != 0)
            pictures = take_pictures(
                browser,
                url=options["url"],
                user=options["user"],
                password=password,
                folder=options["output"],
                names=options["names"],
            )
            for path in pictures:
                self.stdout.write(f"{path}  {path.stat().st_size / 1000:.0f} kB")
            browser.close()
