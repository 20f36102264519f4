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
DELETE_UNUSED: Final = """
DELETE FROM aggregate_func f
WHERE f.project_id = %s AND f.id = ANY(%s::int[])
  AND NOT EXISTS (
    SELECT 1 FROM (SELECT DISTINCT p.project_id, unnest(p.func_ids) AS func_id FROM aggregate_hotspotpiece p) AS h
    WHERE h.project_id = f.project_id AND h.func_id = f.id)
  AND NOT EXISTS (SELECT 1 FROM aggregate_dayhotspot h WHERE h.project_id = f.project_id AND h.func_id = f.id)
RETURNING f.id
"""


def expire_funcs(project_id: int, now: datetime) -> int:
    """Marks funcs without hotspots as unused, and deletes those that stayed so. Returns the number of deleted ones.

    It reads all hotspots of the project: call it once a day, after cells have expired.
    """
    deleted, before = 0, now - timedelta(hours=UNUSED_HOURS)
    while (count := _delete_unused(project_id, before)) is not None:
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


def _delete_unused(project_id: int, before: datetime) -> int | None:
    """Deletes one batch of the funcs that are unused since before a time; takes those in use off the mark.

    Returns the number of deleted ones, None if there was no batch.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """SELECT id FROM aggregate_func WHERE project_id = %s AND unused_since < %s ORDER BY id LIMIT %s
               FOR UPDATE""",
            [project_id, before, BATCH_FUNCS],
        )
        func_ids = [func_id for (func_id,) in cursor]
        if not func_ids:
            return None
        cursor.execute(DELETE_UNUSED, [project_id, func_ids])
        gone = [func_id for (func_id,) in cursor]
        cursor.execute(
            "DELETE FROM aggregate_label WHERE project_id = %s AND func_id = ANY(%s::int[])", [project_id, gone]
        )
        cursor.execute(
            "UPDATE aggregate_func SET unused_since = NULL WHERE project_id = %s AND id = ANY(%s::int[])",
            [project_id, func_ids],
        )
    return len(gone)
