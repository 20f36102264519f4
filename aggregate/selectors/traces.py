"""From a number down to its views and traces, and to the bytes that came."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from django.db import connection

from aggregate.selectors.code import RowId
from aggregate.selectors.contributions import SliceView, select_slice_views
from aggregate.selectors.fine import SeenViews, select_seen_views
from aggregate.selectors.raw import expand_stored, load_raw_bodies, split_traces
from aggregate.selectors.reading import Reading
from aggregate.selectors.refs import FuncRef, find_ref
from aggregate.selectors.slices import Slice, where_receipts
from profcore.sampling import sample_key
from profcore.tags import has_tags

ViewOrder = Literal["typical", "worst", "random"]
VIEW_ORDERS: Final = ("typical", "worst", "random")
# A trace is named by the id it came with, or by view and number, which outlive its raw body.
TRACE_REF: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.([0-9]{1,9}))?", re.IGNORECASE)
COLUMNS: Final = """t.trace_id, r.view_id, r.seq, g.release, g.page, r.received_at, r.view_started_at, r.device_class,
r.browser, r.requested_interval_us, r.interval_us, r.measured_interval_us, coalesce(r.sample_rate, 1), r.isolated,
r.end_reason, r.body_bytes, r.state, r.reason, r.path, r.detail, r.fold_version"""
FROM_RECEIPTS: Final = """FROM ingest_receipt r JOIN ingest_group g ON g.project_id = r.project_id AND g.id = r.group_id
LEFT JOIN ingest_rawtrace t ON t.project_id = r.project_id AND t.view_id = r.view_id AND t.seq = r.seq
     AND t.received_at = r.received_at"""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """The facts of one trace. `trace_id` is None where its raw body has expired."""

    trace_id: UUID | None
    view_id: UUID
    seq: int
    release: str
    page: str
    received_at: datetime
    view_started_at: datetime
    device: int
    browser: int
    requested_interval_us: int | None
    interval_us: int
    measured_interval_us: int | None
    sample_rate: float
    isolated: bool | None
    end_reason: int
    body_bytes: int
    state: int
    reason: str | None
    path: str | None
    detail: str | None
    fold_version: int | None

    @property
    def ref(self) -> str:
        """What names it: `traces/{ref}`."""
        return str(self.trace_id) if self.trace_id else f"{self.view_id}.{self.seq}"


@dataclass(frozen=True, slots=True)
class ViewRow:
    """One view, the µs it was picked by, and its traces in their order."""

    view: SliceView
    self_us: int
    total_us: int
    hidden_us: int
    traces: Sequence[TraceRow]


@dataclass(frozen=True, slots=True)
class ViewTable:
    """Some views of a slice; `view_count` counts those they were picked from, `median_us` is their median self."""

    view_count: int
    truncated_count: int
    median_us: float | None
    views: Sequence[ViewRow]
    source: str = "contributions"  # or "raw"


@dataclass(frozen=True, slots=True)
class TracePage:
    """Some traces, and after which of all (view, number) the next page begins; None on the last."""

    traces: Sequence[TraceRow]
    after: tuple[UUID, int] | None


TracesOf = dict[tuple[UUID, str, str], list[TraceRow]]  # by view, release and page


def select_traces(slice_: Slice, *, limit: int, after: tuple[UUID, int] | None = None) -> Sequence[TraceRow]:
    """Returns traces of a slice in order of view and number, those after `after`: also pending and rejected ones.

    A trace is in a slice by what its own receipt says. One statement, two with `func_over`.
    """
    where, params = where_receipts(slice_)
    views = list(slice_.views)
    if slice_.func_over:
        views = [view.view_id for view in select_slice_views(slice_)]
    if slice_.views or slice_.func_over:
        where += " AND r.view_id = ANY(%(views)s::uuid[])"
    if slice_.traces:
        where += """ AND (r.view_id, r.seq) IN (SELECT x.view_id, x.seq FROM ingest_rawtrace x
                    WHERE x.project_id = %(project_id)s AND x.trace_id = ANY(%(traces)s::uuid[]))"""
    if after is not None:
        where += " AND (r.view_id, r.seq) > (%(after_view)s, %(after_seq)s)"
        params |= {"after_view": after[0], "after_seq": after[1]}
    return _select_rows(where, {**params, "views": views, "traces": list(slice_.traces), "limit": limit})


def select_trace_page(slice_: Slice, *, limit: int, after: tuple[UUID, int] | None = None) -> TracePage:
    """Returns the same traces page by page; of a slice with tags, those whose raw bodies carry them.

    To find these, a page looks at no more raw bodies than an answer may fold: it may be short, or empty, though more
    follow. A trace whose body has expired carries no tag.
    """
    if not slice_.tags:
        rows = select_traces(slice_, limit=limit + 1, after=after)
        return _cut(rows, limit, len(rows) > limit)
    reading = Reading.at_once()
    found: list[TraceRow] = []
    traces = size = 0
    while rows := select_traces(slice_, limit=reading.batch_traces, after=after):
        for batch in split_traces(rows, reading.batch_traces):
            bodies = dict(load_raw_bodies(slice_.project_id, [(r.view_id, r.seq, r.received_at) for r in batch]))
            for row in batch:
                after = row.view_id, row.seq
                stored = bodies.pop(after, None)
                if stored is not None and has_tags(expand_stored(*stored), slice_.tags):
                    found.append(row)
                traces, size = traces + 1, size + row.body_bytes
                if len(found) == limit or reading.is_beyond(traces, size):
                    return TracePage(found, after)
    return TracePage(found, None)


def _cut(rows: Sequence[TraceRow], limit: int, is_more: bool) -> TracePage:
    shown = rows[:limit]
    return TracePage(shown, (shown[-1].view_id, shown[-1].seq) if is_more else None)


def _select_rows(where: str, params: dict[str, Any]) -> Sequence[TraceRow]:  # Any: parameters of a statement
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {COLUMNS} {FROM_RECEIPTS} WHERE {where} ORDER BY r.view_id, r.seq LIMIT %(limit)s", params
        )
        return [TraceRow(*row) for row in cursor.fetchall()]


def _where_trace(project_id: int, ref: str) -> tuple[str, dict[str, Any]] | None:  # Any: as above
    match = TRACE_REF.fullmatch(ref)
    if match is None or int(match[2] or 0) >= 2**31:
        return None
    params = {"project_id": project_id, "id": UUID(match[1]), "seq": int(match[2] or 0), "limit": 1}
    named = "t.trace_id = %(id)s" if match[2] is None else "r.view_id = %(id)s AND r.seq = %(seq)s"
    own = "r.project_id = %(project_id)s AND t.project_id = %(project_id)s AND "
    return (own if match[2] is None else "r.project_id = %(project_id)s AND ") + named, params


def select_trace(project_id: int, ref: str) -> TraceRow | None:
    """Returns the facts of a trace by its id or `VIEW.SEQ`; None where there is none."""
    found = _where_trace(project_id, ref)
    return next(iter(_select_rows(*found)), None) if found else None


def select_raw_body(project_id: int, ref: str) -> tuple[bool, bytes] | None:
    """Returns (is it gzip, the bytes that came) of a trace; None where there is none, or it has expired."""
    found = _where_trace(project_id, ref)
    if found is None:
        return None
    where, params = found
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT t.is_gzip, t.body {FROM_RECEIPTS} WHERE {where} AND t.body IS NOT NULL", params)
        row = cursor.fetchone()
    return (row[0], bytes(row[1])) if row else None


def select_views(slice_: Slice, *, func_id: RowId | None, order: ViewOrder, limit: int) -> ViewTable:
    """Returns views of a slice by what a function took in them, those alone that ran it; without one, by JS time.

    *typical* are those nearest the median, *worst* those with the most, *random* those first in the
    uniform order of samples: the same ones every time. Two statements; of `trace` and `tag`, whose views are summed
    from those traces alone, four more.
    """
    ref = None if func_id is None else find_ref(slice_.project_id, func_id)
    return pick_views(slice_, select_seen_views(slice_, ref=ref), ref, (order,), limit)[0]


def pick_views(
    slice_: Slice, seen: SeenViews, ref: FuncRef | None, orders: Sequence[ViewOrder], limit: int
) -> Sequence[ViewTable]:
    """Returns the same in several orders, of views that were read already. One statement."""
    rows = []
    for view in seen.views:
        if ref is None:
            rows.append(ViewRow(view, view.time.js_us, view.time.js_us, view.time.hidden_us, ()))
        elif places := view.positions_of(ref):
            sums = view.contribution
            self_us, total_us, hidden_us = (
                sum(column[at] for at in places) for column in (sums.self_us, sums.total_us, sums.hidden_us)
            )
            rows.append(ViewRow(view, self_us, total_us, hidden_us, ()))
    ordered = sorted(row.self_us for row in rows)
    middle = len(ordered) // 2
    median = (ordered[middle] + ordered[-middle - 1]) / 2 if ordered else None
    picked = [sorted(rows, key=lambda row: _rank(row, order, median or 0.0))[:limit] for order in orders]
    traces = select_traces_of(slice_.project_id, [row.view.view_id for some in picked for row in some])
    truncated = sum(row.view.is_truncated for row in rows)
    return [
        ViewTable(len(rows), truncated, median, [_with_traces(row, traces, seen) for row in some], seen.source)
        for some in picked
    ]


def _with_traces(row: ViewRow, traces: TracesOf, seen: SeenViews) -> ViewRow:
    """Returns a view with its traces, those that were looked at."""
    own = [
        trace
        for trace in traces.get((row.view.view_id, row.view.release, row.view.page), ())
        if seen.seqs is None or trace.seq in seen.seqs[row.view.view_id, row.view.group_id]
    ]
    return replace(row, traces=own)


def _rank(row: ViewRow, order: ViewOrder, median_us: float) -> tuple[float, int]:
    key = sample_key(row.view.view_id)
    if order == "random":
        return 0.0, key
    return (abs(row.self_us - median_us) if order == "typical" else -row.self_us), key


def select_traces_of(project_id: int, view_ids: Sequence[UUID]) -> TracesOf:
    """Returns the traces of some views, pending and rejected ones too, by view, release and page. One statement."""
    traces: TracesOf = {}
    if view_ids:
        where = "r.project_id = %(project_id)s AND r.view_id = ANY(%(views)s::uuid[])"
        for row in _select_rows(where, {"project_id": project_id, "views": list(view_ids), "limit": 100_000}):
            traces.setdefault((row.view_id, row.release, row.page), []).append(row)
    return traces
