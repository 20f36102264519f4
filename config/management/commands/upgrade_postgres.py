"""`./run upgrade_postgres`: takes the data folder to another major version of PostgreSQL."""

import os
import shutil
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.up.folder import DataFolder
from config.up.messages import StartError
from config.up.stores.exchange import finish_exchange, list_old
from config.up.stores.upgrading import UpgradeResult, measure_folder, upgrade
from config.up.supervisor import StopRequested, Supervisor


class Command(BaseCommand):
    help = (
        "Take the data of `./run` to the newest major version of PostgreSQL that is installed. Fieldflame must be "
        "stopped. The old data is kept until --remove-old, and an interruption changes nothing. Exit status: 0 done, "
        "or nothing to do; 1 refused or failed, the data is as it was; 130 interrupted, likewise."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", type=int, metavar="MAJOR", help="this version (default: the newest that is here)")
        parser.add_argument("--remove-old", action="store_true", help="delete the data that earlier upgrades kept")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        if os.environ.get("DATABASE_URL"):
            raise CommandError(
                "DATABASE_URL names a PostgreSQL server that `./run` does not keep. Upgrade it by its own means "
                "(docs/backup.md#a-new-major-version-of-postgresql)."
            )
        supervisor = Supervisor(DataFolder(settings.DATA_DIR), holder="command")
        supervisor.is_quiet = True
        supervisor.catch_signals()
        try:
            supervisor.folder.create()
            supervisor.take_folder()
            if options["remove_old"]:
                self.remove_old(supervisor.folder)
            else:
                self.report(upgrade(supervisor, to=options["to"], say=self.stdout.write))
        except StartError as error:
            raise CommandError(str(error)) from None
        except StopRequested:
            raise CommandError("Interrupted: the data is as it was.", returncode=130) from None
        finally:
            supervisor.stop()

    def report(self, result: UpgradeResult) -> None:
        if result.old is None:
            self.stdout.write(f"The data is of PostgreSQL {result.major}; there is nothing to do.")
            return
        self.stdout.write(
            f"The data is now of PostgreSQL {result.major}: {result.rows:,} rows in {result.tables} tables, the same "
            f"as before, in {result.took_s:.0f} s.\n"
            f"The old data is kept in {result.old} ({result.old_bytes / 1e6:,.0f} MB).\n"
            "When you are content with the new version: ./run upgrade_postgres --remove-old"
        )

    def remove_old(self, folder: DataFolder) -> None:
        finish_exchange(folder.postgres)
        data = folder.postgres.resolve()
        if not data.exists():
            raise CommandError(f"There is no PostgreSQL data in {folder.path}, so nothing is removed.")
        for old in list_old(data):
            size = measure_folder(old)
            shutil.rmtree(old)
            self.stdout.write(f"Removed {old} ({size / 1e6:,.0f} MB).")
