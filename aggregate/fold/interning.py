"""Interning: dense ids for funcs and cells, in transactions of their own. They may be unused, but never missing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection, transaction

from aggregate.models import HOUR_GRAIN
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from aggregate.sql import dimension_columns
from ingest.notify import notify_worker
from ingest.storage.groups import IdCache, allocate_ids
from profcore.caching import keep
from profcore.sums.fold import FOLD_VERSION
from profcore.trace.dimensions import DIMENSION_COLUMNS, DIMENSIONS
from profcore.trace.funcs import OTHER_FUNC, FuncKey, func_digest
from profcore.trace.weights import TIME_PART_NAMES

MAX_INT4: Final = 2**31 - 1
INLINE_URI: Final = re.compile(r"(https?://[^/]{1,253})(/.*)", re.DOTALL)  # longer hosts are not stored
MAX_ORIGINS: Final = 1_000  # of a project; the first ones stay. All are read for each page
KEY_COLUMNS: Final = ", ".join(("group_id", "starts_at", *DIMENSION_COLUMNS))
KEY_OF_CELL: Final = f"c.group_id, c.starts_at, {dimension_columns('c')}"
KEY_OF_ROW: Final = f"w.group_id, w.starts_at, {dimension_columns('w')}"
SUMS: Final = ("views", "traces", "truncated_views", *TIME_PART_NAMES)
KEY_ARRAYS: Final = ", ".join(["%b::int[]", "%b::timestamptz[]", *["%b::smallint[]"] * len(DIMENSIONS)])
_func_ids: Final[IdCache[bytes]] = keep(IdCache())


@dataclass(frozen=True, slots=True, kw_only=True)
class CellKey:
    """The key of a cell within its project. `codes` are those of its dimensions, in the order of `DIMENSIONS`."""

    group_id: int
    starts_at: datetime
    codes: tuple[int, ...]


def intern_funcs(project_id: int, keys: Sequence[FuncKey], *, is_bounded: bool = True) -> dict[FuncKey, int]:
    """Returns the dense id of each func key, interning new ones.

    Keys are left out if the project has made all the funcs that it may make in a day, and `is_bounded`.
    """
    _func_ids.clear_sometimes()
    digests = {func_digest(project_id, key): key for key in keys}
    known = {digest: _func_ids[digest] for digest in digests if digest in _func_ids}
    missing = sorted(digest for digest in digests if digest not in known)
    if missing:
        ids = _select_funcs(project_id, missing)
        new = set(missing).difference(ids)
        fresh = {digest: key for digest, key in digests.items() if digest in new}
        if fresh:
            ids |= _make_funcs(project_id, fresh, is_bounded=is_bounded)
        known |= ids
        _func_ids.update(ids)
    return {key: known[digest] for digest, key in digests.items() if digest in known}


def select_other(project_id: int) -> int | None:
    """Returns the id of the func "(other)", None if the project has always had room."""
    return _select_funcs(project_id, [func_digest(project_id, OTHER_FUNC)]).get(func_digest(project_id, OTHER_FUNC))


def _select_funcs(project_id: int, digests: list[bytes]) -> dict[bytes, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT digest, id FROM aggregate_func
               WHERE project_id = %s AND digest = ANY(%b::bytea[]) AND unused_since IS NULL""",
            [project_id, digests],
        )
        return {bytes(digest): func_id for digest, func_id in cursor.fetchall()}


def _make_funcs(project_id: int, keys: dict[bytes, FuncKey], *, is_bounded: bool) -> dict[bytes, int]:
    """Inserts funcs as far as the day has room for them, or takes unused ones into use again; returns their ids.

    Ids are in the order of the keys: functions that call each other become neighbours, and contributions small. Others
    may insert the same ones at the same time: rows are in the order of the digests, so that no two deadlock.
    """
    digests = sorted(keys)
    with transaction.atomic(), connection.cursor() as cursor:
        transaction.on_commit(_notify_symbolication)
        bounded = [digest for digest in digests if keys[digest] != OTHER_FUNC]
        room = _take_room(project_id, len(bounded), is_bounded=is_bounded)
        beyond = set(bounded[room:])
        kept = [digest for digest in keys if digest not in beyond]
        id_of = dict(zip(kept, allocate_ids(project_id, "func", len(kept)), strict=True))
        digests = sorted(kept)
        cursor.execute(
            """INSERT INTO aggregate_func (project_id, id, digest, name, uri, line, col)
               SELECT %s, * FROM unnest(%b::int[], %b::bytea[], %b::text[], %b::text[], %b::bigint[], %b::bigint[])
               ON CONFLICT (project_id, digest) DO UPDATE SET unused_since = NULL
               RETURNING digest, id""",
            [
                project_id,
                [id_of[digest] for digest in digests],
                digests,
                [keys[digest].name for digest in digests],
                [keys[digest].uri for digest in digests],
                [keys[digest].line for digest in digests],
                [keys[digest].column for digest in digests],
            ],
        )
        ids = {bytes(digest): func_id for digest, func_id in cursor.fetchall()}
        _note_origins(project_id, [keys[digest] for digest in digests])
    return ids


