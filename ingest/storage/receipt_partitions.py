"""Partitions of the receipts: some days each, dropped by retention once no one needs any of their receipts.

In each partition a trace's identity (project, view, seq) is unique by its key. A trace that was posted before may be in
an older one, so the statement that stores it looks there too (`ingest.storage.storing`). It cannot see what is not yet
committed. So what is received near the border of two partitions also writes its identity to a table of its own, whose
key makes the later one wait for the earlier one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from typing import Final

from django.db import connection
from psycopg.sql import SQL, Identifier

from ingest.models import Receipt
from profcore.times import DAY

TABLE: Final = Receipt._meta.db_table
# Few partitions make few look-ups of identities, many are dropped soon after their last receipt is old enough. Borders
# are the days whose number (`toordinal`) it divides: another length needs a migration.
PARTITION_DAYS: Final = 15
# Clocks of hosts may differ, and a statement may wait, by this much in all. An import that takes longer is given up.
NEAR_BORDER: Final = timedelta(hours=2)
# Every receipt leaves the queue's partial indexes soon after it came: keep them swept.
CREATE_PARTITION: Final = SQL(
    """CREATE TABLE {name} (LIKE ingest_tracereceipt INCLUDING ALL, PRIMARY KEY (project_id, view_id, seq))
       WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000)"""
)
ATTACH_PARTITION: Final = SQL(
    "ALTER TABLE ingest_tracereceipt ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({end})"
)
_BOUNDS: Final = re.compile(r"FROM \('([^']+)'\) TO \('([^']+)'\)")


@dataclass(frozen=True, slots=True)
class ReceiptPartition:
    """A table with the receipts from `start_at` to before `end_at`."""

    name: str
    start_at: datetime
    end_at: datetime


def partition_bounds(received_at: datetime) -> tuple[datetime, datetime]:
    """Returns the start and end of the partition in which a receipt of that time belongs."""
    day = received_at.astimezone(UTC).toordinal()
    start = datetime.fromordinal(day - day % PARTITION_DAYS).replace(tzinfo=UTC)
    return start, start + DAY * PARTITION_DAYS


class DedupMode(IntEnum):
    """What a statement does so that no trace has receipts in two partitions. Each mode does what those before do."""

    NONE = 0
    LOOK_BACK = 1
    TAKE_BORDER = 2


def dedup_mode_of(starts_ms: Sequence[float], received_at: datetime) -> DedupMode:
    """Returns the deduplication that traces need, by the starts of their views as their sender says them.

    A trace that is sent again says the same start. If its view began in the present partition's time, the first post
    came in that time too, and the key of the partition finds it. If the view began before, it may be in an older one.
    What cannot be found later in either way leaves its identity in a table of its own: a trace whose view will begin
    after this partition's time, by a wrong clock, and one near a border, whose other post may not be committed yet.
    """
    start, end = partition_bounds(received_at)
    is_near_border = received_at - start < NEAR_BORDER or end - received_at <= NEAR_BORDER
    if is_near_border or max(starts_ms) >= end.timestamp() * 1000:
        return DedupMode.TAKE_BORDER
    return DedupMode.LOOK_BACK if min(starts_ms) < start.timestamp() * 1000 else DedupMode.NONE


def list_receipt_partitions() -> list[ReceiptPartition]:
    """Returns the partitions, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname, pg_get_expr(c.relpartbound, c.oid)
               FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = to_regclass(%s) AND NOT i.inhdetachpending""",
            [TABLE],
        )
        return sorted(
            (_read_partition(name, bounds) for name, bounds in cursor), key=lambda partition: partition.end_at
        )


def _read_partition(name: str, bounds: str) -> ReceiptPartition:
    match = _BOUNDS.search(bounds)
    assert match is not None, bounds
    start, end = match.groups()
    return ReceiptPartition(name, datetime.fromisoformat(start), datetime.fromisoformat(end))


def create_receipt_partitions(first_on: date, days: int) -> int:
    """Creates the partitions that `days` UTC days from `first_on` belong to; returns how many were new.

    Call it as `ingest.storage.partitions.create_partitions` does: in a transaction, under its lock, with a bound for
    waiting.
    """
    known = {partition.start_at for partition in list_receipt_partitions()}
    created = 0
    first_at = datetime(first_on.year, first_on.month, first_on.day, tzinfo=UTC)
    for start, end in sorted({partition_bounds(first_at + offset * DAY) for offset in range(days)}):
        if start in known:
            continue
        name = Identifier(f"{TABLE}_{start:%Y%m%d}")
        with connection.cursor() as cursor:
            # Made apart and then attached, as those of the raw traces.
            cursor.execute(CREATE_PARTITION.format(name=name))
            cursor.execute(ATTACH_PARTITION.format(name=name, start=start.isoformat(), end=end.isoformat()))
        created += 1
    return created
