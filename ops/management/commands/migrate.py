"""Django's `migrate`, one at a time, which lets others go first: it waits shortly for each lock, and tries again.

After a whole migration it makes the coming partitions: a new server has them before beat has run for an hour.
"""

from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS

from ingest.storage.partitions import DAYS_AHEAD, create_coming_partitions
from ops.citus.distributing import distribute, is_distributed
from ops.database.migration_lock import hold_migration_lock
from ops.database.waiting import try_for_locks


class Command(migrate.Command):
    help = (
        f"{migrate.Command.help} Each statement waits for a lock at most FIELDFLAME_MIGRATE_LOCK_MS, so posts do not "
        "wait long behind it. Then it is tried again for FIELDFLAME_MIGRATE_DEADLINE_S; exit status 1 if that is not "
        "enough. What was applied stays, and the same command goes on. While another migrate is under way, it waits. "
        "If the tables are distributed over a Citus cluster, new ones follow them."
    )

    def handle(self, *args: Any, **options: Any) -> None:  # Any: as Django has it
        def apply() -> None:
            super(Command, self).handle(*args, **options)
            if options["database"] == DEFAULT_DB_ALIAS and is_distributed():
                distribute()
            if is_whole(options):
                create_coming_partitions(datetime.now(UTC).date(), DAYS_AHEAD)

        only_looks = options["plan"] or options["check_unapplied"]
        with nullcontext() if only_looks else hold_migration_lock(self.say):
            try_for_locks(apply, what="A migration", database=options["database"], say=self.stdout.write)

    def say(self, sentence: str) -> None:
        self.stdout.write(sentence)
        self.stdout.flush()


def is_whole(options: dict[str, Any]) -> bool:  # Any: argparse's values
    """Returns whether all migrations are applied in earnest, to a database that is not one of tests."""
    narrows = ("app_label", "plan", "check_unapplied", "fake", "prune", "run_syncdb")
    return not any(options[name] for name in narrows)
