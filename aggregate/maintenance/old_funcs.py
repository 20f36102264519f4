"""Funcs without hotspots are marked unused, and deleted with their labels some hours later.

A worker caches the ids of funcs for an hour, and may still use one that was just marked.
"""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction

from aggregate.time_budget import end_step

UNUSED_HOURS: Final = 3  # workers cache funcs for one hour (ingest.storage.groups.CACHED_S)
BATCH_FUNCS: Final = 5_000

# A func of a call tree or of a view's contribution has a hotspot in the same cell.
MARK_UNUSED: Final = """
UPDATE aggregate_func f SET unused_since = %s
WHERE f.project_id = %s AND f.unused_since IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM (SELECT DISTINCT p.project_id, unnest(p.func_ids) AS func_id FROM aggregate_hotspotpiece p) AS h
    WHERE h.project_id = f.project_id AND h.func_id = f.id)
  AND NOT EXISTS (SELECT 1 FROM aggregate_dayhotspot h WHERE h.project_id = f.project_id AND h.func_id = f.id)
"""
# A worker that had the id cached may have used a func after it was marked, but not `UNUSED_HOURS` later.
UNMARK_USED: Final = """
UPDATE aggregate_func f SET unused_since = NULL
WHERE f.project_id = %(project_id)s AND f.unused_since < %(before)s AND f.id IN (
    SELECT unnest(p.func_ids) FROM aggregate_hotspotpiece p WHERE p.project_id = %(project_id)s
    UNION ALL SELECT h.func_id FROM aggregate_dayhotspot h WHERE h.project_id = %(project_id)s)
"""
DELETE_OF_FUNCS: Final = (
    "DELETE FROM aggregate_label WHERE project_id = %s AND func_id = ANY(%s::int[])",
    "DELETE FROM aggregate_func WHERE project_id = %s AND id = ANY(%s::int[])",
)


def expire_funcs(project_id: int, now: datetime) -> int:
    """Marks funcs without hotspots as unused, and deletes those that stayed so. Returns the number of deleted ones.

    It reads all hotspots of the project, twice however many funcs there are: call it once a day, after cells have
    expired.
    """
    deleted, before = 0, now - timedelta(hours=UNUSED_HOURS)
    if has_unused(project_id, now):
        with connection.cursor() as cursor:
            cursor.execute(UNMARK_USED, {"project_id": project_id, "before": before})
    while count := _delete_unused(project_id, before):
        deleted += count
        end_step()
    with connection.cursor() as cursor:
        cursor.execute(MARK_UNUSED, [now, project_id])
    return deleted


def has_unused(project_id: int, now: datetime) -> bool:
    """Returns whether funcs of a project have been marked as unused for long enough to be deleted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM aggregate_func WHERE project_id = %s AND unused_since < %s)",
            [project_id, now - timedelta(hours=UNUSED_HOURS)],
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def _delete_unused(project_id: int, before: datetime) -> int:
    """Deletes one batch of the funcs that are unused since before a time; returns how many. One in use has no mark."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """SELECT id FROM aggregate_func WHERE project_id = %s AND unused_since < %s ORDER BY id LIMIT %s
               FOR UPDATE""",
            [project_id, before, BATCH_FUNCS],
        )
        gone = [func_id for (func_id,) in cursor]
        for statement in DELETE_OF_FUNCS:
            cursor.execute(statement, [project_id, gone])
    return len(gone)
