"""Groups without data are closed, and deleted some hours later.

A web process caches the ids of groups for an hour, and may still store a trace of a group that was just closed.
"""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction

from aggregate.fold.locks import lock_groups
from ingest.models import PENDING

CLOSED_HOURS: Final = 3  # processes cache groups for one hour (ingest.storage.groups.CACHED_S)
BATCH_GROUPS: Final = 1_000


def expire_groups(project_id: int, now: datetime, *, raw_before: datetime) -> int:
    """Closes groups without sums and without receipts since `raw_before`; deletes those that stayed so.

    Returns the number of deleted groups. Older receipts keep the id of a deleted group: nothing reads it any more.
    """
    deleted = _delete_closed(project_id, now - timedelta(hours=CLOSED_HOURS))
    _close_empty(project_id, now, raw_before)
    return deleted


def _close_empty(project_id: int, now: datetime, raw_before: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            # Cells become days, days become nothing; a view or piece always has its cell.
            """SELECT g.id FROM ingest_group g
               WHERE g.project_id = %s AND g.closed_at IS NULL AND g.first_seen_at < %s
                 AND NOT EXISTS (SELECT FROM aggregate_cell c WHERE c.project_id = g.project_id AND c.group_id = g.id)
                 AND NOT EXISTS (
                   SELECT FROM aggregate_pageday d WHERE d.project_id = g.project_id AND d.group_id = g.id)
               ORDER BY g.id LIMIT %s""",
            [project_id, raw_before, BATCH_GROUPS],
        )
        empty = {group_id for (group_id,) in cursor}
        if not empty:
            return
        # One pass over the receipts: they have no index by group, which each post would have to write.
        cursor.execute(
            """SELECT DISTINCT group_id FROM ingest_tracereceipt
               WHERE project_id = %s AND group_id = ANY(%s::int[]) AND (received_at >= %s OR state = %s)""",
            [project_id, list(empty), raw_before, PENDING],
        )
        empty -= {group_id for (group_id,) in cursor}
        cursor.execute(
            "UPDATE ingest_group SET closed_at = %s WHERE project_id = %s AND id = ANY(%s::int[])",
            [now, project_id, sorted(empty)],
        )


def _delete_closed(project_id: int, closed_before: datetime) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM ingest_group WHERE project_id = %s AND closed_at < %s ORDER BY id LIMIT %s",
            [project_id, closed_before, BATCH_GROUPS],
        )
        group_ids = [group_id for (group_id,) in cursor]
    if not group_ids:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        lock_groups(project_id, group_ids)
        # A trace that arrived just after the closing keeps its group, and opens it again.
        cursor.execute(
            """UPDATE ingest_group g SET closed_at = NULL FROM ingest_tracereceipt r
               WHERE g.project_id = %s AND g.id = ANY(%s::int[])
                 AND r.project_id = g.project_id AND r.group_id = g.id AND r.received_at >= g.closed_at""",
            [project_id, group_ids],
        )
        cursor.execute(
            """DELETE FROM ingest_group g
               WHERE g.project_id = %s AND g.id = ANY(%s::int[]) AND g.closed_at IS NOT NULL
                 AND NOT EXISTS (SELECT FROM aggregate_cell c WHERE c.project_id = g.project_id AND c.group_id = g.id)
                 AND NOT EXISTS (
                   SELECT FROM aggregate_pageday d WHERE d.project_id = g.project_id AND d.group_id = g.id)""",
            [project_id, group_ids],
        )
        return int(cursor.rowcount)
