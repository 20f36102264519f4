"""`views/{id}/timeline`: one page view over time, as columns for the browser."""

from collections.abc import Sequence
from uuid import UUID

from django.http import Http404, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.exports.timelines import fingerprint_timeline
from aggregate.selectors.exports.view_timelines import NamedTimeline, select_named_timeline
from aggregate.selectors.page_views.traces import select_traces_of
from aggregate.selectors.page_views.view_facts import choose_group, order_groups
from aggregate.selectors.slice.slices import AS_STORED, DISPLAY, Slice
from dashboard.api.core.encoding import TimeShape, encode_time
from dashboard.api.core.parameters import ERRORS
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.flamegraph import make_func_columns
from dashboard.web.answers import answer_json
from dashboard.web.params import read_choice, read_one
from dashboard.web.schemas import Json, Shape, define_shape
from profcore.code.packages import package_of
from profcore.formats.slice import ExportFunc
from profcore.formats.timeline import TimelineTrace
from profcore.trace.dimensions import DIMENSIONS, END_REASONS
from profcore.trace.weights import MARKERS

KINDS = ("js", "hidden", "idle", "profiler", "engine")  # by weights.KIND_…


def _integers(help_text: str) -> serializers.ListField:
    return serializers.ListField(child=serializers.IntegerField(), help_text=help_text)


def _floats(help_text: str = "") -> serializers.ListField:
    return serializers.ListField(child=serializers.FloatField(), help_text=help_text)


TimelineFuncsShape = define_shape(
    "TimelineFuncsShape",
    "The functions, as columns. `id` is null for functions without any time.",
    make_func_columns(may_lack_ids=True),
)


class StackColumnsShape(Shape):
    prefix = _integers("The caller's index, callers first; -1 for a root.")
    function = _integers("An index into functions.")


class SampleColumnsShape(Shape):
    time_ms = _floats("Time since the view's start, ascending; may be negative.")
    weight_ms = _floats("The sample's weight, after the cap on gaps.")
    stack = _integers("An index into stacks; -1 for none.")
    kind = _integers("An index into kinds.")
    hidden_stack = _integers("For a hidden sample, the stack that it was attributed to; -1 for none.")
    marker = _integers("An index into markers; -1 for none.")
    trace = _integers("An index into traces.")


class SpanColumnsShape(Shape):
    start_ms = _floats()
    end_ms = _floats()


class GapColumnsShape(SpanColumnsShape):
    trace = _integers("An index into traces.")


class TimelineTraceShape(Shape):
    seq = serializers.IntegerField()
    id = serializers.CharField(allow_null=True)
    start_ms = serializers.FloatField()
    end_ms = serializers.FloatField()
    interval_ms = serializers.FloatField(help_text="As the profiler reported it.")
    used_interval_ms = serializers.FloatField(
        help_text="The interval that its samples are weighed by: the reported one, unless the samples disagree with it."
    )
    requested_interval_ms = serializers.FloatField(allow_null=True)
    measured_interval_ms = serializers.FloatField(allow_null=True)
    end_reason = serializers.ChoiceField(END_REASONS)
    reason = serializers.CharField(allow_blank=True, help_text="The client's own word.")
    samples = serializers.IntegerField()
    lane = serializers.IntegerField(help_text="0, or above if it overlaps an earlier trace: two profilers ran at once.")
    time_ms = TimeShape()


class TimelineMarkShape(Shape):
    type = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    start_ms = serializers.FloatField()
    duration_ms = serializers.FloatField()
    facts = serializers.DictField()
    scripts = serializers.ListField(child=serializers.DictField(), help_text="Those of a long animation frame.")


class TimelineShape(Shape):
    """One page view over time, in ms since its start."""

    view = serializers.CharField()
    release = serializers.CharField()
    page = serializers.CharField()
    vars().update({dimension.name: serializers.ChoiceField(dimension.values) for dimension in DIMENSIONS})
    started_at_ms = serializers.FloatField(help_text="Epoch ms: 0 of the clock.")
    interval_ms = serializers.FloatField(help_text="That of most samples.")
    time_ms = TimeShape()
    overlap_ms = serializers.FloatField(help_text="The time covered by more than one trace.")
    kinds = serializers.ListField(child=serializers.CharField())
    markers = serializers.ListField(child=serializers.CharField())
    functions = TimelineFuncsShape()
    stacks = StackColumnsShape()
    samples = SampleColumnsShape()
    gaps = GapColumnsShape(help_text="Times without samples: a suspended tab or a starved sampler.")
    long_tasks = SpanColumnsShape(help_text="In order, without overlap.")
    traces = TimelineTraceShape(many=True, help_text="In order of start.")
    marks = TimelineMarkShape(many=True, help_text="In order of time; URLs are without query and fragment.")


