"""`overview`: a project by release, page and day, from the roll-up where it can tell."""

from typing import Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors import (
    OVERVIEW_DIMENSIONS,
    Arrivals,
    Overview,
    OverviewRow,
    Slice,
    select_arrivals,
    select_overview,
)
from aggregate.selectors.slices import SLICE_FIELDS
from dashboard.api import ERRORS, SLICE_PARAMS, ProjectView
from dashboard.params import read_count, read_words
from dashboard.serializers import (
    ArrivalsShape,
    SliceShape,
    TimeShape,
    ViewsCountShape,
    encode_arrivals,
    encode_slice,
    encode_time,
    encode_views_count,
)
from dashboard.shapes import Json, define_shape
from profcore.weights import TimeParts

MAX_ROWS: Final = 10_000  # 40 pages × 6 releases × 30 days are 7,200; some 4 MB


class OverviewSumsShape(ViewsCountShape):
    """Exact sums of page views."""

    traces = serializers.IntegerField()
    samples = serializers.IntegerField()
    time_ms = TimeShape()
    time_ms_per_view = TimeShape(allow_null=True, help_text="Over all page views of it; null without any.")


class OverviewRowShape(OverviewSumsShape):
    """The sums of one release, page or day, or of what those asked by have in common; null: not asked by."""

    release = serializers.CharField(allow_null=True)
    page = serializers.CharField(allow_null=True)
    day = serializers.DateField(allow_null=True, help_text="Of UTC.")


OverviewShape = define_shape(
    "OverviewShape",
    "A slice's sums by dimensions, and in all.",
    {
        "slice": SliceShape(),
        "arrivals": ArrivalsShape(),
        "source": serializers.CharField(help_text="What it was taken from: rollup or cells."),
        "by": serializers.ListField(child=serializers.ChoiceField(OVERVIEW_DIMENSIONS)),
        "whole": OverviewSumsShape(),
        "row_count": serializers.IntegerField(help_text="Rows of the slice, those beyond the limit too."),
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
                description="What to sum by, in this order; repeatable. Default: release.",
            ),
            OpenApiParameter("limit", OpenApiTypes.INT, default=MAX_ROWS, description=f"1 to {MAX_ROWS}."),
        ],
        responses={200: OverviewShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Views, traces and the parts of time by release, page or day, and by any of them together."""
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
        for name in ("js", "hidden", "idle", "unobserved", "profiler", "span")
    }
