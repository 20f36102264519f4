"""`./run restore BACKUP`: what `./run backup` made, into an empty database."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ops.backup.programs import BackupError, end_by_sigterm
from ops.backup.restoring import restore_backup


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty database, and compare all rows with the backup. Into a data folder: name a "
        "new one by FIELDFLAME_DATA, then start `./run` there. Exit status: 0 done, 1 refused or failed."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("backup", type=Path, help="the folder that `./run backup` printed")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        end_by_sigterm()
        try:
            manifest, took_s = restore_backup(options["backup"].expanduser().resolve(), say=self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from None
        if manifest.tables is None:
            self.stdout.write(f"Restored in {took_s:.1f} s. The backup has no sums, so nothing was compared.")
            return
        rows = sum(table.rows for table in manifest.tables.values())
        self.stdout.write(
            f"Restored {rows:,} rows in {len(manifest.tables)} tables, equal to the backup, in {took_s:.1f} s."
        )
