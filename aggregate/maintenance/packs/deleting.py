"""Deleting the objects of doomed packs, and after that their rows."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from aggregate.metrics import count_maintenance
from aggregate.time_budget import end_step
from ingest.storage.packs.placing import name_of
from ingest.storage.packs.store import open_store
from profcore.times import DAY

BATCH_PACKS: Final = 500  # names of one request, of which S3 takes up to 1,000
# The row of a pack with which no trace was stored stays this long after its object: it makes the statement fail that
# would store some, if a web process was stopped between its object and its statement.
KEEP_ROWS: Final = 7 * DAY


def delete_doomed_packs(project_id: int | None = None) -> int:
    """Deletes the objects of doomed packs, of one project or of all, and returns how many.

    Raises `BodiesUnavailable`, and `BudgetSpent`.
    """
    total = 0
    while doomed := _select_doomed(project_id):
        open_store().delete([name_of(project, day, pack_id) for project, day, pack_id in doomed])
        _forget(doomed)
        count_maintenance("packs", len(doomed))
        total += len(doomed)
        end_step()
    return total


def clear_deleted_packs(now: datetime) -> None:
    """Deletes the rows of packs whose objects were deleted some days ago."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_pack WHERE deleted_at < %s", [now - KEEP_ROWS])


def _select_doomed(project_id: int | None) -> list[tuple[int, date, UUID]]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT project_id, day_on, id FROM ingest_pack
               WHERE doomed_at IS NOT NULL AND deleted_at IS NULL
                 AND (%(project)s::bigint IS NULL OR project_id = %(project)s)
               ORDER BY doomed_at LIMIT %(limit)s""",
            {"project": project_id, "limit": BATCH_PACKS},
        )
        return list(cursor.fetchall())


def _forget(doomed: Sequence[tuple[int, date, UUID]]) -> None:
    """Deletes the rows of packs whose objects are gone, or notes it in them."""
    for project_id in sorted({project_id for project_id, _, _ in doomed}):
        params = (project_id, [pack_id for owner, _, pack_id in doomed if owner == project_id])
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM ingest_pack WHERE project_id = %s AND id = ANY(%s::uuid[]) AND traces > 0", params
            )
            cursor.execute(
                """UPDATE ingest_pack SET deleted_at = now()
                   WHERE project_id = %s AND id = ANY(%s::uuid[]) AND traces = 0""",
                params,
            )
