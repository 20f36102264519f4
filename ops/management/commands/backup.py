"""`./run backup`: a backup of everything, while everything runs."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from ops.backup.dumping import make_backup, remove_older
from ops.backup.programs import BackupError, end_by_sigterm


class Command(BaseCommand):
    help = (
        "Back up the database, and the secret key of a data folder, while Fieldflame runs or not. The backup is a "
        "folder with a dump and the sum of each table. Exit status: 0 done, 1 refused or failed; nothing is left then."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, help="put it below this folder (DATA/backups)")
        parser.add_argument(
            "--keep", type=int, metavar="N", help="afterwards, remove all but the newest N backups there"
        )
        parser.add_argument(
            "--no-sums",
            action="store_true",
            help="do not read all rows again for their sums; a restore compares nothing",
        )

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        parent = (options["folder"] or settings.DATA_DIR / "backups").expanduser().resolve()
        if options["keep"] is not None and options["keep"] < 1:
            raise CommandError("--keep must be at least 1.")
        end_by_sigterm()
        try:
            folder, manifest = make_backup(parent, with_sums=not options["no_sums"], say=self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from None
        size = sum(kept.bytes for kept in manifest.files.values())
        rows = f", {sum(kept.rows for kept in manifest.tables.values()):,} rows" if manifest.tables is not None else ""
        self.stdout.write(f"{folder}\n{size / 1e6:,.1f} MB{rows}, in {manifest.took_s:.1f} s.")
        if "secret_key" not in manifest.files:
            self.stdout.write("The secret key is in the environment, not in the backup: keep it too.")
        for older in remove_older(parent, options["keep"]) if options["keep"] else ():
            self.stdout.write(f"Removed {older}.")
