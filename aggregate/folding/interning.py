"""Interning: dense ids for funcs and cells, in transactions of their own. They may be unused, but never missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection, transaction

from aggregate.models import HOUR_GRAIN
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from ingest.door.groups import allocate_ids
from ingest.wake import wake_worker
from profcore.sums.fold import FOLD_VERSION
from profcore.trace.funcs import FuncKey, func_digest

MAX_REMEMBERED: Final = 100_000  # about 20 MB in a worker; a project's hot funcs are a few thousand
_func_ids: dict[bytes, int] = {}


@dataclass(frozen=True, slots=True)
class CellKey:
    """The key of a cell within its project."""

    group_id: int
    bucket_at: datetime
    device_class: int
    browser: int


def forget_interned() -> None:
    """Empties the memory of ids, between tests."""
    _func_ids.clear()


def intern_funcs(project_id: int, keys: Sequence[FuncKey]) -> list[int]:
    """Returns the dense id of each func key, interning new ones."""
    digests = [func_digest(project_id, key) for key in keys]
    missing = {digest: key for digest, key in zip(digests, keys, strict=True) if digest not in _func_ids}
    found: dict[bytes, int] = {}
    if missing:
        found = _select_funcs(project_id, sorted(missing))
        fresh = sorted(digest for digest in missing if digest not in found)
        if fresh:
            _insert_funcs(project_id, fresh, missing)
            found.update(_select_funcs(project_id, fresh))
        if len(_func_ids) + len(found) > MAX_REMEMBERED:
            found.update({digest: _func_ids[digest] for digest in digests if digest in _func_ids})
            _func_ids.clear()
        _func_ids.update(found)
    return [_func_ids[digest] for digest in digests]


def _select_funcs(project_id: int, digests: list[bytes]) -> dict[bytes, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT digest, id FROM aggregate_func WHERE project_id = %s AND digest = ANY(%b::bytea[])",
            [project_id, digests],
        )
        return {bytes(digest): func_id for digest, func_id in cursor.fetchall()}


def _insert_funcs(project_id: int, digests: list[bytes], keys: dict[bytes, FuncKey]) -> None:
    ordered = [keys[digest] for digest in digests]
    with transaction.atomic(), connection.cursor() as cursor:
        transaction.on_commit(_wake_symbolication)
        ids = allocate_ids(project_id, "func", len(digests))
        cursor.execute(
            """INSERT INTO aggregate_func (project_id, id, digest, name, uri, line, col)
               SELECT %s, * FROM unnest(%b::int[], %b::bytea[], %b::text[], %b::text[], %b::bigint[], %b::bigint[])
               ON CONFLICT (project_id, digest) DO NOTHING""",
            [
                project_id,
                list(ids),
                digests,
                [key.name for key in ordered],
                [key.uri for key in ordered],
                [key.line for key in ordered],
                [key.column for key in ordered],
            ],
        )


def _wake_symbolication() -> None:
    """Wakes a worker after new funcs: there may be source maps for them."""
    wake_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)


def intern_cells(project_id: int, keys: Sequence[CellKey]) -> dict[CellKey, int]:
    """Returns the id of each hour cell; new keys get empty cells. Then use `settle_cells` under the groups' locks."""
    ordered = sorted(set(keys), key=lambda key: (key.group_id, key.bucket_at, key.device_class, key.browser))
    found = _select_cells(project_id, ordered)
    missing = [key for key in ordered if key not in found]
    if missing:
        with transaction.atomic(), connection.cursor() as cursor:
            ids = allocate_ids(project_id, "cell", len(missing))
            cursor.execute(
                """INSERT INTO aggregate_cell (
                       project_id, id, group_id, bucket_at, grain, device_class, browser, fold_version, views, traces,
                       truncated_views, js_us, hidden_us, idle_us, unobserved_us, profiler_us, span_us,
                       js_samples, hidden_samples, idle_samples, profiler_samples)
                   SELECT %s, w.id, w.group_id, w.bucket_at, %s, w.device_class, w.browser, %s, 0, 0,
                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
                   FROM unnest(%b::int[], %b::int[], %b::timestamptz[], %b::smallint[], %b::smallint[])
                        AS w (id, group_id, bucket_at, device_class, browser)
                   ON CONFLICT (project_id, group_id, bucket_at, grain, device_class, browser) DO NOTHING""",
                [project_id, HOUR_GRAIN, FOLD_VERSION, list(ids), *_columns(missing)],
            )
        found.update(_select_cells(project_id, missing))
    return found


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
    """Returns the cells that have the sums, as `settle_cells`, but creates none: expired cells are left out."""
    found = _select_cells(project_id, keys)
    return settle_cells(project_id, found) if found else {}


def _columns(keys: Sequence[CellKey]) -> list[list[object]]:
    return [
        [key.group_id for key in keys],
        [key.bucket_at for key in keys],
        [key.device_class for key in keys],
        [key.browser for key in keys],
    ]


def _select_cells(project_id: int, keys: Sequence[CellKey]) -> dict[CellKey, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.group_id, c.bucket_at, c.device_class, c.browser, c.id FROM aggregate_cell c
               JOIN unnest(%b::int[], %b::timestamptz[], %b::smallint[], %b::smallint[])
                    AS w (group_id, bucket_at, device_class, browser)
                 ON (c.group_id, c.bucket_at, c.device_class, c.browser)
                  = (w.group_id, w.bucket_at, w.device_class, w.browser)
               WHERE c.project_id = %s AND c.grain = %s""",
            [*_columns(keys), project_id, HOUR_GRAIN],
        )
        return {CellKey(group, bucket, device, browser): cell for group, bucket, device, browser, cell in cursor}
