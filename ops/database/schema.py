"""Schema changes that give up when they cannot get a lock, so that no one waits behind them for long.

A statement that waits for a table's lock also holds up all who come after it, posts too. So each one waits for a lock
at most MIGRATE_LOCK_MS, far less than a post waits for the database. The command `migrate` tries again.
"""

import re
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.backends.postgresql import schema

# These take locks that block no reads and writes, wait for other transactions, and cannot run inside one.
WAITING: Final = re.compile(r"\bCONCURRENTLY\b|^\s*VACUUM\b", re.IGNORECASE)


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Django's own, with a limit of waiting for locks in each transaction.

    The limit is set in transactions, never in sessions: a pooler may give a session to others.
    """

    def __enter__(self) -> "DatabaseSchemaEditor":
        super().__enter__()
        if self.atomic_migration:
            self._limit_waiting()
        return self

    def execute(self, sql: Any, params: Any = ()) -> None:  # Any: as Django has it, a text or its Statement
        """Executes a statement. One of a migration that is not atomic gets a transaction of its own, if it may."""
        if self.atomic_migration or self.collect_sql or WAITING.search(str(sql)):
            super().execute(sql, params)
            return
        with transaction.atomic(self.connection.alias):
            self._limit_waiting()
            super().execute(sql, params)

    def _limit_waiting(self) -> None:
        if settings.MIGRATE_LOCK_MS and not self.collect_sql:
            with self.connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{settings.MIGRATE_LOCK_MS}ms"])
