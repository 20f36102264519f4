"""Measures the bytes of receipts, the cost of storing a trace next to many of them, and of their retention."""

import random
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import uuid4

from django.conf import settings
from django.db import connection

from aggregate.maintenance.old_receipts import drop_receipt_partitions
from benchmarks.shared.here import add_here, run_here
from benchmarks.storage.wal import read_lsn, read_processor_s
from ingest.storage.group_commit import PendingWrite
from ingest.storage.partitions import create_partitions
from ingest.storage.receipt_partitions import (
    PARTITION_DAYS,
    DedupMode,
    create_receipt_partitions,
    list_receipt_partitions,
)
from ingest.storage.storing import COLUMNS, _store
from ops.supervisor.running import open_temporary_stores
from profcore.times import DAY
from projects.creation import create_project

BATCH_ROWS: Final = 500_000
ONE_TABLE: Final = "ingest_receipts_in_one"
POSTS: Final = 1_000  # of one round
ROUNDS: Final = 5
FILL: Final = """
INSERT INTO ingest_tracereceipt (project_id, view_id, seq, group_id, received_at, view_started_at, device_class,
    browser, end_reason, isolated, requested_interval_us, interval_us, measured_interval_us, snippet_us, body_bytes,
    state, attempts, crashes, fold_version)
SELECT %(project)s, gen_random_uuid(), 0, n %% 200, at, at, 1, 1, 1, false, 10000, 10000, 9999, 300, 16000, 1, 1, 0, 5
FROM (SELECT n, %(since)s::timestamptz + (%(done)s + n) * make_interval(secs => %(step)s) AS at
      FROM generate_series(0, %(rows)s - 1) AS n) AS times
"""


def measure_receipts(receipts: int) -> Iterator[str]:
    """Yields the measures of the database of the environment, which is filled and emptied."""
    project, _ = create_project(slug="receipts", key="receipts", origins=["*"])
    now = datetime.now(UTC)
    since = now - DAY * settings.KEEP_RECEIPTS_DAYS
    create_partitions(now.date(), 2)
    _use_one_table(since, now + 2 * DAY)
    _fill(project.pk, receipts, since, now)
    yield f"one table: {_describe_size(receipts)}"
    yield f"  {_measure_store(project.pk, now, DedupMode.NONE)}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {ONE_TABLE}")
    create_receipt_partitions(since.date(), settings.KEEP_RECEIPTS_DAYS + 2)
    _fill(project.pk, receipts, since, now)
    yield f"{len(list_receipt_partitions())} partitions of {PARTITION_DAYS} days: {_describe_size(receipts)}"
    for mode in DedupMode:
        yield f"  {mode.name}: {_measure_store(project.pk, now, mode)}"
    oldest = list_receipt_partitions()[1]  # the very first has only some days
    later = oldest.end_at + DAY * settings.KEEP_RECEIPTS_DAYS
    yield f"  two partitions dropped: {_timed(lambda: drop_receipt_partitions(later))}"


def _use_one_table(start: datetime, end: datetime) -> None:
    """Replaces all partitions by one, which has the receipts of the whole time."""
    with connection.cursor() as cursor:
        for partition in list_receipt_partitions():
            cursor.execute(f"DROP TABLE {partition.name}")
        cursor.execute(
            f"""CREATE TABLE {ONE_TABLE} PARTITION OF ingest_tracereceipt (PRIMARY KEY (project_id, view_id, seq))
                FOR VALUES FROM ('{start.isoformat()}') TO ('{end.isoformat()}')
                WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000)"""
        )


def _fill(project_id: int, receipts: int, since: datetime, now: datetime) -> None:
    step = (now - since) / receipts
    with connection.cursor() as cursor:
        for done in range(0, receipts, BATCH_ROWS):
            rows = min(BATCH_ROWS, receipts - done)
            cursor.execute(
                FILL, {"project": project_id, "since": since, "done": done, "step": step.total_seconds(), "rows": rows}
            )
        cursor.execute("VACUUM ANALYZE ingest_tracereceipt")


def _describe_size(receipts: int) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT sum(pg_table_size(relid)), sum(pg_indexes_size(relid))
               FROM pg_partition_tree('ingest_tracereceipt')"""
        )
        ((heap, indexes),) = cursor.fetchall()
    return f"{float(heap) / receipts:.0f} bytes per receipt and {float(indexes) / receipts:.0f} of indexes"


def _measure_store(project_id: int, now: datetime, mode: DedupMode) -> str:
    """Returns the costs of storing one trace with a body of one byte: the server's processor time, and its log."""
    _one("CHECKPOINT")
    costs: list[float] = []
    logged = []
    for _ in range(ROUNDS):
        _store_one(project_id, now, mode)  # the statement is planned
        began_s, began = read_processor_s(), read_lsn()
        for _ in range(POSTS):
            _store_one(project_id, now, mode)
        costs.append((read_processor_s() - began_s) / POSTS * 1e6)
        logged.append((read_lsn() - began) / POSTS)
    return (
        f"{sorted(costs)[ROUNDS // 2]:.0f} µs of the server's processor per trace (least {min(costs):.0f}); "
        f"{logged[0]:,.0f} bytes of the log after a checkpoint, {logged[-1]:,.0f} after {ROUNDS * POSTS:,} traces"
    )


def _store_one(project_id: int, now: datetime, mode: DedupMode) -> None:
    at = now + timedelta(microseconds=random.randrange(10**6))  # noqa: S311  # no secret
    values = dict.fromkeys(COLUMNS, "1") | {"received_at": at.isoformat(), "view_started_at": at.isoformat()}
    values |= {"view_id": str(uuid4()), "trace_id": str(uuid4()), "is_gzip": "f", "isolated": "f"}
    row = (*list(values.values())[:-1], b"x")
    _store([PendingWrite(project_id=project_id, received_at=at, rows=[row], dedup_mode=mode)])


def _timed(work: Callable[[], object]) -> str:
    began_s, began = time.monotonic(), read_lsn()
    work()
    return f"{time.monotonic() - began_s:.2f} s, {(read_lsn() - began) / 1e6:.1f} MB of the log"


def _one(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--receipts", type=int, default=1_000_000, help="the number of receipts (default: %(default)s)")
    add_here(parser)
    options = parser.parse_args()
    if options.here:
        for line in measure_receipts(options.receipts):
            print(line)
    else:
        with open_temporary_stores("receipts") as stores:
            print(run_here(stores.environment, "receipts", "--receipts", str(options.receipts)))
