"""A function's breakdown, callers and callees."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from django.http import Http404
from rest_framework.request import Request

from aggregate.selectors.functions.breakdown import EXPRESSIONS, select_function_breakdown
from aggregate.selectors.functions.calls import CallRow, select_calls, select_func
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.slice.slices import read_func_id
from dashboard.api.core.answer import Answer, doc
from dashboard.api.core.parameters import FINE_PARAMS, SLICE_PARAMS, Text
from dashboard.api.core.parts import DisplayAnswer, FuncAnswer, SliceAnswer, SumsSource
from dashboard.api.core.views import ProjectView
from dashboard.web.project_pages import PageTraits

BY: Final = Text("by", choices=list(EXPRESSIONS), default="page")


class FuncView(ProjectView):
    """The base of the endpoints about one function."""

    def get_func(self, func_id: str, releases: Sequence[str] | None = None) -> FunctionRow:
        """Returns the project's function by its id, in some releases if they are given (see `select_func`).

        Raises the same Http404 for any other text.
        """
        number = read_func_id(func_id)
        func = None if number is None else select_func(self.project.pk, number, releases=releases)
        if func is None:
            raise Http404("There is no such function.")
        return func


class BreakdownRowAnswer(Answer):
    value: Annotated[str, doc("A release, page, device class, browser, navigation or day.")]
    views: Annotated[int, doc("All page views of it.")]
    function_views: Annotated[
        int | None,
        doc("Views that ran the function. This and totals are null for a group made by a display rule."),
    ]
    self_samples: int
    total_samples: int | None
    self_ms: float
    total_ms: float | None
    hidden_ms: float
    uncertain_ms: Annotated[float, doc("Hidden time that may be its own or the engine's; in no other sum.")]
    self_ms_per_view: Annotated[float, doc("Over all page views of it.")]
    total_ms_per_view: float | None


class BreakdownAnswer(Answer):
    slice: SliceAnswer
    source: SumsSource
    function: FuncAnswer
    by: str
    breakdown: list[BreakdownRowAnswer]


class BreakdownView(FuncView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, *FINE_PARAMS, BY)

    def get(self, request: Request, slug: str, func_id: str) -> BreakdownAnswer:
        """Sums of one function by a dimension, zeros included."""
        func = self.get_func(func_id)
        by = BY.read(request.query_params)
        slice_ = self.resolve_slice()
        breakdown = select_function_breakdown(slice_, func.id, by)
        overlapping = ("function_views", "total_samples", "total_ms", "total_ms_per_view") if breakdown.is_made else ()
        rows = [
            BreakdownRowAnswer.of(
                row,
                **{
                    "function_views": row.func_views,
                    "self_ms_per_view": row.self_us / 1000 / row.views,
                    "total_ms_per_view": row.total_us / 1000 / row.views,
                }
                | dict.fromkeys(overlapping),
            )
            for row in breakdown.rows
        ]
        return BreakdownAnswer(SliceAnswer.of(slice_), breakdown.source, FuncAnswer.of(func), by, rows)


class CallAnswer(Answer):
    function: Annotated[FuncAnswer | None, doc("Null if nothing called it, or if its callers were not recorded.")]
    self_samples: int
    total_samples: int
    self_ms: float
    total_ms: Annotated[float, doc("Counts once per sample, also for recursive calls.")]
    hidden_ms: float

    @classmethod
    def of(cls, row: CallRow, /, **values: Any) -> Self:
        """Returns a caller or callee."""
        return super().of(row, function=row.func and FuncAnswer.of(row.func), **values)


class CallsAnswer(Answer):
    slice: SliceAnswer
    source: SumsSource
    function: FuncAnswer
    display: DisplayAnswer


CallsType = TypeVar("CallsType", bound=CallsAnswer)


class CallersAnswer(CallsAnswer):
    callers: list[CallAnswer]


class CalleesAnswer(CallsAnswer):
    callees: list[CallAnswer]


class CallsView(FuncView):
    """The base of the endpoints about a function's callers and callees."""

    known_params = (*SLICE_PARAMS, *FINE_PARAMS)

    def select(self, func_id: str, answer: type[CallsType], direction: Literal["callers", "callees"]) -> CallsType:
        """Returns the calls of a function in one direction."""
        func = self.get_func(func_id)
        slice_ = self.resolve_slice()
        calls = select_calls(slice_, func.id, direction)
        return answer.of(
            calls,
            slice=SliceAnswer.of(slice_),
            function=FuncAnswer.of(func),
            display=DisplayAnswer(calls.display_rules),
            **{direction: [CallAnswer.of(row) for row in calls.rows]},
        )


class CallersView(CallsView):
    traits = PageTraits(heavy="yes", on_replica=True)

    def get(self, request: Request, slug: str, func_id: str) -> CallersAnswer:
        """Lists the callers of a function, with its time under each."""
        return self.select(func_id, CallersAnswer, "callers")


class CalleesView(CallsView):
    traits = PageTraits(heavy="yes", on_replica=True)

    def get(self, request: Request, slug: str, func_id: str) -> CalleesAnswer:
        """Lists the callees of a function, with their time under it."""
        return self.select(func_id, CalleesAnswer, "callees")
