"""Drill-down: from a number to a function's breakdown, callers and callees, and to views, traces and raw bytes."""

import re
from collections.abc import Sequence
from typing import Final, Literal
from uuid import UUID

from django.http import Http404, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.breakdown import EXPRESSIONS, select_function_breakdown
from aggregate.selectors.functions.calls import select_calls, select_func
from aggregate.selectors.functions.display_rows import is_made_id
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.picked_views import VIEW_ORDERS, select_views
from aggregate.selectors.page_views.traces import TraceRow, select_trace, select_trace_page
from aggregate.selectors.slice.slices import FINE_FIELDS, SLICE_FIELDS, read_func_id
from dashboard.api.core.parameters import ERRORS, FINE_PARAMS, SIDE_PARAMS, SLICE_PARAMS
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.drilldown_schemas import (
    BreakdownShape,
    CalleesShape,
    CallersShape,
    CallTreeShape,
    TraceShape,
    TracesShape,
    ViewsShape,
    encode_breakdown,
    encode_calls,
    encode_trace,
    encode_traces,
    encode_views,
)
from dashboard.api.slices.flamegraph import FlameGraphShape
from dashboard.api.slices.queries import FLAME_NODES, KINDS, MAX_NODES, CallTreeQuery, FlameGraphQuery
from dashboard.web.answers import answer_json
from dashboard.web.params import ParamError, read_choice, read_count, read_one
from dashboard.web.raw_bodies import answer_raw

MAX_ROWS: Final = 1_000
CURSOR: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,9})")
LIMIT_PARAM: Final = OpenApiParameter("limit", OpenApiTypes.INT, default=100, description=f"1 to {MAX_ROWS}.")


class FuncView(ProjectView):
    """The base of the endpoints about one function."""

    def get_func(self, func_id: str, releases: Sequence[str] | None = None) -> FunctionRow:
        """Returns the project's function by its id, in some releases if they are given (see `select_func`).

        Raises the same Http404 for any other text.
        """
        asked = read_func_id(func_id)
        func = None if asked is None else select_func(self.project.pk, asked, releases=releases)
        if func is None:
            raise Http404("There is no such function.")
        return func


class BreakdownView(FuncView):
    known_params = (*SLICE_FIELDS, *FINE_FIELDS, "by")

    @extend_schema(
        operation_id="breakdown",
        parameters=[*SLICE_PARAMS, *FINE_PARAMS, OpenApiParameter("by", enum=list(EXPRESSIONS), default="page")],
        responses={200: BreakdownShape, **ERRORS},
    )
    def get(self, request: Request, slug: str, func_id: str) -> Response:
        """Sums of one function by a dimension, zeros included."""
        func = self.get_func(func_id)
        by = read_choice(request.query_params, "by", list(EXPRESSIONS), "page")
        slice_ = self.resolve_slice()
        return Response(encode_breakdown(slice_, func, by, select_function_breakdown(slice_, func.id, by)))


class CallersView(FuncView):
    known_params = (*SLICE_FIELDS, *FINE_FIELDS)
    direction: Literal["callers", "callees"] = "callers"

    @extend_schema(
        operation_id="callers", parameters=[*SLICE_PARAMS, *FINE_PARAMS], responses={200: CallersShape, **ERRORS}
    )
    def get(self, request: Request, slug: str, func_id: str) -> Response:
        """Lists the callers of a function, with its time under each."""
        func = self.get_func(func_id)
        slice_ = self.resolve_slice()
        calls = select_calls(slice_, func.id, self.direction)
        return Response(encode_calls(slice_, func, self.direction, calls))


class CalleesView(CallersView):
    direction = "callees"

    @extend_schema(
        operation_id="callees", parameters=[*SLICE_PARAMS, *FINE_PARAMS], responses={200: CalleesShape, **ERRORS}
    )
    def get(self, request: Request, slug: str, func_id: str) -> Response:
        """Lists the callees of a function, with their time under it."""
        return super().get(request, slug, func_id)


