"""The page views of a slice, and traces with their raw bodies."""

import re
from typing import Annotated, Any, Final, Self
from uuid import UUID

from django.http import Http404, HttpResponseBase
from rest_framework.request import Request

from aggregate.selectors.functions.display_rows import is_made_id
from aggregate.selectors.page_views.picked_views import VIEW_ORDERS, ViewRow, select_views
from aggregate.selectors.page_views.traces import TraceRow, narrow_to_request, select_trace, select_trace_page
from aggregate.selectors.slice.slices import read_func_id
from dashboard.api.core.answer import (
    OBJECT,
    Answer,
    EndReason,
    Instant,
    choices,
    doc,
    operation,
    with_dimensions,
)
from dashboard.api.core.parameters import FINE_PARAMS, SLICE_PARAMS, Text, limit_of
from dashboard.api.core.parts import SliceAnswer, UsedInterval
from dashboard.api.core.views import ProjectView
from dashboard.web.params import ParamError
from dashboard.web.project_pages import PageTraits
from dashboard.web.raw_bodies import answer_raw
from ingest.models import Receipt
from profcore.trace.dimensions import END_REASONS

CURSOR_VALUE: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,9})")
LIMIT: Final = limit_of(1_000, 100)
FUNC: Final = Text("func", "A function's id: only views that ran it, ranked by its self time.")
TRACE_ID: Final = Text("trace_id", "Only views of a trace in a tracing system: its id, or a traceparent.")
ORDER: Final = Text("order", choices=VIEW_ORDERS, default="typical")
CURSOR: Final = Text("cursor", "As the page before gave it.")


class TraceStart(Answer):
    id: Annotated[str, doc("The trace's own id, or view.seq if its raw body has expired.")]
    view: str
    seq: int
    release: str
    page: str
    received_at: Instant
    view_started_at: Instant


class TraceAnswer(with_dimensions(TraceStart)):  # type: ignore[misc]  # a base made by a function
    requested_interval_ms: float | None
    interval_ms: Annotated[float, doc("As the profiler reported it.")]
    measured_interval_ms: Annotated[float | None, doc("The median gap; null until folded.")]
    used_interval_ms: UsedInterval
    sample_rate: float
    isolated: bool | None
    end_reason: EndReason
    body_bytes: Annotated[int, doc("Expanded.")]
    request_trace: Annotated[str | None, doc("The id of its page's trace in a tracing system.")]
    has_raw: Annotated[bool, doc("Whether the raw body is still kept.")]
    state: Annotated[str, choices(["pending", "folded", "rejected"])]
    reason: Annotated[str | None, doc("Why it was rejected.")]
    path: str | None
    detail: str | None

    @classmethod
    def of(cls, row: TraceRow, /, **values: Any) -> Self:
        """Returns the facts of a trace."""
        used_us = row.interval_us if row.used_interval_us is None else row.used_interval_us
        answer: Self = super().of(
            row,
            id=row.ref,
            view=str(row.view_id),
            **row.dimensions,
            used_interval_ms=used_us / 1000,
            end_reason=END_REASONS[row.end_reason],
            has_raw=row.trace_id is not None,
            state=Receipt.State(row.state).name.lower(),
            **values,
        )
        return answer


class TracesAnswer(Answer):
    slice: SliceAnswer
    traces: list[TraceAnswer]
    cursor: Annotated[str | None, doc("The start of the next page; null on the last one.")]


class ViewStart(Answer):
    view: str
    release: str
    page: str


class ViewAnswer(with_dimensions(ViewStart)):  # type: ignore[misc]  # a base made by a function
    """One page view with its traces, and the time of the function in it (without a function, all JS time)."""

    is_truncated: Annotated[bool, doc("The recording ended before the view.")]
    js_ms: float
    self_ms: float
    total_ms: float
    hidden_ms: float
    traces: list[TraceAnswer]

    @classmethod
    def of(cls, row: ViewRow, /, **values: Any) -> Self:
        """Returns a view with its traces."""
        view = row.view
        answer: Self = super().of(
            row,
            view=str(view.view_id),
            **{name: getattr(view, name) for name in ("release", "page", "is_truncated")},
            **view.dimensions,
            js_ms=view.time.js_us / 1000,
            traces=[TraceAnswer.of(trace) for trace in row.traces],
            **values,
        )
        return answer


