"""A slice as exporters want it: the cells' call trees merged into one, with the funcs they name."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import connection

from aggregate.models import Cell
from aggregate.selectors.labels import label_func
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.blobs import decode_call_tree
from profcore.calltree import CallTree, CallTreeBuilder
from profcore.dimensions import BROWSERS, DEVICE_CLASSES
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.weights import TIME_PART_NAMES, TimeParts

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
BUCKETS: Final = {Cell.Grain.HOUR: timedelta(hours=1), Cell.Grain.DAY: timedelta(days=1)}
DEFAULT_INTERVAL_US: Final = 10_000  # what the snippet asks for; only a slice without any trace has no other
# The usual interval is read from the traces of so many views: each costs two index look-ups, and field traffic asks for
# one interval or two.
INTERVAL_VIEWS: Final = 1_000
PART_COLUMNS: Final = ", ".join(f"c.{name}" for name in TIME_PART_NAMES)


@dataclass(slots=True)
class _Whole:
    """What the cells of a slice sum up to."""

    builder: CallTreeBuilder = field(default_factory=CallTreeBuilder)
    time: TimeParts = field(default_factory=TimeParts)
    views: int = 0
    traces: int = 0
    cell_ids: list[int] = field(default_factory=list)
    releases: set[str] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)
    browsers: set[int] = field(default_factory=set)
    devices: set[int] = field(default_factory=set)
    starts: list[datetime] = field(default_factory=list)
    ends: list[datetime] = field(default_factory=list)


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


def select_slice_export(slice_: Slice, *, project: str, link: str | None = None) -> SliceExport:
    """Returns a slice ready to be written in any format. `project` is the name to show, `link` the way back.

    Three statements whatever the size: cells with the pieces of their call trees (one moment), the funcs these name,
    and the usual sampling interval. Holds the merged tree in memory, and one piece at a time.
    """
    whole = _merge_cells(slice_)
    tree, func_ids = _number_funcs(whole.builder.tree)
    starts, ends = _bounds(slice_, whole)
    return SliceExport(
        project=project,
        query=slice_.query(),
        funcs=_select_export_funcs(slice_.project_id, func_ids),
        tree=tree,
        time=whole.time,
        views=whole.views,
        traces=whole.traces,
        samples=whole.time.samples,
        interval_ms=_select_interval_us(slice_.project_id, whole.cell_ids) / 1000,
        started_at_ms=_epoch_ms(starts),
        ended_at_ms=_epoch_ms(ends),
        releases=sorted(whole.releases),
        pages=sorted(whole.pages),
        browsers=[BROWSERS[code] for code in sorted(whole.browsers)],
        devices=[DEVICE_CLASSES[code] for code in sorted(whole.devices)],
        link=link,
    )


def _merge_cells(slice_: Slice) -> _Whole:
    where, params = where_slice(slice_)
    whole = _Whole()
    last_cell: int | None = None
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT c.id, t.blob, g.release, g.page, c.browser, c.device_class, c.bucket_at, c.grain, c.views,
                       c.traces, {PART_COLUMNS}
                {FROM_CELLS}
                LEFT JOIN aggregate_calltreepiece t ON t.project_id = c.project_id AND t.cell_id = c.id
                WHERE {where} AND c.traces > 0 ORDER BY c.id, t.id""",
            params,
        )
        for cell_id, blob, *facts in cursor:
            if cell_id != last_cell:
                last_cell = cell_id
                _add_cell(whole, cell_id, facts)
            if blob is not None:
                whole.builder.add_tree(decode_call_tree(bytes(blob)))
    return whole


def _add_cell(whole: _Whole, cell_id: int, facts: Sequence[Any]) -> None:  # Any: a row as the driver types it
    release, page, browser, device, bucket_at, grain, views, traces, *parts = facts
    whole.cell_ids.append(cell_id)
    whole.releases.add(release)
    whole.pages.add(page)
    whole.browsers.add(browser)
    whole.devices.add(device)
    whole.starts.append(bucket_at)
    whole.ends.append(bucket_at + BUCKETS[Cell.Grain(grain)])
    whole.views += views
    whole.traces += traces
    whole.time.add(TimeParts(*parts))


def _bounds(slice_: Slice, whole: _Whole) -> tuple[datetime, datetime]:
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
        funcs = [ExportFunc(label_func(*row), *row) for row in cursor]
    if len(funcs) != len(func_ids):
        raise RuntimeError(f"a call tree names {len(func_ids)} funcs, {len(funcs)} were found")
    return funcs


def _select_interval_us(project_id: int, cell_ids: Sequence[int]) -> int:
    """Returns the effective interval that most of the slice's traces have, µs."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT mode() WITHIN GROUP (ORDER BY r.interval_us)
                FROM (SELECT view_id, group_id FROM aggregate_view WHERE project_id = %(project_id)s
                      AND cell_id = ANY(%(cells)s::int[]) LIMIT {INTERVAL_VIEWS}) v
                JOIN ingest_receipt r ON r.project_id = %(project_id)s AND r.view_id = v.view_id
                     AND r.group_id = v.group_id""",
            {"project_id": project_id, "cells": list(cell_ids)},
        )
        row = cursor.fetchone()
    return row[0] if row and row[0] else DEFAULT_INTERVAL_US