class CallTreeView(ProjectView):
    known_params = KINDS["calltree"].known
    job_kind = "calltree"

    @extend_schema(
        operation_id="calltree",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            OpenApiParameter(
                "min_share", OpenApiTypes.FLOAT, default=0.0, description="A share of the slice's JS time, 0 to 1."
            ),
            OpenApiParameter("max_nodes", OpenApiTypes.INT, default=10_000, description=f"1 to {MAX_NODES}."),
        ],
        responses={200: CallTreeShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Returns the slice's merged call tree without its lightest nodes, and the sums of those."""
        question = CallTreeQuery.read(request.query_params)
        return Response(question.answer(self.resolve_slice()))


class FlameGraphView(ProjectView):
    known_params = KINDS["flamegraph"].known
    job_kind = "flamegraph"

    @extend_schema(
        operation_id="flamegraph",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            *SIDE_PARAMS,
            OpenApiParameter("min_share", OpenApiTypes.FLOAT, default=0.0, description="Of a side's JS time, 0 to 1."),
            OpenApiParameter("max_nodes", OpenApiTypes.INT, default=FLAME_NODES, description=f"1 to {MAX_NODES}."),
        ],
        responses={
            200: FlameGraphShape,
            304: OpenApiResponse(description="The answer named by `If-None-Match` has not changed."),
            **ERRORS,
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Returns the call tree as columns; with `base_…` and `head_…`, one tree with the sums of both sides."""
        question = FlameGraphQuery.read(request.query_params)
        slice_ = self.resolve_slice()
        code = load_symbols(self.project.pk, as_stored=slice_.as_stored)
        facts = (self.project.pk, slice_.query(), question.facts(slice_), sorted(code.sites), code.version)
        return answer_json(request._request, facts=facts, make=lambda: question.answer(slice_))


class ViewsView(FuncView):
    known_params = (*SLICE_FIELDS, *FINE_FIELDS, "func", "order", "limit")

    @extend_schema(
        operation_id="views",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            OpenApiParameter("func", description="A function's id: only views that ran it, ranked by its self time."),
            OpenApiParameter("order", enum=list(VIEW_ORDERS), default="typical"),
            LIMIT_PARAM,
        ],
        responses={200: ViewsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists views of a slice with their traces: typical (nearest the median), worst, or random views."""
        params = request.query_params
        text = read_one(params, "func", "")
        func = read_func_id(text)
        if text and (func is None or is_made_id(func)):
            raise ParamError("func", f"func must be the id of one function, not of a group; not {text[:80]!r}.")
        order = read_choice(params, "order", VIEW_ORDERS, "typical")
        limit = read_count(params, "limit", default=100, high=MAX_ROWS)
        slice_ = self.resolve_slice()
        table = select_views(slice_, func_id=func, order=order, limit=limit)  # type: ignore[arg-type]  # checked above
        return Response(encode_views(slice_, table))


class TracesView(ProjectView):
    known_params = (*SLICE_FIELDS, *FINE_FIELDS, "limit", "cursor")

    @extend_schema(
        operation_id="traces",
        parameters=[
            *SLICE_PARAMS,
            *FINE_PARAMS,
            LIMIT_PARAM,
            OpenApiParameter("cursor", description="As the page before gave it."),
        ],
        responses={200: TracesShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists the traces of a slice, also pending and rejected ones, in order of view and sequence number."""
        limit = read_count(request.query_params, "limit", default=100, high=MAX_ROWS)
        after = self._read_cursor()
        slice_ = self.resolve_slice()
        return Response(encode_traces(slice_, select_trace_page(slice_, limit=limit, after=after)))

    def _read_cursor(self) -> tuple[UUID, int] | None:
        text = read_one(self.request.query_params, "cursor", "")
        match = CURSOR.fullmatch(text)
        if text and match is None:
            raise ParamError("cursor", "cursor must be the value from the previous page.")
        return (UUID(match[1]), int(match[2])) if match else None


class TraceView(ProjectView):
    @extend_schema(operation_id="trace", responses={200: TraceShape, **ERRORS})
    def get(self, request: Request, slug: str, ref: str) -> Response:
        """Returns the facts of one trace, by its id or `view.seq`."""
        return Response(encode_trace(get_trace(self.project.pk, ref)))


def get_trace(project_id: int, ref: str) -> TraceRow:
    """Returns a project's trace. Raises Http404."""
    trace = select_trace(project_id, ref)
    if trace is None:
        raise Http404("There is no such trace.")
    return trace


class RawTraceView(ProjectView):
    @extend_schema(
        operation_id="raw_trace",
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            **ERRORS,
            403: OpenApiResponse(description="Only administrators and tokens made with --raw can read raw bodies."),
        },
    )
    def get(self, request: Request, slug: str, ref: str) -> HttpResponseBase:
        """Returns the envelope as it was received, with full URLs and texts."""
        return answer_raw(request, self.project, ref)
