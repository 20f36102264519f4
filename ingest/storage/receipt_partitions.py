"""Partitions of the receipts: some days each, dropped by retention once nobody needs any of their receipts.

In each partition a trace's identity (project, view, seq) is unique by its key. A trace that was posted before may be in
an older one, so the statement that stores it looks there too (`ingest.storage.storing`). It cannot see what is not yet
committed. So what is received near the border of two partitions also writes its identity to a table of its own, whose
key makes the later one wait for the earlier one.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.db import connection

from ingest.models import Receipt
from profcore.times import DAY, bounds_of_day

TABLE: Final = Receipt._meta.db_table
# Few partitions make few look-ups of identities, many are dropped soon after their last receipt is old enough. Borders
# are the days whose number (`toordinal`) it divides: another length needs a migration.
PARTITION_DAYS: Final = 15
# Clocks of hosts may differ, and a statement may wait, by so much in all. An import that takes longer is given up.
NEAR_BORDER: Final = timedelta(hours=2)
# Every receipt leaves the queue's partial indexes soon after it came: keep them swept.
STORAGE: Final = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000"
_BOUNDS: Final = re.compile(r"FROM \('([^']+)'\) TO \('([^']+)'\)")


@dataclass(frozen=True, slots=True)
class ReceiptPartition:
    """A table with the receipts from `start_at` to before `end_at`."""

    name: str
    start_at: datetime
    end_at: datetime


def first_day_of(day: date) -> date:
    """Returns the first day of the partition that a day belongs to."""
    return day - DAY * (day.toordinal() % PARTITION_DAYS)


def partition_bounds(received_at: datetime) -> tuple[datetime, datetime]:
    """Returns the start and end of the partition in which a receipt of that time belongs."""
    start, _ = bounds_of_day(first_day_of(received_at.astimezone(UTC).date()))
    return start, start + DAY * PARTITION_DAYS


def is_near_border(received_at: datetime) -> bool:
    """Tells whether a trace received at almost the same time may belong to another partition."""
    start, end = partition_bounds(received_at)
    return received_at - start < NEAR_BORDER or end - received_at <= NEAR_BORDER


def list_receipt_partitions() -> list[ReceiptPartition]:
    """Returns the partitions, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname, pg_get_expr(c.relpartbound, c.oid)
               FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = to_regclass(%s) AND NOT i.inhdetachpending""",
            [TABLE],
        )
        return sorted((_read_partition(name, bounds) for name, bounds in cursor), key=lambda found: found.end_at)


def _read_partition(name: str, bounds: str) -> ReceiptPartition:
    found = _BOUNDS.search(bounds)
    assert found is not None, bounds
    start, end = found.groups()
    return ReceiptPartition(name, datetime.fromisoformat(start), datetime.fromisoformat(end))


def create_receipt_partitions(first_on: date, days: int) -> int:
    """Creates the partitions that `days` UTC days from `first_on` belong to; returns how many were new.

    Call it as `ingest.storage.partitions.create_partitions` does: in a transaction, under its lock, with a bound for
    waiting.
    """
    known = {partition.start_at for partition in list_receipt_partitions()}
    created = 0
    for day in sorted({first_day_of(first_on + offset * DAY) for offset in range(days)}):
        start, end = partition_bounds(bounds_of_day(day)[0])
        if start in known:
            continue
        name = f"{TABLE}_{start:%Y%m%d}"
        with connection.cursor() as cursor:
            # Made apart and then attached, as those of the raw traces. The name is made of digits.
            cursor.execute(
                f"""CREATE TABLE {name} (LIKE {TABLE} INCLUDING ALL, PRIMARY KEY (project_id, view_id, seq))
                    WITH ({STORAGE})"""
            )
            cursor.execute(
                f"""ALTER TABLE {TABLE} ATTACH PARTITION {name}
                    FOR VALUES FROM ('{start.isoformat()}') TO ('{end.isoformat()}')"""
            )
        created += 1
    return created
