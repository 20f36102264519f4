"""`tidy_packs`: deletes what no row names any more from the object store, now."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from aggregate.maintenance.packs.orphans import delete_orphans
from aggregate.maintenance.packs.tidying import tidy_packs
from ingest.storage.packs.mark import Standing, read_standing, take_over
from ingest.storage.packs.store import BodiesUnavailable


class Command(BaseCommand):
    help = (
        "Delete bytes of erased views, of expired days and of posts that were given up from the object store. Workers "
        "do this every minute, and look for objects of the last days that no row names every hour."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="look through all objects, not only those of three days")
        parser.add_argument(
            "--take-over",
            action="store_true",
            help="make the bucket this database's own first: after it was restored elsewhere, and the old one is gone",
        )

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        if not settings.OBJECTS:
            raise CommandError("FIELDFLAME_OBJECTS is not set: no body lies in an object store.")
        now = datetime.now(UTC)
        try:
            if options["take_over"]:
                take_over()
            if read_standing() is Standing.OTHERS:
                raise CommandError("The bucket is marked as another database's: see --take-over.")
            tidied, orphans = tidy_packs(now), delete_orphans(now, is_whole=options["all"])
        except BodiesUnavailable as error:
            raise CommandError(f"The object store cannot be used: {error}.") from None
        self.stdout.write(f"{tidied} packs written anew or deleted, {orphans} objects without rows deleted.")
