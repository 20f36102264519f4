"""What a reading of `/metrics` costs with many receipts, in a database of its own. Everything is rolled back."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from config.telemetry.exposition import render_metrics
from config.telemetry.tables import KEPT_GAUGES, read_tables
from config.up.running import run_stack
from ingest.projects.creation import create_project

PROJECTS: Final = 20
ROUNDS: Final = 5
FILL: Final = """
INSERT INTO ingest_tracereceipt (project_id, view_id, seq, group_id, received_at, view_started_at, device_class,
    browser, end_reason, interval_us, body_bytes, state, attempts, crashes)
SELECT (%(projects)s::bigint[])[1 + n %% %(count)s], gen_random_uuid(), 0, 1 + n %% 50, now() - n * interval '1 second',
       now() - n * interval '1 second', 0, 0, 0, 10000, 20000, CASE WHEN n <= %(pending)s THEN 0 ELSE 1 END, 0, 0
FROM generate_series(1, %(receipts)s) AS n"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeCost:
    """The cost of readings with so many pending receipts among all: statements, ms of the database, ms of all of it."""

    pending: int
    statements: int
    tables_ms: float
    first_ms: float
    kept_ms: float


class _Undone(Exception):
    pass


@contextmanager
def _undone() -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
            raise _Undone
    except _Undone:
        pass


def bench_scrape(receipts: int) -> str:
    """Starts a Fieldflame, and returns the costs of readings there as a table."""
    with run_stack() as stack:
        return stack.manage("bench", "scrape-here", "--views", str(receipts))


def measure_scrape(receipts: int) -> str:
    """Returns the costs of readings with so many receipts of `PROJECTS` projects, by how many of them are pending."""
    return describe([_measure(receipts, pending) for pending in (0, receipts // 100, receipts // 5, receipts)])


def _measure(receipts: int, pending: int) -> ScrapeCost:
    with _undone(), connection.cursor() as cursor:
        projects = [create_project(slug=f"bench-scrape-{n}", origins=["*"])[0].pk for n in range(PROJECTS)]
        cursor.execute(FILL, {"projects": projects, "count": PROJECTS, "pending": pending, "receipts": receipts})
        cursor.execute("ANALYZE ingest_tracereceipt")
        times: list[float] = []
        with CaptureQueriesContext(connection) as asked:
            read_tables(datetime.now(UTC))
        for _ in range(ROUNDS):
            times.append(_time(lambda: read_tables(datetime.now(UTC))))
        KEPT_GAUGES.forget()
        return ScrapeCost(
            pending=pending,
            statements=len(asked),
            tables_ms=statistics.median(times),
            first_ms=_time(render_metrics),
            kept_ms=statistics.median(_time(render_metrics) for _ in range(ROUNDS)),
        )


def _time(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return (time.perf_counter() - began_s) * 1000


def describe(costs: list[ScrapeCost]) -> str:
    """Returns the costs as a table."""
    lines = ["| pending | statements | the tables | all of it, first | all of it, kept |", "|---:|---:|---:|---:|---:|"]
    lines += [
        f"| {cost.pending:,} | {cost.statements} | {cost.tables_ms:.1f} ms | {cost.first_ms:.1f} ms "
        f"| {cost.kept_ms:.1f} ms |"
        for cost in costs
    ]
    return "\n".join(lines)