def _note_origins(project_id: int, keys: Sequence[FuncKey]) -> None:
    """Notes the origins of inline scripts: their URI is origin + page. Funcs are many, and origins few."""
    splits = [match.groups() for key in keys if key.uri and (match := INLINE_URI.match(key.uri))]
    if not splits:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO aggregate_inlineorigin (project_id, origin)
               SELECT DISTINCT %(project)s::bigint, w.origin
               FROM unnest(%(origins)b::text[], %(pages)b::text[]) AS w (origin, page)
               WHERE w.page IN (SELECT g.page FROM ingest_group g WHERE g.project_id = %(project)s)
                 AND (SELECT count(*) FROM aggregate_inlineorigin WHERE project_id = %(project)s) < %(most)s
               ON CONFLICT DO NOTHING""",
            {
                "project": project_id,
                "origins": [origin for origin, _ in splits],
                "pages": [page for _, page in splits],
                "most": MAX_ORIGINS,
            },
        )


def _take_room(project_id: int, count: int, *, is_bounded: bool) -> int:
    """Takes up to `count` new funcs out of the UTC day's room; returns how many. Counts the others."""
    most = settings.FOLD_MAX_NEW_FUNCS if is_bounded else MAX_INT4
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO aggregate_funcday AS d (project_id, day_on, made, beyond)
               VALUES (%(project)s, (now() AT TIME ZONE 'UTC')::date, 0, 0)
               ON CONFLICT (project_id, day_on) DO UPDATE SET made = d.made RETURNING made""",
            {"project": project_id},
        )
        ((made,),) = cursor.fetchall()
        room: int = min(count, max(most - made, 0))
        cursor.execute(
            """UPDATE aggregate_funcday SET made = made + %s, beyond = beyond + %s
               WHERE project_id = %s AND day_on = (now() AT TIME ZONE 'UTC')::date""",
            [room, count - room, project_id],
        )
    return room


def _notify_symbolication() -> None:
    """Notifies a worker after new funcs: there may be source maps for them."""
    notify_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)


def intern_cells(project_id: int, keys: Sequence[CellKey]) -> dict[CellKey, int]:
    """Returns the id of each hour cell; new keys get empty cells. Then use `settle_cells` under the groups' locks."""
    ordered = sorted(set(keys), key=astuple)
    cell_ids = _select_cells(project_id, ordered)
    missing = [key for key in ordered if key not in cell_ids]
    if missing:
        with transaction.atomic(), connection.cursor() as cursor:
            ids = allocate_ids(project_id, "cell", len(missing))
            cursor.execute(
                f"""INSERT INTO aggregate_cell (
                       project_id, id, grain, {KEY_COLUMNS}, fold_version, {", ".join(SUMS)})
                   SELECT %s, w.id, %s, {KEY_OF_ROW}, %s, {", ".join("0" for _ in SUMS)}
                   FROM unnest(%b::int[], {KEY_ARRAYS}) AS w (id, {KEY_COLUMNS})
                   ON CONFLICT (project_id, grain, {KEY_COLUMNS}) DO NOTHING""",
                [project_id, HOUR_GRAIN, FOLD_VERSION, list(ids), *_columns(missing)],
            )
        cell_ids.update(_select_cells(project_id, missing))
    return cell_ids


def settle_cells(project_id: int, cell_ids: Mapping[CellKey, int]) -> dict[CellKey, int]:
    """Returns the cell that has each cell's sums: itself, or the day it was merged into. Under the groups' locks.

    A cell that retention deleted since it was interned is created again.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, COALESCE(merged_into, id) FROM aggregate_cell WHERE project_id = %s AND id = ANY(%b::int[])",
            [project_id, sorted(cell_ids.values())],
        )
        places: dict[int, int] = dict(cursor.fetchall())
    gone = [key for key, cell_id in cell_ids.items() if cell_id not in places]
    settled = intern_cells(project_id, gone) if gone else {}
    return {key: settled[key] if key in settled else places[cell_id] for key, cell_id in cell_ids.items()}


def settle_known_cells(project_id: int, keys: Sequence[CellKey]) -> dict[CellKey, int]:
    """Returns the cells that have the sums, as `settle_cells`, but creates no cell: expired cells are left out."""
    cell_ids = _select_cells(project_id, keys)
    return settle_cells(project_id, cell_ids) if cell_ids else {}


def _columns(keys: Sequence[CellKey]) -> list[list[object]]:
    rows = [(key.group_id, key.starts_at, *key.codes) for key in keys]
    return [[row[at] for row in rows] for at in range(2 + len(DIMENSIONS))]


def _select_cells(project_id: int, keys: Sequence[CellKey]) -> dict[CellKey, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT c.id, {KEY_OF_CELL} FROM aggregate_cell c
               JOIN unnest({KEY_ARRAYS}) AS w ({KEY_COLUMNS}) ON ({KEY_OF_CELL}) = ({KEY_OF_ROW})
               WHERE c.project_id = %s AND c.grain = %s""",
            [*_columns(keys), project_id, HOUR_GRAIN],
        )
        return {
            CellKey(group_id=group, starts_at=starts_at, codes=tuple(codes)): cell
            for cell, group, starts_at, *codes in cursor
        }
