"""What a stack uses while it is soaked: memory of every process, pending traces, processor time, log and disk."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from bench.memory.whole import Share, take_shares
from bench.processor_time import processor_s
from config.up.running import RunningStack

PENDING: Final = """
SELECT count(*), coalesce(extract(epoch FROM now() - min(received_at)), 0)::float8
FROM ingest_tracereceipt r JOIN ingest_project p ON p.id = r.project_id WHERE p.slug = %s AND r.state = 0
"""
LOG: Final = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
# Raw traces and receipts lie in partitions, which count as the table that they are part of.
DISK: Final = """
SELECT coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' GROUP BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look at the stack. Pending traces are those of the soaked project; None while PostgreSQL is away."""

    at_s: float
    shares: Sequence[Share]
    pending: int | None
    oldest_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What the stack has used so far: seconds of a processor by part, bytes of the log, and bytes by table."""

    processor_s: dict[str, float]
    log_bytes: int
    table_bytes: dict[str, int]


class Watch:
    """Looks at a stack every so many seconds, in a thread of its own."""

    def __init__(self, stack: RunningStack, slug: str, *, every_s: float) -> None:
        self.looks: list[Look] = []
        self.fault: BaseException | None = None
        self._stack = stack
        self._slug = slug
        self._every_s = every_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the looks, and raises what went wrong."""
        self._is_over.set()
        self._thread.join()
        if self.fault is not None:
            raise self.fault

    def between(self, began_s: float, ended_s: float) -> list[Look]:
        """Returns the looks of a time."""
        return [look for look in self.looks if began_s <= look.at_s <= ended_s]

    def _work(self) -> None:
        try:
            while not self._is_over.wait(self._every_s):
                self.looks.append(self._look())
        except BaseException as error:  # told by the thread that stops the watch
            self.fault = error

    def _look(self) -> Look:
        try:
            pending, oldest_s = count_pending(self._stack, self._slug)
        except psycopg.Error:  # it is restarted
            pending, oldest_s = None, None
        return Look(at_s=time.monotonic(), shares=take_shares(self._stack), pending=pending, oldest_s=oldest_s)


def open_database(stack: RunningStack) -> "psycopg.Connection[tuple[Any, ...]]":
    """Returns a connection to a stack's database."""
    return psycopg.connect(stack.store_environment["DATABASE_URL"], autocommit=True, connect_timeout=10)


def count_pending(stack: RunningStack, slug: str) -> tuple[int, float]:
    """Returns the number of a project's pending traces, and the age of the oldest one in seconds."""
    with open_database(stack) as connection:
        row = connection.execute(PENDING, [slug]).fetchone()
    assert row is not None
    return row


def take_used(stack: RunningStack) -> Used:
    """Returns what the stack has used so far."""
    assert stack.process is not None
    with open_database(stack) as connection:
        row = connection.execute(LOG).fetchone()
        assert row is not None
        tables = {str(name): int(size) for name, size in connection.execute(DISK)}
    return Used(
        processor_s={**processor_s(stack.process.pid), "sender": time.process_time()},
        log_bytes=int(row[0]),
        table_bytes=tables,
    )
