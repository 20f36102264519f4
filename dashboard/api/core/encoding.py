"""Encoders from dataclasses to the read API's answers, each with its OpenAPI shape.

The encoders build plain dicts: DRF's own field-by-field encoding of a thousand functions took most of a request's
time. A test compares encoder and shape field by field.
"""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.project.arrivals import Arrivals
from aggregate.selectors.project.pages import PageRow
from aggregate.selectors.project.summaries import Status
from aggregate.selectors.slice.slices import Slice, format_instant
from dashboard.api.core.statistics import (
    EstimatesShape,
    StatisticsShape,
    encode_estimates,
    encode_interval,
    encode_statistics,
)
from dashboard.web.schemas import Json, Shape, define_shape, interval_field
from profcore.code.display_rules import COLOURS
from profcore.trace.dimensions import DIMENSIONS
from profcore.trace.weights import TimeParts


def func_fields() -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    """Returns the fields that identify a function."""
    return {
        "id": serializers.CharField(),
        "name": serializers.CharField(allow_blank=True),
        "label": serializers.CharField(),
        "uri": serializers.CharField(allow_null=True),
        "line": serializers.IntegerField(allow_null=True),
        "column": serializers.IntegerField(allow_null=True),
    }


def shown_fields() -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    """Returns the fields that display rules set, apart from the label."""
    return {
        "is_group": serializers.BooleanField(help_text="Whether a display rule shows several functions as this one."),
        "colour": serializers.ChoiceField(COLOURS, allow_null=True, help_text="By a display rule."),
    }


class RenamedFromShape(Shape):
    """A function of the base that has the same text, except for its name."""

    id = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a word of DRF's own


class DisplayShape(Shape):
    """How many display rules were applied. `display=none` asks for functions as they are stored."""

    rules = serializers.IntegerField(help_text="Number of rules applied; 0 with display=none.")


RangeShape = define_shape(
    "RangeShape",
    "One range of time; null means no bound.",
    {"from": serializers.DateTimeField(allow_null=True), "to": serializers.DateTimeField(allow_null=True)},
)
SliceShape = define_shape(
    "SliceShape",
    "The slice as it was read. Empty lists and nulls mean all. Times are rounded outwards to buckets.",
    {
        "release": serializers.ListField(child=serializers.CharField()),
        "page": serializers.ListField(child=serializers.CharField()),
        "from": serializers.DateTimeField(allow_null=True, help_text="The earliest start."),
        "to": serializers.DateTimeField(allow_null=True, help_text="The latest end, exclusive."),
        "ranges": RangeShape(many=True, help_text="Each pair of from and to."),
        **{dimension.name: serializers.ListField(child=serializers.CharField()) for dimension in DIMENSIONS},
        "view": serializers.ListField(child=serializers.CharField()),
        "trace": serializers.ListField(child=serializers.CharField()),
        "tag": serializers.ListField(child=serializers.CharField(), help_text="key:value"),
        "func_over": serializers.ListField(child=serializers.CharField(), help_text="function id:ms"),
    },
)


class TimeShape(Shape):
    """The parts of time, ms: js + hidden + engine + idle + unobserved + profiler = span."""

    js = serializers.FloatField()
    hidden = serializers.FloatField()
    engine = serializers.FloatField(
        help_text="Style, layout, paint and parsing, known only from long animation frames; 0 without them."
    )
    idle = serializers.FloatField()
    unobserved = serializers.FloatField()
    profiler = serializers.FloatField()
    span = serializers.FloatField()


