"""Views picked from a slice by their time: the typical ones, the worst, or some at random.

Script time is in the rows of views, so the database ranks those of a slice of cells. Beyond `VIEW_LIST_MAX_VIEWS` an
even sample of them is ranked. A function's time is in contributions: an even sample of these is read. Slices that are
finer than cells are read whole, within `READ_MAX_VIEWS`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal
from uuid import UUID

from django.conf import settings

from aggregate.selectors.code.refs import FuncRef, find_ref
from aggregate.selectors.code.symbols import RowId
from aggregate.selectors.page_views.contributions import (
    SliceView,
    sample_slice_views,
    select_view_times,
    select_views_of,
)
from aggregate.selectors.page_views.fine_sums import SeenViews, select_seen_views
from aggregate.selectors.page_views.samples import select_sampled
from aggregate.selectors.page_views.traces import TraceRow, TracesOf, select_traces_of
from aggregate.selectors.page_views.view_rows import FROM_VIEWS
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.sql import select_rows
from profcore.stats.sampling import sample_key

ViewOrder = Literal["typical", "worst", "random"]
VIEW_ORDERS: Final = ("typical", "worst", "random")
KEY: Final = "fieldflame_sample_key(v.view_id), v.view_id, v.group_id"
RANKS: Final = {
    "typical": f"abs(v.js_us - %(median)s), {KEY}",
    "worst": f"v.js_us DESC, {KEY}",
    "random": KEY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRow:
    """One view, the µs by which it was chosen, and its traces in their order."""

    view: SliceView
    self_us: int
    total_us: int
    hidden_us: int
    traces: Sequence[TraceRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTable:
    """Some views of a slice, chosen from `view_count` views, whose median self time is `median_us`.

    `looked_at` of the slice's `population` were looked at: all, or the first in the uniform order. With a function, the
    population are the views of the cells in which it ran, and `view_count` those of the `looked_at` that ran it.
    """

    view_count: int
    truncated_count: int
    median_us: float | None
    looked_at: int
    population: int
    views: Sequence[ViewRow]
    source: str = "contributions"  # or "raw"


def select_views(slice_: Slice, *, func_id: RowId | None, order: ViewOrder, limit: int) -> ViewTable:
    """Returns views of a slice by a function's time, only those that ran it; without a function, by JS time.

    *typical* are those nearest the median, *worst* those with the most time, also those of which only slow moments were
    kept, *random* the first in the uniform order of
    samples: the same ones every time. Four statements at most, seven with `trace` and `tag`, which sum up views from
    those traces only.
    """
    if slice_.is_fine:
        ref = None if func_id is None else find_ref(slice_.project_id, func_id)
        seen = select_seen_views(slice_, ref=ref, keep_funcs=ref.funcs if ref else ())
        return pick_views(slice_, seen, ref, (order,), limit)[0]
    if func_id is None:
        return _pick_by_script_time(slice_.with_slow_views() if order == "worst" else slice_, order, limit)
    ref = find_ref(slice_.project_id, func_id)
    views, population = sample_slice_views(slice_, ref, most=settings.STATISTICS_MAX_VIEWS)
    table = pick_views(slice_, SeenViews("contributions", views), ref, (order,), limit)[0]
    return replace(table, population=max(population, len(views)))


def _pick_by_script_time(slice_: Slice, order: ViewOrder, limit: int) -> ViewTable:
    where, params = where_slice(slice_)
    ((population,),) = select_rows(f"SELECT coalesce(sum(c.views), 0)::bigint {FROM_CELLS} WHERE {where}", params)
    if population > settings.VIEW_LIST_MAX_VIEWS:
        return _pick_from_sample(slice_, order, limit, population)
    ((count, truncated, median_us),) = select_rows(
        f"""SELECT count(*), count(*) FILTER (WHERE v.is_truncated),
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY v.js_us) {FROM_VIEWS} WHERE {where}""",
        params,
    )
    views = select_view_times(slice_, order=RANKS[order], params={"median": median_us}, limit=limit)
    table = _table_of(slice_.project_id, views, count, truncated, median_us)
    return replace(table, population=max(population, count))


def _pick_from_sample(slice_: Slice, order: ViewOrder, limit: int, population: int) -> ViewTable:
    _, rows = select_sampled(
        slice_,
        "v.view_id, v.group_id, v.js_us, v.is_truncated",
        most=settings.VIEW_LIST_SAMPLE,
        population=population,
    )
    median_us = _median([row[2] for row in rows])
    rows.sort(key=lambda row: (*_rank(row[2], row[0], order, median_us or 0.0), row[0], row[1]))
    keys = [(row[0], row[1]) for row in rows[:limit]]
    view_of_key = select_views_of(slice_.project_id, keys)
    table = _table_of(
        slice_.project_id,
        [view_of_key[key] for key in keys if key in view_of_key],
        len(rows),
        sum(row[3] for row in rows),
        median_us,
    )
    return replace(table, population=population)


def _table_of(
    project_id: int, views: Sequence[SliceView], count: int, truncated: int, median_us: float | None
) -> ViewTable:
    traces = select_traces_of(project_id, [view.view_id for view in views])
    return ViewTable(
        view_count=count,
        truncated_count=truncated,
        median_us=median_us,
        looked_at=count,
        population=count,
        views=[
            ViewRow(
                view=view,
                self_us=view.time.js_us,
                total_us=view.time.js_us,
                hidden_us=view.time.hidden_us,
                traces=traces.get((view.view_id, view.release, view.page), ()),
            )
            for view in views
        ],
    )


def pick_views(
    slice_: Slice, seen: SeenViews, ref: FuncRef | None, orders: Sequence[ViewOrder], limit: int
) -> Sequence[ViewTable]:
    """Returns a table in each of several orders, of views that were read already. One statement."""
    rows = []
    for view in seen.views:
        if ref is None:
            rows.append(
                ViewRow(
                    view=view,
                    self_us=view.time.js_us,
                    total_us=view.time.js_us,
                    hidden_us=view.time.hidden_us,
                    traces=(),
                )
            )
        elif places := view.positions_of(ref):
            sums = view.contribution
            self_us, total_us, hidden_us = (
                sum(column[at] for at in places) for column in (sums.self_us, sums.total_us, sums.hidden_us)
            )
            rows.append(ViewRow(view=view, self_us=self_us, total_us=total_us, hidden_us=hidden_us, traces=()))
    median = _median([row.self_us for row in rows])
    picked = [
        sorted(rows, key=lambda row: _rank(row.self_us, row.view.view_id, order, median or 0.0))[:limit]
        for order in orders
    ]
    traces = select_traces_of(slice_.project_id, [row.view.view_id for some in picked for row in some])
    truncated = sum(row.view.is_truncated for row in rows)
    return [
        ViewTable(
            view_count=len(rows),
            truncated_count=truncated,
            median_us=median,
            looked_at=len(seen.views),
            population=len(seen.views),
            views=[_with_traces(row, traces, seen) for row in some],
            source=seen.source,
        )
        for some in picked
    ]


def _with_traces(row: ViewRow, traces: TracesOf, seen: SeenViews) -> ViewRow:
    """Returns a view with those of its traces that were looked at."""
    row_traces = [
        trace
        for trace in traces.get((row.view.view_id, row.view.release, row.view.page), ())
        if seen.seqs is None or trace.seq in seen.seqs[row.view.view_id, row.view.group_id]
    ]
    return replace(row, traces=row_traces)


def _rank(self_us: int, view_id: UUID, order: ViewOrder, median_us: float) -> tuple[float, int]:
    key = sample_key(view_id)
    if order == "random":
        return 0.0, key
    return (abs(self_us - median_us) if order == "typical" else -self_us), key


def _median(values: Sequence[int]) -> float | None:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[-middle - 1]) / 2 if ordered else None
