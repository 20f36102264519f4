"""`overview`: a project by release, page and day, from the roll-up if possible."""

from typing import Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.project.arrivals import Arrivals, select_arrivals
from aggregate.selectors.project.overview import OVERVIEW_DIMENSIONS, Overview, OverviewRow, select_overview
from aggregate.selectors.slice.slices import SLICE_FIELDS, Slice
from dashboard.api.core.encoding import (
    ArrivalsShape,
    SliceShape,
    TimeShape,
    ViewsCountShape,
    encode_arrivals,
    encode_slice,
    encode_time,
    encode_views_count,
)
from dashboard.api.core.parameters import ERRORS, SLICE_PARAMS
from dashboard.api.core.views import ProjectView
from dashboard.web.params import read_count, read_words
from dashboard.web.schemas import Json, define_shape
from profcore.trace.weights import TimeParts

MAX_ROWS: Final = 10_000  # 40 pages × 6 releases × 30 days are 7,200 rows: about 4 MB


class OverviewSumsShape(ViewsCountShape):
    """Exact sums of page views."""

    traces = serializers.IntegerField()
    samples = serializers.IntegerField()
    time_ms = TimeShape()
    time_ms_per_view = TimeShape(allow_null=True, help_text="Over all its page views; null if there are none.")


class OverviewRowShape(OverviewSumsShape):
    """The sums of one combination of the requested dimensions. A dimension that was not requested is null."""

    release = serializers.CharField(allow_null=True)
    page = serializers.CharField(allow_null=True)
    day = serializers.DateField(allow_null=True, help_text="Of UTC.")


OverviewShape = define_shape(
    "OverviewShape",
    "A slice's sums by dimension, and in total.",
    {
        "slice": SliceShape(),
        "arrivals": ArrivalsShape(),
        "source": serializers.CharField(help_text="Where the sums come from: rollup or cells."),
        "by": serializers.ListField(child=serializers.ChoiceField(OVERVIEW_DIMENSIONS)),
        "whole": OverviewSumsShape(),
        "row_count": serializers.IntegerField(help_text="All rows of the slice, also those beyond the limit."),
        "rows": OverviewRowShape(many=True),
    },
)


class OverviewView(ProjectView):
    known_params = (*SLICE_FIELDS, "by", "limit")

    @extend_schema(
        operation_id="overview",
        parameters=[
            *SLICE_PARAMS,
            OpenApiParameter(
                "by",
                many=True,
                enum=list(OVERVIEW_DIMENSIONS),
                description="A dimension to sum by; repeatable, in this order. Default: release.",
            ),
            OpenApiParameter("limit", OpenApiTypes.INT, default=MAX_ROWS, description=f"1 to {MAX_ROWS}."),
        ],
        responses={200: OverviewShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Returns views, traces and the parts of time by any combination of release, page and day."""
        by = read_words(request.query_params, "by", OVERVIEW_DIMENSIONS) or ["release"]
        limit = read_count(request.query_params, "limit", default=MAX_ROWS, high=MAX_ROWS)
        slice_ = self.resolve_slice()
        overview = select_overview(slice_, by, limit=limit)
        return Response(encode_overview(slice_, by, overview, select_arrivals(slice_)))


def encode_overview(slice_: Slice, by: list[str], overview: Overview, arrivals: Arrivals) -> Json:
    return {
        "slice": encode_slice(slice_),
        "arrivals": encode_arrivals(arrivals),
        "source": overview.source,
        "by": by,
        "whole": _encode_sums(overview.whole),
        "row_count": overview.row_count,
        "rows": [
            {"release": row.release, "page": row.page, "day": row.day and row.day.isoformat(), **_encode_sums(row)}
            for row in overview.rows
        ],
    }


def _encode_sums(row: OverviewRow) -> Json:
    return {
        **encode_views_count(row.views, row.truncated_views),
        "traces": row.traces,
        "samples": row.time.samples,
        "time_ms": encode_time(row.time),
        "time_ms_per_view": _encode_per_view(row.time, row.views) if row.views else None,
    }


def _encode_per_view(time: TimeParts, views: int) -> Json:
    return {
        name: getattr(time, f"{name}_us") / 1000 / views
        for name in ("js", "hidden", "engine", "idle", "unobserved", "profiler", "span")
    }
