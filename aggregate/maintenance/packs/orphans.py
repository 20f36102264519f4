"""Orphans: objects that were written, and whose rows were never stored, as after a crash between both.

An object is condemned first, by a row of its own in the table of packs. If the statement that would name it still
comes, that row makes it fail, and its post is sent again. So nothing is deleted that a row names, whatever clocks say.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from aggregate.maintenance.packs.deleting import delete_doomed_packs
from aggregate.metrics import count_maintenance
from aggregate.time_budget import end_step
from ingest.storage.packs.mark import may_delete
from ingest.storage.packs.placing import read_name
from ingest.storage.packs.store import ListedObject, open_store
from profcore.times import DAY

logger = logging.getLogger(__name__)

# Younger ones may still get their rows: an import, which takes longest, is given up after an hour.
ORPHAN_AGE: Final = timedelta(hours=2)
DAYS_BACK: Final = 2  # days before today whose objects are looked through every hour
LOCK_WAIT: Final = "2s"  # a statement that is under way with the same pack: the next run looks again


def delete_orphans(now: datetime, *, is_whole: bool = False) -> int:
    """Deletes orphans of the last days, or of all, and returns how many. Raises `BodiesUnavailable` and
    `BudgetSpent`.
    """
    if not settings.OBJECTS or not may_delete():
        return 0
    prefixes = [""] if is_whole else [f"{now - back * DAY:%Y%m%d}/" for back in range(DAYS_BACK + 1)]
    total = 0
    for prefix in prefixes:
        for page in open_store().iter_listed(prefix):
            condemned = condemn([stored for stored in page if stored.modified_at < now - ORPHAN_AGE])
            total += condemned
            count_maintenance("orphans", condemned)
    if total:
        logger.warning("%s objects had no rows, as after a crash of a web process: they are deleted.", total)
        delete_doomed_packs()
        end_step()
    return total


def condemn(listed: Sequence[ListedObject]) -> int:
    """Condemns those objects that no row of the table of packs knows. Returns how many.

    An object that comes after its row was condemned, as from a slow network, is to be deleted once more.
    """
    packs = [pack for stored in listed if (pack := read_name(stored.name)) is not None]
    return sum(
        _condemn_of_project(project_id, {pack_id: day for owner, day, pack_id in packs if owner == project_id})
        for project_id in sorted({project_id for project_id, _, _ in packs})
    )


def _condemn_of_project(project_id: int, day_of: Mapping[UUID, date]) -> int:
    known = _select_known(project_id, list(day_of))
    unknown = sorted(day_of.keys() - known.keys())
    back = [pack_id for pack_id, is_deleted in known.items() if is_deleted]
    if not unknown and not back:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_WAIT])
        cursor.execute(
            """INSERT INTO ingest_pack (project_id, id, day_on, traces, bytes, doomed_at)
               SELECT %s::bigint, c.id, c.day_on, 0, 0, now() FROM unnest(%s::uuid[], %s::date[]) AS c (id, day_on)
               ORDER BY 2 ON CONFLICT DO NOTHING""",
            [project_id, unknown, [day_of[pack_id] for pack_id in unknown]],
        )
        condemned = int(cursor.rowcount)
        cursor.execute(
            """UPDATE ingest_pack SET deleted_at = NULL
               WHERE project_id = %s AND id = ANY(%s::uuid[]) AND deleted_at IS NOT NULL""",
            [project_id, back],
        )
        return condemned + int(cursor.rowcount)


def _select_known(project_id: int, pack_ids: Sequence[UUID]) -> dict[UUID, bool]:
    """Returns the packs that have rows, and whether their objects were deleted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, deleted_at IS NOT NULL FROM ingest_pack WHERE project_id = %s AND id = ANY(%s::uuid[])",
            [project_id, list(pack_ids)],
        )
        return dict(cursor.fetchall())