OriginalShape = define_shape(
    "OriginalShape",
    "Where the function is defined by the source map of its newest release. Line and column are 1-based.",
    {
        "source": serializers.CharField(),
        "line": serializers.IntegerField(),
        "column": serializers.IntegerField(),
        "name": serializers.CharField(allow_null=True, help_text="null for an anonymous function."),
        "package": serializers.CharField(allow_null=True),
    },
)
FunctionShape = define_shape(
    "FunctionShape",
    "One function's exact sums in the slice. Line and column say where it is defined, 1-based.",
    {
        "id": serializers.CharField(),
        "name": serializers.CharField(allow_blank=True, help_text="The name on the wire, repaired."),
        "label": serializers.CharField(help_text="What to show."),
        "uri": serializers.CharField(allow_null=True),
        "line": serializers.IntegerField(allow_null=True),
        "column": serializers.IntegerField(allow_null=True),
        "original": OriginalShape(allow_null=True),
        "category": serializers.CharField(allow_null=True),
        **shown_fields(),
        "self_samples": serializers.IntegerField(),
        "total_samples": serializers.IntegerField(),
        "self_ms": serializers.FloatField(),
        "total_ms": serializers.FloatField(),
        "hidden_ms": serializers.FloatField(help_text="Hidden time attributed to it; not in self or total."),
        "hidden_total_ms": serializers.FloatField(help_text="Hidden time attributed to it or to what it called."),
        "uncertain_ms": serializers.FloatField(
            help_text="Hidden time that may be its own, its callees' or the engine's; in no other number of it."
        ),
        "views": serializers.IntegerField(
            allow_null=True, help_text="Page views that ran it; null for groups of very many views."
        ),
        "self_share": serializers.FloatField(allow_null=True, help_text="self / JS time of the slice, 0 to 1."),
        "self_share_ci95": interval_field(),
        "self_ms_per_view": serializers.FloatField(
            allow_null=True,
            help_text="Over all page views of the slice. Null if sample rates differ and there are no statistics.",
        ),
        "self_ms_per_view_ci95": interval_field(),
        "p75_self_ms_per_view": serializers.FloatField(allow_null=True, help_text="Zeros included."),
        "estimates": EstimatesShape(allow_null=True, help_text="For `measure`; null if there are no statistics."),
    },
)


class ViewsCountShape(Shape):
    """Page views. Some were recorded only in part: the buffer was full, or the page closed. Their sums are low."""

    views = serializers.IntegerField()
    truncated_views = serializers.IntegerField(help_text="Views that were recorded only in part.")
    truncated_share = serializers.FloatField(allow_null=True, help_text="truncated_views / views, 0 to 1.")


class ArrivalsShape(Shape):
    """What arrived in the slice's time, for the whole project: refused traces are not stored, only counted."""

    received = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="Not accepted at the endpoint; in no sum.")
    refused_by_reason = serializers.DictField(child=serializers.IntegerField())
    dropped = serializers.IntegerField(
        help_text="The part of `refused` that exceeded a quota, a rate or another bound."
    )
    dropped_share = serializers.FloatField(allow_null=True, help_text="dropped / (received + dropped), 0 to 1.")


class FunctionsShape(ViewsCountShape):
    slice = SliceShape()
    arrivals = ArrivalsShape()
    source = serializers.CharField(help_text="Where the sums come from: cells, contributions or raw.")  # type: ignore[assignment]  # a word of DRF's own
    traces = serializers.IntegerField()
    samples = serializers.IntegerField()
    time_ms = TimeShape()
    statistics = StatisticsShape(allow_null=True, help_text="Null for single traces.")
    display = DisplayShape()
    function_count = serializers.IntegerField(help_text="All functions of the slice, also those beyond the limit.")
    functions = FunctionShape(many=True)


class PageShape(ViewsCountShape):
    page = serializers.CharField()
    js_ms_per_view = serializers.FloatField(allow_null=True)


class PagesShape(Shape):
    slice = SliceShape()
    pages = PageShape(many=True)


class StatusShape(Shape):
    """received = pending + folded + rejected. Refused envelopes are counted separately."""

    received = serializers.IntegerField()
    pending = serializers.IntegerField()
    folded = serializers.IntegerField()
    rejected = serializers.IntegerField()
    refused = serializers.IntegerField()
    dropped = serializers.IntegerField(
        help_text="The part of `refused` that exceeded a quota, a rate or another bound."
    )
    refused_by_reason = serializers.DictField(child=serializers.IntegerField())
    oldest_pending_s = serializers.FloatField(allow_null=True)


class ErrorShape(Shape):
    detail = serializers.CharField()
    field = serializers.CharField(required=False, help_text="The parameter it is about.")
    job_kind = serializers.CharField(required=False, help_text="The kind of job that can answer for so large a slice.")


def encode_slice(slice_: Slice) -> Json:
    ranges = [
        {"from": start and format_instant(start), "to": end and format_instant(end)} for start, end in slice_.ranges
    ]
    return {
        "release": list(slice_.releases),
        "page": list(slice_.pages),
        "from": slice_.from_at and format_instant(slice_.from_at),
        "to": slice_.to_at and format_instant(slice_.to_at),
        "ranges": ranges,
        **{dimension.name: list(slice_.values(dimension.name)) for dimension in DIMENSIONS},
        "view": [str(view) for view in slice_.views],
        "trace": [str(trace) for trace in slice_.traces],
        "tag": [f"{key}:{value}" for key, value in slice_.tags],
        "func_over": [f"{func}:{us / 1000:.15g}" for func, us in slice_.func_over],
    }


