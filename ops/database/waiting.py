"""Changes of the schema that wait shortly for each lock, and are tried again until they get it."""

import random
from collections.abc import Callable
from time import monotonic, sleep
from typing import Final

from django.conf import settings
from django.core.management.base import CommandError
from django.db import OperationalError, connections
from psycopg.errors import LockNotAvailable

from ops.database.migration_lock import NAME

FIRST_PAUSE_S: Final = 0.5  # as long as the wait before: others run half of the time at least
LONGEST_PAUSE_S: Final = 10.0  # what holds a lock for minutes is not met more often by asking more often

# Transactions that are open for longest. They hold the locks of all they have read, and these are what DDL waits for.
HOLDERS: Final = """
SELECT pid, application_name, state, extract(epoch FROM now() - xact_start)::int FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> %s
  AND xact_start < now() - make_interval(secs => %s) AND backend_type = 'client backend' ORDER BY xact_start LIMIT 3
"""


def try_for_locks(change: Callable[[], None], *, what: str, database: str, say: Callable[[str], object]) -> None:
    """Calls `change` until it gets its locks. Raises CommandError after MIGRATE_DEADLINE_S; `what` is its subject."""
    deadline = monotonic() + settings.MIGRATE_DEADLINE_S
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            change()
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
            holders = list_holders(database)
            if monotonic() + pause_s > deadline:
                raise CommandError(
                    f"{what} got no lock within {settings.MIGRATE_DEADLINE_S} s. {holders} Nothing is half "
                    "done: end what holds the lock, or wait for it, and give the command again."
                ) from error
            say(f"\n  A lock is taken; trying again in {pause_s:.1f} s. {holders}")
        sleep(random.uniform(0.5, 1.0) * pause_s)  # noqa: S311  # jitter
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


def list_holders(database: str) -> str:
    """Returns a sentence about the transactions that are open for longer than a lock is waited for."""
    with connections[database].cursor() as cursor:
        cursor.execute(HOLDERS, [NAME, settings.MIGRATE_LOCK_MS / 1000])
        holders = [f"process {pid} ({name or 'unnamed'}, {state}, {age} s)" for pid, name, state, age in cursor]
    return f"Open transactions: {', '.join(holders)}." if holders else "No transaction is open for long."
