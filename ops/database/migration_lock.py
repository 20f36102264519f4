"""One `migrate` at a time: a second one, such as on another host of a rolling deploy, waits for the first.

The lock is held on a connection of its own, so it is there however often the migrations' own connection begins and ends
transactions. It ends with the process. It is asked for again and again instead of waited for: a statement that waits
is itself a transaction, and the first one's `CREATE INDEX CONCURRENTLY` would wait for it for ever.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Final

import psycopg
from django.conf import settings
from django.core.management.base import CommandError

from ops.backup.programs import read_address

LOCK_KEY: Final = 0x6D69_6772  # "migr"
NAME: Final = "fieldflame migrate, lock"
ASK_EVERY_S: Final = 1.0
SAY_EVERY: Final = 60  # of these
HOLDER: Final = """
SELECT l.pid, coalesce(a.client_addr::text, 'the same host'), extract(epoch FROM now() - a.backend_start)::int
FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = %s AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


@contextmanager
def hold_migration_lock(say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock until the block ends; before, waits until no one else has it, and says so. Raises CommandError."""
    with _connect() as connection:
        attempts = 0
        while not _take(connection):
            if attempts % SAY_EVERY == 0:
                say(_describe_holder(connection))
            attempts += 1
            sleep(ASK_EVERY_S)
        yield


def _connect() -> "psycopg.Connection[tuple[object, ...]]":
    try:  # nothing is prepared: see `_take`
        return psycopg.connect(read_address(), autocommit=True, prepare_threshold=None, application_name=NAME)
    except psycopg.OperationalError as error:
        why = str(error).strip().splitlines()[0]
        raise CommandError(f"PostgreSQL does not answer: {why.rstrip('.')}.") from error


def _take(connection: "psycopg.Connection[tuple[object, ...]]") -> bool:
    """Tries to take the lock, and says whether it is ours.

    A statement with parameters, or a prepared one, would keep its snapshot for as long as the transaction is open, and
    `CREATE INDEX CONCURRENTLY` waits for snapshots.
    """
    if settings.TRANSACTION_POOLING:  # the pooler gives the session of a transaction to no one else
        connection.execute("BEGIN")
        row = connection.execute(f"SELECT pg_try_advisory_xact_lock({LOCK_KEY})".encode()).fetchone()
    else:
        row = connection.execute(f"SELECT pg_try_advisory_lock({LOCK_KEY})".encode()).fetchone()
    is_ours = row is not None and bool(row[0])
    if settings.TRANSACTION_POOLING and not is_ours:
        connection.execute("ROLLBACK")
    return is_ours


def _describe_holder(connection: "psycopg.Connection[tuple[object, ...]]") -> str:
    row = connection.execute(HOLDER.encode(), [LOCK_KEY]).fetchone()
    who = "" if row is None else f" (process {row[0]} of PostgreSQL, from {row[1]}, for {row[2] or 0} s)"
    return f"Another migrate is under way{who}. This one waits until it ends."