class TimelineView(ProjectView):
    known_params = ("release", "page", DISPLAY)

    @extend_schema(
        operation_id="timeline",
        parameters=[
            OpenApiParameter("release", description="Which one, for a view with several. Default: the first."),
            OpenApiParameter("page", description="The same."),
            OpenApiParameter(DISPLAY, enum=[AS_STORED], description="Functions as they are stored."),
        ],
        responses={
            200: TimelineShape,
            304: OpenApiResponse(description="The answer named by `If-None-Match` has not changed."),
            **ERRORS,
        },
    )
    def get(self, request: Request, slug: str, view_id: str) -> HttpResponseBase:
        """Returns one page view over time, sample by sample, with its marks, while its raw bodies are kept."""
        view = read_view_id(view_id)
        groups = order_groups(select_traces_of(self.project.pk, [view]))
        if not groups:
            raise Http404("There is no such view.")
        asked = {name: read_one(request.query_params, name, "") or None for name in ("release", "page")}
        _, release, page = choose_group(groups, **asked)
        as_stored = read_choice(request.query_params, DISPLAY, ("", AS_STORED), "") == AS_STORED
        slice_ = Slice(
            project_id=self.project.pk, releases=(release,), pages=(page,), views=(view,), as_stored=as_stored
        )
        code = load_symbols(self.project.pk, as_stored=as_stored)
        facts = (self.project.pk, slice_.query(), fingerprint_timeline(slice_), sorted(code.sites), code.version)
        return answer_json(
            request._request,
            facts=facts,
            make=lambda: encode_timeline(select_named_timeline(slice_, project=self.project.name)),
        )


def read_view_id(text: str) -> UUID:
    """Returns a view's id. Raises Http404 for a text that is not an id."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404("There is no such view.") from None


def encode_timeline(named: NamedTimeline) -> Json:
    view = named.view
    samples = view.samples
    return {
        "view": view.view_id,
        "release": view.release,
        "page": view.page,
        **view.dimensions,
        "started_at_ms": view.started_at_ms,
        "interval_ms": view.interval_us / 1000,
        "time_ms": encode_time(view.time),
        "overlap_ms": view.overlap_us / 1000,
        "kinds": KINDS,
        "markers": MARKERS,
        "functions": _encode_funcs(named.funcs, named.ids),
        "stacks": {"prefix": view.prefix, "function": view.func},
        "samples": {
            "time_ms": [us / 1000 for us in samples.time_us],
            "weight_ms": [us / 1000 for us in samples.weight_us],
            "stack": samples.stack,
            "kind": samples.kind,
            "hidden_stack": samples.hidden_stack,
            "marker": samples.marker,
            "trace": samples.trace,
        },
        "gaps": _encode_spans([(gap.start_us, gap.end_us) for gap in view.gaps])
        | {"trace": [gap.trace for gap in view.gaps]},
        "long_tasks": _encode_spans(view.long_tasks),
        "traces": [_encode_trace(trace) for trace in view.traces],
        "marks": [
            {
                "type": mark.type,
                "name": mark.name,
                "start_ms": mark.start_us / 1000,
                "duration_ms": mark.duration_us / 1000,
                "facts": mark.facts,
                "scripts": mark.scripts,
            }
            for mark in view.marks
        ],
    }


def _encode_funcs(funcs: Sequence[ExportFunc], ids: Sequence[str | None]) -> Json:
    originals = [func.original for func in funcs]
    return {
        "id": ids,
        **{name: [getattr(func, name) for func in funcs] for name in ("name", "label", "uri", "line", "column")},
        "original_source": [original and original.source for original in originals],
        "original_line": [original and original.line for original in originals],
        "original_column": [original and original.column for original in originals],
        "category": [func.category for func in funcs],
        "package": [package_of(func.original.source if func.original else func.uri) for func in funcs],
        "is_group": [func.is_made for func in funcs],
        "colour": [func.colour for func in funcs],
    }


def _encode_spans(spans: Sequence[tuple[int, int]]) -> Json:
    return {"start_ms": [start / 1000 for start, _ in spans], "end_ms": [end / 1000 for _, end in spans]}


def _encode_trace(trace: TimelineTrace) -> Json:
    return {
        "seq": trace.seq,
        "id": trace.trace_id,
        "start_ms": trace.start_us / 1000,
        "end_ms": trace.end_us / 1000,
        "interval_ms": trace.reported_interval_us / 1000,
        "used_interval_ms": trace.interval_us / 1000,
        "requested_interval_ms": None if trace.requested_interval_us is None else trace.requested_interval_us / 1000,
        "measured_interval_ms": None if trace.measured_interval_us is None else trace.measured_interval_us / 1000,
        "end_reason": trace.end_reason,
        "reason": trace.reason,
        "samples": trace.time.samples,
        "lane": trace.lane,
        "time_ms": encode_time(trace.time),
    }
