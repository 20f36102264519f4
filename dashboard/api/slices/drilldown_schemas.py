"""Encoders and shapes of drill-down: breakdown, callers, callees, call trees, views and traces."""

from datetime import datetime

from rest_framework import serializers

from aggregate.selectors.functions.breakdown import FunctionBreakdown
from aggregate.selectors.functions.calls import CallRow, Calls, PrunedTree
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.picked_views import ViewTable
from aggregate.selectors.page_views.traces import TracePage, TraceRow
from aggregate.selectors.slice.slices import Slice
from dashboard.api.core.encoding import (
    DisplayShape,
    OriginalShape,
    SliceShape,
    encode_original,
    encode_place,
    encode_shown,
    encode_slice,
    func_fields,
    shown_fields,
)
from dashboard.web.schemas import Json, Shape, define_shape
from ingest.models import Receipt
from profcore.trace.dimensions import DIMENSIONS, END_REASONS

FuncShape = define_shape(
    "FuncShape",
    "Identifies a function, without sums.",
    {
        **func_fields(),
        "original": OriginalShape(allow_null=True),
        "category": serializers.CharField(allow_null=True),
        **shown_fields(),
    },
)


class BreakdownRowShape(Shape):
    value = serializers.CharField(help_text="A release, page, device class, browser, navigation or day.")
    views = serializers.IntegerField(help_text="All page views of it.")
    function_views = serializers.IntegerField(
        allow_null=True,
        help_text="Views that ran the function. This and totals are null for a group made by a display rule.",
    )
    self_samples = serializers.IntegerField()
    total_samples = serializers.IntegerField(allow_null=True)
    self_ms = serializers.FloatField()
    total_ms = serializers.FloatField(allow_null=True)
    hidden_ms = serializers.FloatField()
    uncertain_ms = serializers.FloatField(help_text="Hidden time that may be its own or the engine's; in no other sum.")
    self_ms_per_view = serializers.FloatField(help_text="Over all page views of it.")
    total_ms_per_view = serializers.FloatField(allow_null=True)


class BreakdownShape(Shape):
    slice = SliceShape()
    source = serializers.CharField(help_text="Where the sums come from: cells, contributions or raw.")  # type: ignore[assignment]  # a word of DRF's own
    function = FuncShape()
    by = serializers.CharField()
    breakdown = BreakdownRowShape(many=True)


class CallShape(Shape):
    function = FuncShape(allow_null=True, help_text="Null if nobody called it, or if its callers were not recorded.")
    self_samples = serializers.IntegerField()
    total_samples = serializers.IntegerField()
    self_ms = serializers.FloatField()
    total_ms = serializers.FloatField(help_text="Counts once per sample, also for recursive calls.")
    hidden_ms = serializers.FloatField()


class CallersShape(Shape):
    slice = SliceShape()
    source = serializers.CharField(help_text="Where the sums come from: cells, contributions or raw.")  # type: ignore[assignment]  # a word of DRF's own
    function = FuncShape()
    display = DisplayShape()
    callers = CallShape(many=True)


class CalleesShape(Shape):
    slice = SliceShape()
    source = serializers.CharField(help_text="Where the sums come from: cells, contributions or raw.")  # type: ignore[assignment]  # a word of DRF's own
    function = FuncShape()
    display = DisplayShape()
    callees = CallShape(many=True)


class NodeShape(Shape):
    prefix = serializers.IntegerField(allow_null=True, help_text="The caller's index in nodes; null for a root.")
    function = serializers.IntegerField(help_text="An index into functions.")
    self_samples = serializers.IntegerField()
    self_ms = serializers.FloatField()
    total_ms = serializers.FloatField(help_text="Of the whole tree, including pruned nodes below.")
    hidden_ms = serializers.FloatField()


class PrunedShape(Shape):
    nodes = serializers.IntegerField()
    self_ms = serializers.FloatField(help_text="Their time is still in the totals of their callers.")


