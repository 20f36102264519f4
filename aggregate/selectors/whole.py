"""A slice summed up with its call tree: from cells where they can tell, else from its views' raw traces."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from aggregate.models import Cell
from aggregate.selectors.contributions import SliceView, iter_slice_views
from aggregate.selectors.raw import RawFolder
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.blobs import decode_call_tree
from profcore.calltree import CallTree, CallTreeBuilder
from profcore.fold import map_tree
from profcore.weights import TIME_PART_NAMES, TimeParts

BUCKETS: Final = {Cell.Grain.HOUR: timedelta(hours=1), Cell.Grain.DAY: timedelta(days=1)}
PART_COLUMNS: Final = ", ".join(f"c.{name}" for name in TIME_PART_NAMES)


@dataclass(slots=True)
class Whole:
    """What the cells or raw traces of a slice sum up to. `interval_us` is known from raw traces alone."""

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
    interval_us: int | None = None
    source: str = "cells"

    @property
    def tree(self) -> CallTree:
        """The merged call tree, over stored func ids."""
        return self.builder.tree


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
    whole.builder.tree = map_tree(folder.builder.tree, folder.select_ids())  # not added to: it may be large
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
    whole = Whole()
    last_cell: int | None = None
    waiting = (
        0  # traces that the reading was not told of: a write for each small cell would take longer than merging it
    )
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
                if waiting >= reading.batch_traces:
                    reading.on_traces(waiting)
                    waiting = 0
                last_cell = cell_id
                waiting += _add_cell(whole, cell_id, facts)
            if blob is not None:
                whole.builder.add_tree(decode_call_tree(bytes(blob)))
                reading.check_nodes(len(whole.builder.tree))
    if waiting:
        reading.on_traces(waiting)
    return whole


def _add_cell(whole: Whole, cell_id: int, facts: Sequence[Any]) -> int:  # Any: a row as the driver types it
    """Adds a cell but for its tree. Returns how many traces it holds."""
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
    return int(traces)