def encode_time(time: TimeParts) -> Json:
    return {
        "js": time.js_us / 1000,
        "hidden": time.hidden_us / 1000,
        "engine": time.engine_us / 1000,
        "idle": time.idle_us / 1000,
        "unobserved": time.unobserved_us / 1000,
        "profiler": time.profiler_us / 1000,
        "span": time.span_us / 1000,
    }


def encode_views_count(views: int, truncated_views: int) -> Json:
    share = truncated_views / views if views else None
    return {"views": views, "truncated_views": truncated_views, "truncated_share": share}


def encode_shown(row: FunctionRow) -> Json:
    return {"is_group": row.is_made, "colour": row.shown.colour if row.shown else None}


def encode_original(row: FunctionRow) -> Json | None:
    if row.mapped is None:
        return None
    original = row.mapped.original
    return {
        "source": original.source,
        "line": original.line,
        "column": original.column,
        "name": original.name,
        "package": row.mapped.package,
    }


def encode_place(row: FunctionRow) -> Json:
    """Returns which function or group a row is, and where it is in the code."""
    return {
        "id": str(row.id),
        "name": row.name,
        "label": row.label,
        "uri": row.uri,
        "line": row.line,
        "column": row.column,
    }


def encode_compared(func: FunctionRow) -> Json:
    """Returns which function a row of a comparison is, and what the base calls it if it was only renamed."""
    old = func.renamed_from
    return {
        **encode_place(func),
        "original": encode_original(func),
        "renamed_from": None if old is None else {"id": str(old.id), "label": old.label},
    }


def encode_function(row: FunctionRow, table: FunctionTable) -> Json:
    by_self, estimates = table.self_estimates.get(row.id), table.estimates.get(row.id)
    return {
        **encode_place(row),
        "original": encode_original(row),
        "category": row.category,
        **encode_shown(row),
        "self_samples": row.self_samples,
        "total_samples": row.total_samples,
        "self_ms": row.self_us / 1000,
        "total_ms": row.total_us / 1000,
        "hidden_ms": row.hidden_us / 1000,
        "hidden_total_ms": row.hidden_total_us / 1000,
        "uncertain_ms": row.uncertain_us / 1000,
        "views": row.views,
        "self_share": table.self_share(row),
        "self_share_ci95": encode_interval(by_self.share) if by_self else None,
        "self_ms_per_view": table.self_ms_per_view(row),
        "self_ms_per_view_ci95": encode_interval(by_self.ms_per_view) if by_self else None,
        "p75_self_ms_per_view": by_self.p75_ms.value if by_self else None,
        "estimates": encode_estimates(estimates) if estimates else None,
    }


def encode_arrivals(arrivals: Arrivals) -> Json:
    return {
        "received": arrivals.received,
        "refused": arrivals.refused,
        "refused_by_reason": dict(arrivals.refused_by_reason),
        "dropped": arrivals.dropped,
        "dropped_share": arrivals.dropped_share,
    }


def encode_functions(slice_: Slice, table: FunctionTable, arrivals: Arrivals) -> Json:
    return {
        "slice": encode_slice(slice_),
        "arrivals": encode_arrivals(arrivals),
        "source": table.source,
        **encode_views_count(table.views, table.truncated_views),
        "traces": table.traces,
        "samples": table.time.samples,
        "time_ms": encode_time(table.time),
        "statistics": encode_statistics(table.summary) if table.summary else None,
        "display": {"rules": table.display_rules},
        "function_count": table.function_count,
        "functions": [encode_function(row, table) for row in table.functions],
    }


def encode_pages(slice_: Slice, rows: Sequence[PageRow]) -> Json:
    pages = [
        {
            "page": row.page,
            **encode_views_count(row.views, row.truncated_views),
            "js_ms_per_view": row.js_ms_per_view,
        }
        for row in rows
    ]
    return {"slice": encode_slice(slice_), "pages": pages}


def encode_status(status: Status) -> Json:
    return {
        "received": status.received,
        "pending": status.pending,
        "folded": status.folded,
        "rejected": status.rejected,
        "refused": status.refused,
        "dropped": status.dropped,
        "refused_by_reason": dict(status.refused_by_reason),
        "oldest_pending_s": status.oldest_pending_s,
    }