class CallTreeShape(Shape):
    slice = SliceShape()
    source = serializers.CharField(help_text="Where the sums come from: cells, contributions or raw.")  # type: ignore[assignment]  # a word of DRF's own
    views = serializers.IntegerField()
    traces = serializers.IntegerField()
    display = DisplayShape()
    functions = FuncShape(many=True)
    nodes = NodeShape(many=True, help_text="Callers come before callees.")
    pruned = PrunedShape()


class TraceShape(Shape):
    id = serializers.CharField(help_text="The trace's own id, or view.seq if its raw body has expired.")
    view = serializers.CharField()
    seq = serializers.IntegerField()
    release = serializers.CharField()
    page = serializers.CharField()
    received_at = serializers.DateTimeField()
    view_started_at = serializers.DateTimeField()
    vars().update({dimension.name: serializers.ChoiceField(dimension.values) for dimension in DIMENSIONS})
    requested_interval_ms = serializers.FloatField(allow_null=True)
    interval_ms = serializers.FloatField(help_text="As the profiler reported it.")
    measured_interval_ms = serializers.FloatField(allow_null=True, help_text="The median gap; null until folded.")
    used_interval_ms = serializers.FloatField(
        help_text="The interval that its samples are weighed by: the reported one, unless the samples disagree with it."
    )
    sample_rate = serializers.FloatField()
    isolated = serializers.BooleanField(allow_null=True)
    end_reason = serializers.ChoiceField(END_REASONS)
    body_bytes = serializers.IntegerField(help_text="Expanded.")
    has_raw = serializers.BooleanField(help_text="Whether the raw body is still kept.")
    state = serializers.ChoiceField(["pending", "folded", "rejected"])
    reason = serializers.CharField(allow_null=True, help_text="Why it was rejected.")
    path = serializers.CharField(allow_null=True)
    detail = serializers.CharField(allow_null=True)


class TracesShape(Shape):
    slice = SliceShape()
    traces = TraceShape(many=True)
    cursor = serializers.CharField(allow_null=True, help_text="The start of the next page; null on the last one.")


ViewShape = define_shape(
    "ViewShape",
    "One page view with its traces, and the time of the function in it (without a function, all JS time).",
    {
        "view": serializers.CharField(),
        "release": serializers.CharField(),
        "page": serializers.CharField(),
        **{dimension.name: serializers.ChoiceField(dimension.values) for dimension in DIMENSIONS},
        "is_truncated": serializers.BooleanField(help_text="The recording ended before the view."),
        "js_ms": serializers.FloatField(),
        "self_ms": serializers.FloatField(),
        "total_ms": serializers.FloatField(),
        "hidden_ms": serializers.FloatField(),
        "traces": TraceShape(many=True),
    },
)


class ViewsShape(Shape):
    slice = SliceShape()
    source = serializers.CharField(help_text="Where the times come from: contributions, or raw with trace and tag.")  # type: ignore[assignment]  # a word of DRF's own
    population_views = serializers.IntegerField(help_text="Those of the slice; with func, of cells in which it ran.")
    looked_at_views = serializers.IntegerField(help_text="All of them, or an even sample.")
    view_count = serializers.IntegerField(help_text="Those looked at that ran func; without func, all looked at.")
    truncated_view_count = serializers.IntegerField(help_text="The truncated ones among them.")
    median_self_ms = serializers.FloatField(allow_null=True)
    views = ViewShape(many=True)


def encode_func(row: FunctionRow) -> Json:
    return {
        **encode_place(row),
        "original": encode_original(row),
        "category": row.category,
        **encode_shown(row),
    }


def encode_breakdown(slice_: Slice, func: FunctionRow, by: str, breakdown: FunctionBreakdown) -> Json:
    rows = [
        {
            "value": row.value,
            "views": row.views,
            "function_views": None if breakdown.is_made else row.func_views,
            "self_samples": row.self_samples,
            "total_samples": None if breakdown.is_made else row.total_samples,
            "self_ms": row.self_us / 1000,
            "total_ms": None if breakdown.is_made else row.total_us / 1000,
            "hidden_ms": row.hidden_us / 1000,
            "uncertain_ms": row.uncertain_us / 1000,
            "self_ms_per_view": row.self_us / 1000 / row.views,
            "total_ms_per_view": None if breakdown.is_made else row.total_us / 1000 / row.views,
        }
        for row in breakdown.rows
    ]
    return {
        "slice": encode_slice(slice_),
        "source": breakdown.source,
        "function": encode_func(func),
        "by": by,
        "breakdown": rows,
    }


