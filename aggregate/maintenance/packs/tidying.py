"""Tidying: a pack with bytes that no row names is written anew without them, and the old object is deleted.

The new object is written first. Then one transaction moves the rows and dooms the old pack, unless it was marked again
meanwhile. A reader that meets the
old place finds nothing there, looks at the row again, and reads the new one.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from aggregate.maintenance.packs.deleting import clear_deleted_packs, delete_doomed_packs
from aggregate.metrics import count_maintenance
from aggregate.time_budget import end_step
from ingest.storage.packs.format import PackedBody, PackError, read_pack
from ingest.storage.packs.mark import may_delete
from ingest.storage.packs.placing import name_of, put_pack
from ingest.storage.packs.store import ObjectMissing, open_store

logger = logging.getLogger(__name__)


class _MarkedAgain(Exception):
    """Rows of a pack were deleted while it was written anew."""


@dataclass(frozen=True, slots=True)
class Untidy:
    """A pack that waits to be written anew, and since when."""

    project_id: int
    id: UUID
    day_on: date
    tidy_at: datetime


def tidy_packs(now: datetime) -> int:
    """Writes anew what waits for it, and deletes the objects that no row names. Returns the number of tidied packs.

    It may be killed and run again, by several workers at a time. Raises `BodiesUnavailable` and `BudgetSpent`.
    """
    if not settings.OBJECTS or not _has_work():
        return 0
    if not may_delete():
        return 0
    delete_doomed_packs()
    tidied = 0
    while (pack := _select_untidy()) is not None:
        tidy_pack(pack)
        tidied += 1
        count_maintenance("tidied_packs")
        delete_doomed_packs()
        end_step()
    clear_deleted_packs(now)
    return tidied


def tidy_pack(pack: Untidy) -> None:
    """Writes one pack anew with the bodies that rows name, or dooms it if none does. Raises `BodiesUnavailable`."""
    try:
        bodies = read_pack(open_store().read(name_of(pack.project_id, pack.day_on, pack.id)))
    except (ObjectMissing, PackError):
        logger.exception("Pack %s cannot be tidied.", pack.id)
        _settle(pack)
        return
    named = _select_named(pack, bodies)
    if named and len(named) < len(bodies):
        new_id, offsets = put_pack(pack.project_id, pack.day_on, named)
        _move(pack, new_id, named, offsets)
    else:
        _settle(pack, is_doomed=not named)


def _has_work() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT EXISTS (SELECT 1 FROM ingest_pack WHERE tidy_at IS NOT NULL)
                   OR EXISTS (SELECT 1 FROM ingest_pack WHERE doomed_at IS NOT NULL AND deleted_at IS NULL)
                   OR EXISTS (SELECT 1 FROM ingest_pack WHERE deleted_at IS NOT NULL)"""
        )
        row = cursor.fetchone()
    return row is not None and bool(row[0])


def _select_untidy() -> Untidy | None:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT project_id, id, day_on, tidy_at FROM ingest_pack WHERE tidy_at IS NOT NULL
               ORDER BY tidy_at LIMIT 1"""
        )
        row = cursor.fetchone()
    return Untidy(*row) if row else None


def _select_named(pack: Untidy, bodies: Sequence[PackedBody]) -> list[PackedBody]:
    """Returns those bodies of a pack that rows name."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.number, t.pack_offset FROM ingest_rawtrace t
               JOIN unnest(%s::uuid[], %s::int[], %s::timestamptz[]) WITH ORDINALITY
                    AS c (view_id, seq, received_at, number)
                 ON (t.view_id, t.seq, t.received_at) = (c.view_id, c.seq, c.received_at)
               WHERE t.project_id = %s AND t.view_id = ANY(%s::uuid[]) AND t.pack_id = %s ORDER BY 1""",
            [*_keys_of(bodies), pack.project_id, [body.view_id for body in bodies], pack.id],
        )
        return [bodies[number - 1] for number, offset in cursor if bodies[number - 1].offset == offset]


def _keys_of(bodies: Sequence[PackedBody]) -> list[list[Any]]:  # Any: columns of three types
    return [
        [body.view_id for body in bodies],
        [body.seq for body in bodies],
        [body.received_at for body in bodies],
    ]


def _is_unchanged(pack: Untidy) -> bool:
    """Locks a pack's row until the transaction ends; returns whether it has not been marked since it was read."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT FROM ingest_pack WHERE project_id = %s AND id = %s AND tidy_at = %s AND doomed_at IS NULL
               FOR UPDATE""",
            [pack.project_id, pack.id, pack.tidy_at],
        )
        return cursor.fetchone() is not None


def _settle(pack: Untidy, *, is_doomed: bool = False) -> None:
    """Notes that a pack has no other bytes than those that rows name, or that no row names it."""
    with transaction.atomic(), connection.cursor() as cursor:
        if _is_unchanged(pack):
            cursor.execute(
                """UPDATE ingest_pack SET tidy_at = NULL, doomed_at = CASE WHEN %s THEN now() END
                   WHERE project_id = %s AND id = %s""",
                [is_doomed, pack.project_id, pack.id],
            )


def _move(pack: Untidy, new_id: UUID, named: Sequence[PackedBody], offsets: Sequence[int]) -> None:
    """Moves rows from a pack to a new one, and dooms the old one.

    If the pack was marked again meanwhile, nothing is moved and the new one is doomed: the next round does it.
    """
    size = sum(len(body.body) for body in named)
    try:
        with transaction.atomic():
            if _move_rows(pack, new_id, named, offsets) < len(named) or not _is_unchanged(pack):
                raise _MarkedAgain
            _insert(pack, new_id, traces=len(named), size=size)
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE ingest_pack SET tidy_at = NULL, doomed_at = now() WHERE project_id = %s AND id = %s",
                    [pack.project_id, pack.id],
                )
    except _MarkedAgain:
        _insert(pack, new_id, traces=0, size=size)


def _move_rows(pack: Untidy, new_id: UUID, named: Sequence[PackedBody], offsets: Sequence[int]) -> int:
    """Moves rows to a new pack, locked in their order; returns how many there were."""
    keys = _keys_of(named)
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH mine AS (
                   SELECT t.view_id, t.seq, t.received_at, c.pack_offset FROM ingest_rawtrace t
                   JOIN unnest(%s::uuid[], %s::int[], %s::timestamptz[], %s::int[])
                        AS c (view_id, seq, received_at, pack_offset)
                     ON (t.view_id, t.seq, t.received_at) = (c.view_id, c.seq, c.received_at)
                   WHERE t.project_id = %s AND t.view_id = ANY(%s::uuid[]) AND t.pack_id = %s
                   ORDER BY t.view_id, t.seq FOR UPDATE OF t)
               UPDATE ingest_rawtrace t SET pack_id = %s, pack_offset = mine.pack_offset FROM mine
               WHERE t.project_id = %s AND t.view_id = mine.view_id AND t.seq = mine.seq
                 AND t.received_at = mine.received_at""",
            [*keys, list(offsets), pack.project_id, keys[0], pack.id, new_id, pack.project_id],
        )
        return int(cursor.rowcount)


def _insert(pack: Untidy, new_id: UUID, *, traces: int, size: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO ingest_pack (project_id, id, day_on, traces, bytes, doomed_at)
               VALUES (%s, %s, %s, %s, %s, CASE WHEN %s THEN now() END)""",
            [pack.project_id, new_id, pack.day_on, traces, size, not traces],
        )
