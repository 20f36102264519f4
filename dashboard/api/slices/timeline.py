"""`views/{id}/timeline`: one page view over time, as columns for the browser."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Self
from uuid import UUID

from django.http import Http404
from rest_framework.request import Request

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.exports.timelines import fingerprint_timeline
from aggregate.selectors.exports.view_timelines import NamedTimeline, select_named_timeline
from aggregate.selectors.page_views.traces import select_traces_of
from aggregate.selectors.page_views.view_facts import choose_group, order_groups
from aggregate.selectors.slice.slices import AS_STORED, Slice
from dashboard.api.core.answer import Answer, Conditional, EndReason, doc, with_dimensions
from dashboard.api.core.parameters import DISPLAY_PARAM, Text
from dashboard.api.core.parts import TimeAnswer, UsedInterval
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.flamegraph import FuncColumnsAnswer, write_func_columns
from dashboard.api.slices.traces import ViewStart
from dashboard.web.project_pages import PageTraits
from profcore.code.packages import package_of
from profcore.formats.timeline import TimelineSamples, TimelineTrace
from profcore.trace.weights import MARKERS

KINDS = ("js", "hidden", "idle", "profiler", "engine")  # by weights.KIND_…
RELEASE: Final = Text("release", "Which one, for a view with several. Default: the first.")
PAGE: Final = Text("page", "The same.")

TraceIndexes = Annotated[list[int], doc("An index into traces.")]


class StackColumnsAnswer(Answer):
    prefix: Annotated[Sequence[int], doc("The caller's index, callers first; -1 for a root.")]
    function: Annotated[Sequence[int], doc("An index into functions.")]


class SampleColumnsAnswer(Answer):
    time_ms: Annotated[list[float], doc("Time since the view's start, ascending; may be negative.")]
    weight_ms: Annotated[list[float], doc("The sample's weight, after the cap on gaps.")]
    stack: Annotated[list[int], doc("An index into stacks; -1 for none.")]
    kind: Annotated[list[int], doc("An index into kinds.")]
    hidden_stack: Annotated[list[int], doc("For a hidden sample, the stack that it was attributed to; -1 for none.")]
    marker: Annotated[list[int], doc("An index into markers; -1 for none.")]
    trace: TraceIndexes

    @classmethod
    def of(cls, samples: TimelineSamples, /, **values: Any) -> Self:
        """Returns the samples of a view."""
        times = {f"{name}_ms": [us / 1000 for us in getattr(samples, f"{name}_us")] for name in ("time", "weight")}
        return super().of(samples, **times, **values)


class SpanColumnsAnswer(Answer):
    start_ms: list[float]
    end_ms: list[float]

    @classmethod
    def of_spans(cls, spans: Sequence[tuple[int, ...]], *more: list[int]) -> Self:
        """Returns spans, each of which begins with its start and its end in µs."""
        return cls(*([span[at] / 1000 for span in spans] for at in (0, 1)), *more)


class GapColumnsAnswer(SpanColumnsAnswer):
    trace: TraceIndexes


class TimelineTraceAnswer(Answer):
    seq: int
    id: str | None
    start_ms: float
    end_ms: float
    interval_ms: Annotated[float, doc("As the profiler reported it.")]
    used_interval_ms: UsedInterval
    requested_interval_ms: float | None
    measured_interval_ms: float | None
    end_reason: EndReason
    reason: Annotated[str, doc("The client's own word.")]
    samples: int
    lane: Annotated[int, doc("0, or above if it overlaps an earlier trace: two profilers ran at once.")]
    time_ms: TimeAnswer

    @classmethod
    def of(cls, trace: TimelineTrace, /, **values: Any) -> Self:
        """Returns a trace of a view."""
        return super().of(
            trace,
            id=trace.trace_id,
            interval_ms=trace.reported_interval_us / 1000,
            used_interval_ms=trace.interval_us / 1000,
            samples=trace.time.samples,
            time_ms=TimeAnswer.of(trace.time),
            **values,
        )


class TimelineMarkAnswer(Answer):
    type: str
    name: str
    start_ms: float
    duration_ms: float
    facts: dict[str, Any]  # Any: JSON
    scripts: Annotated[Sequence[dict[str, Any]], doc("Those of a long animation frame.")]  # Any: JSON


class TimelineAnswer(with_dimensions(ViewStart)):  # type: ignore[misc]  # a base made by a function
    """One page view over time, in ms since its start."""

    started_at_ms: Annotated[float, doc("Epoch ms: 0 of the clock.")]
    interval_ms: Annotated[float, doc("That of most samples.")]
    time_ms: TimeAnswer
    overlap_ms: Annotated[float, doc("The time covered by more than one trace.")]
    kinds: Sequence[str]
    markers: Sequence[str]
    functions: FuncColumnsAnswer
    stacks: StackColumnsAnswer
    samples: SampleColumnsAnswer
    gaps: Annotated[GapColumnsAnswer, doc("Times without samples: a suspended tab or a starved sampler.")]
    long_tasks: Annotated[SpanColumnsAnswer, doc("In order, without overlap.")]
    traces: Annotated[list[TimelineTraceAnswer], doc("In order of start.")]
    marks: Annotated[list[TimelineMarkAnswer], doc("In order of time; URLs are without query and fragment.")]

    @classmethod
    def of(cls, named: NamedTimeline, /, **values: Any) -> Self:
        """Returns the timeline of a view."""
        view, funcs = named.view, named.funcs
        answer: Self = super().of(
            view,
            view=view.view_id,
            **view.dimensions,
            time_ms=TimeAnswer.of(view.time),
            kinds=KINDS,
            markers=MARKERS,
            functions=FuncColumnsAnswer(
                id=list(named.ids),
                package=[package_of(func.original.source if func.original else func.uri) for func in funcs],
                colour=[func.colour for func in funcs],
                **write_func_columns(funcs, [func.original for func in funcs]),
            ),
            stacks=StackColumnsAnswer(view.prefix, view.func),
            samples=SampleColumnsAnswer.of(view.samples),
            gaps=GapColumnsAnswer.of_spans(view.gaps, [gap.trace for gap in view.gaps]),
            long_tasks=SpanColumnsAnswer.of_spans(view.long_tasks),
            traces=[TimelineTraceAnswer.of(trace) for trace in view.traces],
            marks=[TimelineMarkAnswer.of(mark) for mark in view.marks],
            **values,
        )
        return answer


class TimelineView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (RELEASE, PAGE, DISPLAY_PARAM)

    def get(self, request: Request, slug: str, view_id: str) -> Conditional[TimelineAnswer]:
        """Returns one page view over time, sample by sample, with its marks, while its raw bodies are kept."""
        view = read_view_id(view_id)
        groups = order_groups(select_traces_of(self.project.pk, [view]))
        if not groups:
            raise Http404("There is no such view.")
        params = request.query_params
        wanted = {param.name: param.read(params) or None for param in (RELEASE, PAGE)}
        _, release, page = choose_group(groups, **wanted)
        as_stored = DISPLAY_PARAM.read(params) == AS_STORED
        slice_ = Slice(
            project_id=self.project.pk, releases=(release,), pages=(page,), views=(view,), as_stored=as_stored
        )
        code = load_symbols(self.project.pk, as_stored=as_stored)
        key = (self.project.pk, slice_.query(), fingerprint_timeline(slice_), sorted(code.sites), code.version)
        return Conditional(key, lambda: TimelineAnswer.of(select_named_timeline(slice_, project=self.project.name)))


def read_view_id(text: str) -> UUID:
    """Returns a view's id. Raises Http404 for a text that is not an id."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404("There is no such view.") from None