def encode_calls(slice_: Slice, func: FunctionRow, direction: str, calls: Calls) -> Json:
    return {
        "slice": encode_slice(slice_),
        "source": calls.source,
        "function": encode_func(func),
        "display": {"rules": calls.display_rules},
        direction: [_encode_call(row) for row in calls.rows],
    }


def _encode_call(row: CallRow) -> Json:
    return {
        "function": row.func and encode_func(row.func),
        "self_samples": row.self_samples,
        "total_samples": row.total_samples,
        "self_ms": row.self_us / 1000,
        "total_ms": row.total_us / 1000,
        "hidden_ms": row.hidden_us / 1000,
    }


def encode_call_tree(slice_: Slice, pruned: PrunedTree) -> Json:
    tree = pruned.tree
    nodes = [
        {
            "prefix": None if prefix < 0 else prefix,
            "function": func,
            "self_samples": samples,
            "self_ms": self_us / 1000,
            "total_ms": total_us / 1000,
            "hidden_ms": hidden_us / 1000,
        }
        for prefix, func, samples, self_us, total_us, hidden_us in zip(
            tree.prefix, tree.func, tree.self_samples, tree.self_us, pruned.totals_us, tree.hidden_us, strict=True
        )
    ]
    return {
        "slice": encode_slice(slice_),
        "source": pruned.source,
        "views": pruned.views,
        "traces": pruned.traces,
        "display": {"rules": pruned.display_rules},
        "functions": [encode_func(row) for row in pruned.funcs],
        "nodes": nodes,
        "pruned": {"nodes": pruned.left_out_nodes, "self_ms": pruned.left_out_us / 1000},
    }


def _format_at(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def encode_trace(row: TraceRow) -> Json:
    return {
        "id": row.ref,
        "view": str(row.view_id),
        "seq": row.seq,
        "release": row.release,
        "page": row.page,
        "received_at": _format_at(row.received_at),
        "view_started_at": _format_at(row.view_started_at),
        **row.dimensions,
        "requested_interval_ms": None if row.requested_interval_us is None else row.requested_interval_us / 1000,
        "interval_ms": row.interval_us / 1000,
        "measured_interval_ms": None if row.measured_interval_us is None else row.measured_interval_us / 1000,
        "used_interval_ms": (row.interval_us if row.used_interval_us is None else row.used_interval_us) / 1000,
        "sample_rate": row.sample_rate,
        "isolated": row.isolated,
        "end_reason": END_REASONS[row.end_reason],
        "body_bytes": row.body_bytes,
        "has_raw": row.trace_id is not None,
        "state": Receipt.State(row.state).name.lower(),
        "reason": row.reason,
        "path": row.path,
        "detail": row.detail,
    }


def encode_traces(slice_: Slice, page: TracePage) -> Json:
    cursor = None if page.after is None else f"{page.after[0]}.{page.after[1]}"
    return {"slice": encode_slice(slice_), "traces": [encode_trace(row) for row in page.traces], "cursor": cursor}


def encode_views(slice_: Slice, table: ViewTable) -> Json:
    views = [
        {
            "view": str(row.view.view_id),
            "release": row.view.release,
            "page": row.view.page,
            **row.view.dimensions,
            "is_truncated": row.view.is_truncated,
            "js_ms": row.view.time.js_us / 1000,
            "self_ms": row.self_us / 1000,
            "total_ms": row.total_us / 1000,
            "hidden_ms": row.hidden_us / 1000,
            "traces": [encode_trace(trace) for trace in row.traces],
        }
        for row in table.views
    ]
    median = None if table.median_us is None else table.median_us / 1000
    return {
        "slice": encode_slice(slice_),
        "source": table.source,
        "population_views": table.population,
        "looked_at_views": table.looked_at,
        "view_count": table.view_count,
        "truncated_view_count": table.truncated_count,
        "median_self_ms": median,
        "views": views,
    }
