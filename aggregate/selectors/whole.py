"""A slice summed up with its call tree: from cells where they can tell, else from its views' raw traces."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg.pq import Format

from aggregate.models import Cell
from aggregate.selectors.contributions import SliceView, iter_slice_views
from aggregate.selectors.raw import RawFolder
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.blobs import decode_call_trees
from profcore.calltree import CallTree
from profcore.fold import map_tree
from profcore.summing import CallTreeSum
from profcore.weights import TIME_PART_NAMES, TimeParts

BUCKETS: Final = {Cell.Grain.HOUR: timedelta(hours=1), Cell.Grain.DAY: timedelta(days=1)}
CELLS_AT_ONCE: Final = 1_024  # fetched, and summed up but for their trees
PART_COLUMNS: Final = ", ".join(f"c.{name}" for name in TIME_PART_NAMES)


@dataclass(slots=True)
class Whole:
    """What the cells or raw traces of a slice sum up to. `interval_us` is known from raw traces alone.

    `tree` is the merged call tree, over stored func ids.
    """

    tree: CallTree = field(default_factory=CallTree)
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
    interval_us: int | None = None
    source: str = "cells"


def merge_slice(slice_: Slice, reading: Reading | None = None) -> Whole:
    """Returns a slice's sums and merged call tree. One statement from cells, four from raw traces read at once.

    Raises `SliceError` where a fine slice has too many views or raw traces for the reading (by default, at once), or
    the tree grows larger than it may hold.
    """
    reading = reading or Reading.at_once()
    return _merge_raw(slice_, reading) if slice_.is_fine else _merge_cells(slice_, reading)


def _merge_raw(slice_: Slice, reading: Reading) -> Whole:
    folder = RawFolder(slice_, reading)
    whole = Whole(source="raw")
    seen: set[int] = set()
    for views in iter_slice_views(slice_, reading):
        for view, fold in folder.fold(views):
            whole.views += 1
            whole.time.add(fold.parts)
            if view.cell_id not in seen:
                seen.add(view.cell_id)
                _add_place(whole, view)
    whole.traces = folder.traces
    assert folder.builder is not None
    whole.tree = map_tree(folder.builder.tree, folder.select_ids())
    whole.interval_us = next((us for us, _ in folder.intervals_us.most_common(1)), None)
    return whole


def _add_place(whole: Whole, view: SliceView) -> None:
    whole.cell_ids.append(view.cell_id)
    whole.releases.add(view.release)
    whole.pages.add(view.page)
    whole.browsers.add(view.browser)
    whole.devices.add(view.device)
    whole.starts.append(view.bucket_at)
    whole.ends.append(view.bucket_at + BUCKETS[Cell.Grain(view.grain)])


def _merge_cells(slice_: Slice, reading: Reading) -> Whole:
    where, params = where_slice(slice_)
    whole, trees = Whole(), _Trees(reading)
    cells: list[tuple[Any, ...]] = []  # rows as the driver types them, that are not in `whole` yet
    last_cell: int | None = None
    waiting = (
        0  # traces that the reading was not told of: a write for each small cell would take longer than merging it
    )
    with _open_cursor(reading) as cursor:
        cursor.execute(
            f"""SELECT t.node_count, t.blob, c.traces, c.id, g.release, g.page, c.browser, c.device_class, c.bucket_at,
                       c.grain, c.views, {PART_COLUMNS}
                {FROM_CELLS}
                LEFT JOIN aggregate_calltreepiece t ON t.project_id = c.project_id AND t.cell_id = c.id
                WHERE {where} AND c.traces > 0 ORDER BY c.id, t.id""",
            params,
        )
        for nodes, blob, *cell in cursor:
            traces, cell_id, *_ = cell
            if cell_id != last_cell:
                if waiting >= reading.batch_traces:
                    reading.on_traces(waiting)
                    waiting = 0
                if len(cells) == CELLS_AT_ONCE:
                    _add_cells(whole, cells)
                    cells.clear()
                last_cell = cell_id
                waiting += traces
                cells.append(tuple(cell))
            if blob is not None:
                trees.add(blob, nodes)
    _add_cells(whole, cells)
    whole.tree = trees.sum()
    if waiting:
        reading.on_traces(waiting)
    return whole


def _open_cursor(reading: Reading) -> CursorWrapper:
    """Returns a cursor for trees. That of a reading in pages fetches as it goes; the server keeps the rest of its rows.

    Rows all at once come a tenth of a second sooner, and take as much memory as the trees of the slice.
    """
    cursor = connection.chunked_cursor() if reading.max_views is None else connection.cursor()
    cursor.cursor.format = Format.BINARY  # as text a tree is twice as long, and takes five times as long to read
    cursor.cursor.itersize = CELLS_AT_ONCE
    return cursor


class _Trees:
    """The sum of cells' call trees. So many wait to be summed up together as have `TREE_BATCH_NODES` call nodes."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._sum = CallTreeSum()
        self._blobs: list[bytes] = []
        self._nodes = 0

    def add(self, blob: bytes, nodes: int) -> None:
        """Adds a tree of so many nodes. Raises `SliceTooLarge` where the sum has grown beyond the reading's bound."""
        if self._nodes + nodes > settings.TREE_BATCH_NODES:
            self._add_waiting()
        self._blobs.append(blob)
        self._nodes += nodes

    def sum(self) -> CallTree:
        """Returns the sum. Raises `SliceTooLarge`."""
        self._add_waiting()
        return self._sum.tree()

    def _add_waiting(self) -> None:
        if self._blobs:
            self._sum.add(decode_call_trees(self._blobs))
            self._reading.check_nodes(self._sum.size)
            self._blobs, self._nodes = [], 0


def _add_cells(whole: Whole, cells: Sequence[tuple[Any, ...]]) -> None:  # Any: rows as the driver types them
    """Adds cells but for their trees."""
    if not cells:
        return
    traces, ids, releases, pages, browsers, devices, starts, grains, views, *parts = zip(*cells, strict=True)
    whole.cell_ids += ids
    whole.releases.update(releases)
    whole.pages.update(pages)
    whole.browsers.update(browsers)
    whole.devices.update(devices)
    buckets = set(zip(starts, grains, strict=True))
    whole.starts += [start for start, _ in buckets]
    whole.ends += [start + BUCKETS[Cell.Grain(grain)] for start, grain in buckets]
    whole.views += sum(views)
    whole.traces += sum(traces)
    whole.time.add(TimeParts(*map(sum, parts)))