class ViewsAnswer(Answer):
    slice: SliceAnswer
    source: Annotated[str, doc("Where the times come from: contributions, or raw with trace and tag.")]
    population_views: Annotated[int, doc("Those of the slice; with func, of cells in which it ran.")]
    looked_at_views: Annotated[int, doc("All of them, or an even sample.")]
    view_count: Annotated[int, doc("Those looked at that ran func; without func, all looked at.")]
    truncated_view_count: Annotated[int, doc("The truncated ones among them.")]
    median_self_ms: float | None
    views: list[ViewAnswer]


class ViewsView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, *FINE_PARAMS, TRACE_ID, FUNC, ORDER, LIMIT)

    def get(self, request: Request, slug: str) -> ViewsAnswer:
        """Lists views of a slice with their traces: typical (nearest the median), worst, or random views."""
        params = request.query_params
        text = FUNC.read(params)
        func = read_func_id(text)
        if text and (func is None or is_made_id(func)):
            raise ParamError("func", f"func must be the id of one function, not of a group; not {text[:80]!r}.")
        order, limit = ORDER.read(params), LIMIT.read(params)
        slice_ = self.resolve_slice()
        if trace := TRACE_ID.read(params):
            slice_ = narrow_to_request(slice_, trace)
        table = select_views(slice_, func_id=func, order=order, limit=limit)  # type: ignore[arg-type]  # checked above
        return ViewsAnswer.of(
            table,
            slice=SliceAnswer.of(slice_),
            population_views=table.population,
            looked_at_views=table.looked_at,
            truncated_view_count=table.truncated_count,
            median_self_ms=None if table.median_us is None else table.median_us / 1000,
            views=[ViewAnswer.of(row) for row in table.views],
        )


class TracesView(ProjectView):
    traits = PageTraits(on_replica=True)
    known_params = (*SLICE_PARAMS, *FINE_PARAMS, LIMIT, CURSOR)

    def get(self, request: Request, slug: str) -> TracesAnswer:
        """Lists the traces of a slice, also pending and rejected ones, in order of view and sequence number."""
        limit = LIMIT.read(request.query_params)
        after = self._read_cursor()
        slice_ = self.resolve_slice()
        page = select_trace_page(slice_, limit=limit, after=after)
        cursor = None if page.after is None else f"{page.after[0]}.{page.after[1]}"
        return TracesAnswer(SliceAnswer.of(slice_), [TraceAnswer.of(row) for row in page.traces], cursor)

    def _read_cursor(self) -> tuple[UUID, int] | None:
        text = CURSOR.read(self.request.query_params)
        match = CURSOR_VALUE.fullmatch(text)
        if text and match is None:
            raise ParamError("cursor", "cursor must be the value from the previous page.")
        return (UUID(match[1]), int(match[2])) if match else None


class TraceView(ProjectView):
    traits = PageTraits(on_replica=True)

    def get(self, request: Request, slug: str, ref: str) -> TraceAnswer:
        """Returns the facts of one trace, by its id or `view.seq`."""
        trace = select_trace(self.project.pk, ref)
        if trace is None:
            raise Http404("There is no such trace.")
        return TraceAnswer.of(trace)


class RawTraceView(ProjectView):
    @operation(
        content={"application/json": OBJECT},
        errors={403: "Only administrators and tokens with the scope raw can read raw bodies."},
    )
    def get(self, request: Request, slug: str, ref: str) -> HttpResponseBase:
        """Returns the envelope as it was received, with full URLs and texts."""
        return answer_raw(request, self.project, ref)
