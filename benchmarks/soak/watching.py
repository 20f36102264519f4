"""What a stack uses while it is soaked: memory of every process, pending traces, processor time, log and disk."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from benchmarks.shared.processes import Share, processor_s, take_shares
from benchmarks.soak.repeating import Repeated
from ops.supervisor.running import RunningStack

LOOK_S: Final = 1.0
PENDING: Final = "SELECT count(*) FROM ingest_tracereceipt WHERE state = 0"
LOG: Final = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
# Raw traces and receipts lie in partitions, which count as the table that they are part of.
DISK: Final = """
SELECT coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' GROUP BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look at the stack."""

    at_s: float
    shares: Sequence[Share]
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What the stack has used so far: seconds of a processor by part, bytes of the log, and bytes by table."""

    processor_s: dict[str, float]
    log_bytes: int
    table_bytes: dict[str, int]


class StackMonitor:
    """Looks at a stack every second, until it is stopped."""

    def __init__(self, stack: RunningStack) -> None:
        self.looks: list[Look] = []
        self._stack = stack
        self.stop = Repeated(self._look, LOOK_S).stop

    def _look(self) -> None:
        shares, pending = take_shares(self._stack), count_pending(self._stack)
        self.looks.append(Look(at_s=time.monotonic(), shares=shares, pending=pending))


def open_database(stack: RunningStack) -> "psycopg.Connection[tuple[Any, ...]]":
    """Returns a connection to a stack's database."""
    return psycopg.connect(stack.store_environment["DATABASE_URL"], autocommit=True, connect_timeout=10)


def count_pending(stack: RunningStack) -> int:
    """Returns the number of the pending traces."""
    with open_database(stack) as connection:
        row = connection.execute(PENDING).fetchone()
    assert row is not None
    return int(row[0])


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


GROWTH_MB: Final = 8.0  # what a part may grow by in the second half of a time, or this share of it
GROWTH_SHARE: Final = 0.05


def sum_parts(looks: Sequence[Look]) -> dict[str, list[float]]:
    """Returns the MB (PSS) of each part at each look. PostgreSQL's buffers fill up: they are a row of their own."""
    sums: dict[str, list[float]] = {}
    for number, look in enumerate(looks):
        for share in look.shares:
            is_store = share.part == "postgres"
            for name, mb in (
                (share.part, share.pss_mb - (share.shared_mb if is_store else 0.0)),
                *([("postgres, its buffers", share.shared_mb)] if is_store else []),
            ):
                column = sums.setdefault(name, [0.0] * len(looks))
                column[number] += mb
    return sums


def find_growth(column: Sequence[float]) -> float:
    """Returns the MB between the medians of the third and the last quarter of a time, so that no single read counts."""
    quarter = len(column) // 4
    if not quarter:
        return 0.0
    return statistics.median(column[-quarter:]) - statistics.median(column[-2 * quarter : -quarter])


def is_flat(column: Sequence[float]) -> bool:
    """Returns whether a part grows no more than is allowed."""
    return find_growth(column) <= max(GROWTH_MB, GROWTH_SHARE * max(column, default=0.0)) / 2
