"""Receipts that are old enough are dropped, a partition at a time.

Nothing is as old as a dropped partition: neither views and raw traces, which are read by their receipts, nor a trace
that may be sent again and recognised. A pending receipt keeps its partition.
"""

from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg.sql import SQL, Identifier

from aggregate.maintenance.batches import delete_some
from aggregate.time_budget import end_step
from ingest.models import PENDING
from ingest.storage.receipt_partitions import ReceiptPartition, list_receipt_partitions
from profcore.times import midnight_days_before
from projects.limits import limit_of
from projects.models import Project

LOCK_WAIT: Final = "500ms"  # posts queue behind this: if a read takes longer, the next run drops the partition
BATCH_ROWS: Final = 5_000  # of one transaction: about 100 ms


def drop_receipt_partitions(now: datetime) -> int:
    """Drops the partitions of which every receipt is old enough, and returns how many. Counts by hour stay."""
    before = midnight_days_before(now, _longest_days())
    dropped = 0
    for partition in list_receipt_partitions():
        if partition.end_at > before:
            break
        try:
            dropped += _drop(partition)
        except OperationalError:  # no lock in time: it is being read
            continue
        end_step()
    for project_id in _list_border_projects(before):
        while _delete_border_receipts(project_id, before) == BATCH_ROWS:
            end_step()
    return dropped


def counts_end(before: datetime) -> datetime:
    """Returns the time before which counts of receipts by hour may be deleted: `before` or earlier.

    While a receipt is there, whatever deletes it or folds it again changes the count of its hour.
    """
    partitions = list_receipt_partitions()
    return min(before, partitions[0].start_at) if partitions else before


def _longest_days() -> int:
    names = ("keep_raw_days", "keep_views_days")
    kept = [limit_of(project, name).effective for project in Project.objects.all() for name in names]
    return max([settings.KEEP_RECEIPTS_DAYS, *kept])


def _drop(partition: ReceiptPartition) -> bool:
    if _has_pending(partition):
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_WAIT])
        # Everybody locks the whole before its partitions. Locked the other way round, each could wait for the other.
        cursor.execute("LOCK TABLE ONLY ingest_tracereceipt IN ACCESS EXCLUSIVE MODE")
        if _has_pending(partition):  # a refold began meanwhile
            return False
        cursor.execute(SQL("DROP TABLE {name}").format(name=Identifier(partition.name)))
    return True


def _has_pending(partition: ReceiptPartition) -> bool:
    with connection.cursor() as cursor:
        query = SQL("SELECT EXISTS (SELECT 1 FROM {name} WHERE state = %s)").format(name=Identifier(partition.name))
        cursor.execute(query, [PENDING])
        row = cursor.fetchone()
    return row is None or bool(row[0])


def _list_border_projects(before: datetime) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT project_id FROM ingest_borderreceipt WHERE received_at < %s", [before])
        return sorted(project_id for (project_id,) in cursor)


def _delete_border_receipts(project_id: int, before: datetime) -> int:
    return delete_some(
        "ingest_borderreceipt",
        ("view_id", "seq"),
        "t.project_id = %(project_id)s AND t.received_at < %(before)s",
        {"project_id": project_id, "before": before},
        most=BATCH_ROWS,
    )
