"""The traces behind a number, and their bodies as they came."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from aggregate.raw_bodies import AMONG_TRACES, JOIN_BODY, StoredBody, load_raw_bodies
from aggregate.selectors.page_views.contributions import select_slice_views
from aggregate.selectors.page_views.raw_traces import split_traces
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice, where_receipts
from aggregate.sql import dimension_columns, select_records, select_rows
from profcore.trace.dimensions import name_codes, read_request_trace
from profcore.trace.tags import has_tags

# A trace is named by its own id, or by view and number, which are kept longer than its raw body.
TRACE_REF: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.([0-9]{1,9}))?", re.IGNORECASE)
MAX_REQUESTED: Final = 1_000  # views of one trace in a tracing system: as many as one answer lists
NO_VIEW: Final = UUID(int=0)  # which no view has: random ids have a version
# The fields of a `TraceRow`.
COLUMNS: Final = f"""t.trace_id, r.view_id, r.seq, g.release, g.page, r.received_at, r.view_started_at,
ARRAY[{dimension_columns("r")}] AS codes, r.requested_interval_us, r.interval_us, r.measured_interval_us,
r.used_interval_us, coalesce(r.sample_rate, 1) AS sample_rate, r.isolated, r.end_reason, r.body_bytes, r.state,
r.request_trace, r.reason, r.path, r.detail, r.fold_version"""
FROM_RECEIPTS: Final = f"""FROM ingest_tracereceipt r
JOIN ingest_group g ON g.project_id = r.project_id AND g.id = r.group_id
{JOIN_BODY}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """The facts of one trace. `trace_id` is None if its raw body has expired.

    `request_trace` is the id of its page's trace in a tracing system, if its sender named one.

    `used_interval_us` is None if the trace is weighed by the reported interval, `interval_us`.
    """

    trace_id: UUID | None
    view_id: UUID
    seq: int
    release: str
    page: str
    received_at: datetime
    view_started_at: datetime
    codes: Sequence[int]
    requested_interval_us: int | None
    interval_us: int
    measured_interval_us: int | None
    used_interval_us: int | None
    sample_rate: float
    isolated: bool | None
    end_reason: int
    body_bytes: int
    state: int
    request_trace: str | None
    reason: str | None
    path: str | None
    detail: str | None
    fold_version: int | None

    @property
    def dimensions(self) -> dict[str, str]:
        """The values of its dimensions, by name."""
        return name_codes(self.codes)

    @property
    def ref(self) -> str:
        """The trace's name in addresses: `traces/{ref}`."""
        return str(self.trace_id) if self.trace_id else f"{self.view_id}.{self.seq}"


@dataclass(frozen=True, slots=True)
class TracePage:
    """Some traces, and the (view, number) after which the next page begins; None on the last page."""

    traces: Sequence[TraceRow]
    after: tuple[UUID, int] | None


TracesOf = dict[tuple[UUID, str, str], list[TraceRow]]  # by view, release and page


def select_traces(slice_: Slice, *, limit: int, after: tuple[UUID, int] | None = None) -> Sequence[TraceRow]:
    """Returns traces of a slice in order of view and number, after `after`, including pending and rejected ones.

    A trace is in a slice by the facts of its own receipt. One statement, two with `func_over`.
    """
    where, params = where_receipts(slice_)
    views = list(slice_.views)
    if slice_.func_over:
        views = [view.view_id for view in select_slice_views(slice_, keep_funcs=())]
    if slice_.views or slice_.func_over:
        where += " AND r.view_id = ANY(%(views)s::uuid[])"
    if slice_.traces:
        where += f" AND {AMONG_TRACES}"
    if after is not None:
        where += " AND (r.view_id, r.seq) > (%(after_view)s, %(after_seq)s)"
        params |= {"after_view": after[0], "after_seq": after[1]}
    return _select_rows(where, {**params, "views": views, "traces": list(slice_.traces), "limit": limit})


