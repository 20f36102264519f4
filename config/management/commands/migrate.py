"""Django's `migrate`, which lets others go first: it waits shortly for each lock, and tries again until it gets it."""

from typing import Any

from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS

from config.database.distributing import distribute, is_distributed
from config.database.waiting import try_for_locks


class Command(migrate.Command):
    help = (
        f"{migrate.Command.help} Each statement waits for a lock at most FIELDFLAME_MIGRATE_LOCK_MS, so posts do not "
        "wait long behind it. Then it is tried again for FIELDFLAME_MIGRATE_PATIENCE_S; exit status 1 if that is not "
        "enough. What was applied stays, and the same command goes on. If the tables are distributed over a Citus "
        "cluster, new ones follow them."
    )

    def handle(self, *args: Any, **options: Any) -> None:  # Any: as Django has it
        def apply() -> None:
            super(Command, self).handle(*args, **options)
            if options["database"] == DEFAULT_DB_ALIAS and is_distributed():
                distribute()

        try_for_locks(apply, what="A migration", database=options["database"], say=self.stdout.write)
