"""A slice as exporters want it: the cells' call trees merged into one, with the funcs they name."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.selectors.categories import select_sites
from aggregate.selectors.labels import label_func
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.whole import Whole, merge_slice
from profcore.calltree import CallTree
from profcore.categories import categorize
from profcore.dimensions import BROWSERS, DEVICE_CLASSES
from profcore.formats.pruning import prune_export
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.funcs import FuncKey

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DEFAULT_INTERVAL_US: Final = 10_000  # what the snippet asks for; only a slice without any trace has no other
# The usual interval is read from the traces of so many views, of as many cells: each costs two index look-ups, and
# field traffic asks for one interval or two.
INTERVAL_VIEWS: Final = 1_000


def fingerprint_slice(slice_: Slice) -> str:
    """Returns a digest of what a slice's cells hold. It changes with every trace folded into one of them.

    Call trees are compacted without a trace of it in the digest: their sum stays.
    """
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT c.id, c.traces, c.views, c.span_us, c.fold_version {FROM_CELLS} WHERE {where} ORDER BY c.id",
            params,
        )
        return _digest(cursor.fetchall())


def _digest(rows: Iterable[tuple[int, ...]]) -> str:
    hasher = hashlib.blake2b(digest_size=16)
    for row in rows:
        hasher.update(",".join(map(str, row)).encode() + b";")
    return hasher.hexdigest()


def select_slice_export(
    slice_: Slice,
    *,
    project: str,
    link: str | None = None,
    reading: Reading | None = None,
    is_pruned: bool = True,
) -> SliceExport:
    """Returns a slice ready to be written in any format. `project` is the name to show, `link` the way back.

    Where it `is_pruned`, call paths beyond `EXPORT_MAX_CALL_NODES` are, the lightest first.

    Four statements whatever the size: cells with the pieces of their call trees (one moment), the funcs these name,
    the project's sites, and the usual sampling interval; a fine slice takes three more. Holds the merged tree in
    memory, and of the cells' trees `TREE_BATCH_NODES` nodes; read at once, all of them packed.
    """
    whole = merge_slice(slice_, reading)
    tree, func_ids = _number_funcs(whole.tree)
    starts, ends = _bounds(slice_, whole)
    export = SliceExport(
        project=project,
        query=slice_.query(),
        funcs=_select_export_funcs(slice_.project_id, func_ids),
        tree=tree,
        time=whole.time,
        views=whole.views,
        traces=whole.traces,
        samples=whole.time.samples,
        interval_ms=(whole.interval_us or _select_interval_us(slice_.project_id, whole.cell_ids)) / 1000,
        started_at_ms=_epoch_ms(starts),
        ended_at_ms=_epoch_ms(ends),
        releases=sorted(whole.releases),
        pages=sorted(whole.pages),
        browsers=[BROWSERS[code] for code in sorted(whole.browsers)],
        devices=[DEVICE_CLASSES[code] for code in sorted(whole.devices)],
        link=link,
    )
    return prune_export(export, settings.EXPORT_MAX_CALL_NODES) if is_pruned else export


def _bounds(slice_: Slice, whole: Whole) -> tuple[datetime, datetime]:
    """Returns the bounds asked for, and where one is open, those of the cells found."""
    start = slice_.from_at or min(whole.starts, default=slice_.to_at or EPOCH)
    end = slice_.to_at or max(whole.ends, default=start)
    return start, max(start, end)


def _epoch_ms(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def _number_funcs(tree: CallTree) -> tuple[CallTree, Sequence[int]]:
    """Returns the tree with funcs numbered from 0, in ascending order of id, and the id of each."""
    func_ids = sorted(set(tree.func))
    index_of = {func_id: index for index, func_id in enumerate(func_ids)}
    tree.func = [index_of[func_id] for func_id in tree.func]
    return tree, func_ids


def _select_export_funcs(project_id: int, func_ids: Sequence[int]) -> Sequence[ExportFunc]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.name, f.uri, f.line, f.col FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s::int[]) ORDER BY f.id""",
            [project_id, list(func_ids)],
        )
        rows = cursor.fetchall()
    if len(rows) != len(func_ids):
        raise RuntimeError(f"a call tree names {len(func_ids)} funcs, {len(rows)} were found")
    return make_export_funcs(project_id, [FuncKey(uri, line, column, name) for name, uri, line, column in rows])


def make_export_funcs(project_id: int, keys: Sequence[FuncKey]) -> Sequence[ExportFunc]:
    """Returns funcs as exporters want them, in the order of their keys; these need not be stored.

    Frames without any time are not: none of the fold's sums names them, but raw traces do. One statement at most.
    """
    sites = select_sites(project_id) if keys else frozenset()
    return [
        ExportFunc(
            label_func(key.name, key.uri, key.line, key.column),
            key.name,
            key.uri,
            key.line,
            key.column,
            categorize(key, sites),
        )
        for key in keys
    ]


def _select_interval_us(project_id: int, cell_ids: Sequence[int]) -> int:
    """Returns the effective interval that most of the slice's traces have, µs."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT mode() WITHIN GROUP (ORDER BY r.interval_us)
                FROM (SELECT view_id, group_id FROM aggregate_view WHERE project_id = %(project_id)s
                      AND cell_id = ANY(%(cells)s::int[]) LIMIT {INTERVAL_VIEWS}) v
                JOIN ingest_receipt r ON r.project_id = %(project_id)s AND r.view_id = v.view_id
                     AND r.group_id = v.group_id""",
            {"project_id": project_id, "cells": list(cell_ids[:: len(cell_ids) // INTERVAL_VIEWS + 1])},
        )
        row = cursor.fetchone()
    return row[0] if row and row[0] else DEFAULT_INTERVAL_US
