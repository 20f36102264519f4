"""A slice summed up with its call tree: from its cells, or for a fine slice from its views' raw traces."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg.pq import Format

from aggregate.fold.calltrees import StoredTreeSum
from aggregate.models import Cell
from aggregate.selectors.page_views.contributions import SliceView, iter_slice_views
from aggregate.selectors.page_views.raw_traces import RawFolder
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import DAY_OF_CELL, FROM_CELLS, Slice, where_rolled, where_slice
from profcore.sums.calltree import CallTree
from profcore.sums.fold import map_tree
from profcore.times import DAY, HOUR
from profcore.trace.dimensions import DIMENSION_COLUMNS, DIMENSIONS
from profcore.trace.weights import TIME_PART_NAMES, TimeParts

BUCKETS: Final = {Cell.Grain.HOUR: HOUR, Cell.Grain.DAY: DAY}
END_OF_CELL: Final = f"c.starts_at + CASE c.grain WHEN {int(Cell.Grain.DAY)} THEN interval '24 hours' ELSE '1 hour' END"
ROWS_AT_ONCE: Final = 1_024  # fetched by a reading in pages
# What is summed up of the cells of each group. The codes of a dimension become bits, of which code 0 is the first.
BITS: Final = ", ".join(
    f"bit_or(B'1'::bit({len(dimension.values)}) >> p.{dimension.column})::text AS {dimension.column}"
    for dimension in DIMENSIONS
)
GROUP_SUMS: Final = f"""sum(p.traces)::bigint AS traces, array_agg(p.id) AS ids, p.release, p.page,
    min(p.starts_at) AS starts, max(p.ends) AS ends, sum(p.views)::bigint AS views,
    {BITS}, {", ".join(f"sum(p.{name})::bigint AS {name}" for name in TIME_PART_NAMES)}"""


@dataclass(slots=True, kw_only=True)
class MergedSlice:
    """The sums of the cells or raw traces of a slice. `interval_us` is known only from raw traces.

    `tree` is the merged call tree, over stored func ids. `codes` are those of each dimension's values, by its name.
    """

    tree: CallTree = field(default_factory=CallTree)
    time: TimeParts = field(default_factory=TimeParts)
    views: int = 0
    traces: int = 0
    cell_ids: list[int] = field(default_factory=list)
    releases: set[str] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)
    codes: dict[str, set[int]] = field(default_factory=lambda: {dimension.name: set() for dimension in DIMENSIONS})
    starts: list[datetime] = field(default_factory=list)
    ends: list[datetime] = field(default_factory=list)
    interval_us: int | None = None
    source: str = "cells"


def merge_slice(slice_: Slice, reading: Reading | None = None) -> MergedSlice:
    """Returns a slice's sums and merged call tree. One statement from cells, four from raw traces read at once.

    Raises `SliceError` if a fine slice has too many views or raw traces for the reading (by default, at once), or if
    the tree grows larger than the reading allows.
    """
    reading = reading or Reading.at_once()
    return _merge_raw(slice_, reading) if slice_.is_fine else _merge_cells(slice_, reading)


def _merge_raw(slice_: Slice, reading: Reading) -> MergedSlice:
    folder = RawFolder(slice_, reading)
    whole = MergedSlice(source="raw")
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


def _add_place(whole: MergedSlice, view: SliceView) -> None:
    whole.cell_ids.append(view.cell_id)
    whole.releases.add(view.release)
    whole.pages.add(view.page)
    for codes, code in zip(whole.codes.values(), view.codes, strict=True):
        codes.add(code)
    whole.starts.append(view.starts_at)
    whole.ends.append(view.starts_at + BUCKETS[Cell.Grain(view.grain)])


def _merge_cells(slice_: Slice, reading: Reading) -> MergedSlice:
    where, params = where_slice(slice_)
    whole, trees = MergedSlice(), StoredTreeSum(reading.check_nodes)
    # Traces reported to the reading, and those not reported yet: a write for each small cell would take long.
    reported = waiting = 0
    with _open_cursor(reading) as cursor:
        cursor.execute(_select_cells_and_trees(slice_, where), params)
        for blob, nodes, traces, *group in cursor:
            if blob is None:  # groups come before trees
                _add_group(whole, traces, *group)
                continue
            if waiting >= reading.batch_traces:
                reading.on_traces(waiting)
                reported, waiting = reported + waiting, 0
            waiting += traces
            trees.add(blob, nodes)
    whole.cell_ids.sort()
    whole.tree = trees.tree()
    if reported < whole.traces:  # traces without a stack are in no tree
        reading.on_traces(whole.traces - reported)
    return whole


def _select_cells_and_trees(slice_: Slice, where: str) -> str:
    """Returns one statement, and so one moment, for the sums of a slice's cells by group, and then for its trees.

    Trees come from the roll-up of days where it can be used, else from cells, each with its number of traces. Cells are
    summed up by the database: a project of a million views has 26,000 of them, and 240 groups.
    """
    rolled = where_rolled(slice_)
    # The first piece of a tree has the tree's number of traces, the others have 0.
    first = "CASE WHEN lag(t.id) OVER (PARTITION BY {key} ORDER BY t.id) IS NULL THEN {traces} ELSE 0 END"
    kinds = ["timestamptz", "timestamptz", "bigint", *["text"] * len(DIMENSIONS)]
    nothing = "NULL::int[], NULL, NULL, " + ", ".join(f"NULL::{kind}" for kind in kinds)
    parts = ", ".join(["NULL::bigint"] * len(TIME_PART_NAMES))
    trees = f"""
        SELECT t.blob, t.node_count, {first.format(key="t.cell_id", traces="p.traces")}, {nothing}, {parts},
               1, p.id, t.id
        FROM picked p JOIN aggregate_calltreepiece t ON t.project_id = %(project_id)s AND t.cell_id = p.id"""
    if rolled is not None:
        trees = f"""{trees} WHERE NOT ({rolled[1]})
        UNION ALL
        SELECT t.blob, t.node_count, {first.format(key="t.group_id, t.day_at", traces="d.traces")}, {nothing}, {parts},
               1, d.key, t.id
        FROM (SELECT p.group_id, {DAY_OF_CELL} AS day_at, sum(p.traces)::bigint AS traces, min(p.id) AS key
              FROM picked p WHERE {rolled[1]} GROUP BY 1, 2) AS d
        JOIN aggregate_daytreepiece t ON t.project_id = %(project_id)s AND t.group_id = d.group_id
             AND t.day_at = d.day_at"""
    columns = ", ".join(("blob, node_count, traces, ids, release, page, starts, ends, views", *DIMENSION_COLUMNS))
    return f"""WITH picked AS MATERIALIZED (
            SELECT c.*, g.release, g.page, {END_OF_CELL} AS ends {FROM_CELLS} WHERE {where} AND c.traces > 0),
        found AS (
            SELECT NULL::bytea AS blob, NULL::int AS node_count, {GROUP_SUMS}, 0 AS kind, p.group_id AS key, 0 AS piece
            FROM picked p GROUP BY p.group_id, p.release, p.page
            UNION ALL {trees})
        SELECT {columns}, {", ".join(TIME_PART_NAMES)} FROM found ORDER BY kind, key, piece"""


@contextmanager
def _open_cursor(reading: Reading) -> Iterator[CursorWrapper]:
    """Yields a cursor for trees. For a reading in pages it fetches row by row, and the server keeps the rest.

    Fetching all rows at once is a tenth of a second quicker, and takes as much memory as the trees of the slice.
    """
    with ExitStack() as stack:
        if reading.max_views is not None:
            cursor = stack.enter_context(connection.cursor())
        elif settings.TRANSACTION_POOLING:
            cursor = stack.enter_context(stack.enter_context(_own_transaction()).chunked_cursor())
        else:
            cursor = stack.enter_context(connection.chunked_cursor())
        cursor.cursor.format = Format.BINARY  # as text a tree is twice as long, and takes five times as long to read
        cursor.cursor.itersize = ROWS_AT_ONCE
        yield cursor


@contextmanager
def _own_transaction() -> Iterator[BaseDatabaseWrapper]:
    """Yields a connection in a transaction, for a cursor that must outlive what the reading writes meanwhile.

    Behind a pooler that shares sessions, a cursor ends with its transaction at the latest. Where a session lasts, the
    cursor needs no transaction, and keeps no dead rows from being vacuumed.
    """
    database = connections.create_connection(connection.alias)
    try:
        database.set_autocommit(False)
        yield database
        database.rollback()
    finally:
        database.close()


def _add_group(whole: MergedSlice, traces: int, *group: Any) -> None:  # Any: a row as the driver types it
    """Adds the cells of a group, except for their trees."""
    ids, release, page, starts, ends, views, *numbers = group
    whole.cell_ids += ids
    whole.releases.add(release)
    whole.pages.add(page)
    for codes, bits in zip(whole.codes.values(), numbers, strict=False):  # parts of time come after them
        codes.update(code for code, bit in enumerate(bits) if bit == "1")
    whole.starts.append(starts)
    whole.ends.append(ends)
    whole.views += views
    whole.traces += traces
    whole.time.add(TimeParts(*numbers[len(DIMENSIONS) :]))