def select_trace_page(slice_: Slice, *, limit: int, after: tuple[UUID, int] | None = None) -> TracePage:
    """Returns one page of a slice's traces. If the slice has tags, only traces whose raw bodies have them.

    To find these, a page looks at no more raw bodies than an answer may fold. So it may be short or empty although more
    pages follow. A trace whose body has expired has no tags.
    """
    if not slice_.tags:
        rows = select_traces(slice_, limit=limit + 1, after=after)
        return _cut(rows, limit, len(rows) > limit)
    reading = Reading.at_once()
    page_rows: list[TraceRow] = []
    traces = size = 0
    while rows := select_traces(slice_, limit=reading.batch_traces, after=after):
        for batch in split_traces(rows, reading.batch_traces):
            bodies = load_raw_bodies(slice_.project_id, [(r.view_id, r.seq, r.received_at) for r in batch])
            for row in batch:
                after = row.view_id, row.seq
                stored = bodies.pop(after, None)
                if stored is not None and has_tags(stored.expand(), slice_.tags):
                    page_rows.append(row)
                traces, size = traces + 1, size + row.body_bytes
                if len(page_rows) == limit or reading.is_beyond(traces, size):
                    return TracePage(page_rows, after)
    return TracePage(page_rows, None)


def _cut(rows: Sequence[TraceRow], limit: int, is_more: bool) -> TracePage:
    page_rows = rows[:limit]
    return TracePage(page_rows, (page_rows[-1].view_id, page_rows[-1].seq) if is_more else None)


def _select_rows(where: str, params: dict[str, Any]) -> Sequence[TraceRow]:  # Any: parameters of a statement
    statement = f"SELECT {COLUMNS} {FROM_RECEIPTS} WHERE {where} ORDER BY r.view_id, r.seq LIMIT %(limit)s"
    return select_records(TraceRow, statement, params)


def _where_trace(project_id: int, ref: str) -> tuple[str, dict[str, Any]] | None:  # Any: as above
    match = TRACE_REF.fullmatch(ref)
    if match is None or int(match[2] or 0) >= 2**31:
        return None
    params = {"project_id": project_id, "id": UUID(match[1]), "seq": int(match[2] or 0), "limit": 1}
    named = "t.trace_id = %(id)s" if match[2] is None else "r.view_id = %(id)s AND r.seq = %(seq)s"
    of_project = "r.project_id = %(project_id)s AND t.project_id = %(project_id)s AND "
    return (of_project if match[2] is None else "r.project_id = %(project_id)s AND ") + named, params


def select_trace(project_id: int, ref: str) -> TraceRow | None:
    """Returns the facts of a trace by its id or `VIEW.SEQ`, None if there is none."""
    condition = _where_trace(project_id, ref)
    return next(iter(_select_rows(*condition)), None) if condition else None


def select_raw_body(project_id: int, ref: str) -> StoredBody | None:
    """Returns the body of a trace as it came, None if there is none or it has expired."""
    condition = _where_trace(project_id, ref)
    if condition is None:
        return None
    where, params = condition
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT r.view_id, r.seq, r.received_at {FROM_RECEIPTS} WHERE {where}", params)
        traces = cursor.fetchall()
    return next(iter(load_raw_bodies(project_id, traces).values()), None)


def select_traces_of(project_id: int, view_ids: Sequence[UUID]) -> TracesOf:
    """Returns the traces of some views, also pending and rejected ones, by view, release and page. One statement."""
    traces: TracesOf = {}
    if view_ids:
        where = "r.project_id = %(project_id)s AND r.view_id = ANY(%(views)s::uuid[])"
        for row in _select_rows(where, {"project_id": project_id, "views": list(view_ids), "limit": 100_000}):
            traces.setdefault((row.view_id, row.release, row.page), []).append(row)
    return traces


def narrow_to_request(slice_: Slice, text: str) -> Slice:
    """Returns a slice with only its views of a trace in a tracing system, by its id or `traceparent`. One statement.

    A page that a cache keeps with its `traceparent` has many: they are the newest `MAX_REQUESTED`.
    """
    rows = select_rows(
        """SELECT r.view_id FROM ingest_tracereceipt r
           WHERE r.project_id = %(project_id)s AND r.request_trace = %(trace)s
           GROUP BY r.view_id ORDER BY max(r.received_at) DESC, r.view_id LIMIT %(limit)s""",
        {"project_id": slice_.project_id, "trace": read_request_trace(text), "limit": MAX_REQUESTED},
    )
    views = tuple(view_id for (view_id,) in rows if not slice_.views or view_id in slice_.views)
    return replace(slice_, views=views or (NO_VIEW,))
