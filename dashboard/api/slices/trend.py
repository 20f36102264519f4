"""`trend`: time per page view over time, by release, each point with its interval."""

from typing import Final

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from aggregate.selectors.project.trends import (
    TREND_LINES,
    TREND_MEASURES,
    Trend,
    TrendPoint,
    TrendSums,
    estimate_trend,
    sum_trend,
)
from aggregate.selectors.slice.slices import SLICE_FIELDS
from dashboard.api.core.encoding import SliceShape, encode_slice
from dashboard.api.core.parameters import ERRORS, SLICE_PARAMS
from dashboard.api.core.statistics import encode_interval
from dashboard.api.core.views import ProjectView
from dashboard.web.answers import answer_json
from dashboard.web.params import read_choice, read_count
from dashboard.web.schemas import Json, Shape, interval_field

DEFAULT_LINES: Final = 6  # more cannot be told apart in one chart
MAX_LINES: Final = 50


class TrendPointShape(Shape):
    """One bucket: the mean of its page views. Null if there is no data."""

    at = serializers.DateTimeField(help_text="The start of the bucket, UTC.")
    views = serializers.IntegerField()
    sampled_views = serializers.IntegerField(help_text="Views behind the interval: all, or a uniform sample.")
    effective_views = serializers.FloatField(help_text="The number of equally weighted views that would be as precise.")
    ms_per_view = serializers.FloatField(help_text="Of all views; if sample rates differ, of the weighted sample.")
    ms_per_view_ci95 = interval_field()
    is_too_few = serializers.BooleanField()
    is_weighted = serializers.BooleanField()
    is_complete = serializers.BooleanField(
        help_text="False if the times of some views have expired; then there is no interval."
    )


class TrendLineShape(Shape):
    """One release over time; null means all releases. Buckets without views have no point."""

    release = serializers.CharField(allow_null=True)
    points = TrendPointShape(many=True)


class TrendShape(Shape):
    """Time per page view, bucket by bucket."""

    slice = SliceShape()
    measure = serializers.CharField(help_text="self (JS), hidden, or self+hidden.")
    by = serializers.CharField(help_text="release or none.")
    bucket = serializers.CharField(help_text="hour, day or week.")
    line_count = serializers.IntegerField(help_text="Those beyond the limit too.")
    lines = TrendLineShape(many=True)


class TrendView(ProjectView):
    known_params = (*SLICE_FIELDS, "measure", "by", "limit")

    @extend_schema(
        operation_id="trend",
        parameters=[
            *SLICE_PARAMS,
            OpenApiParameter("measure", enum=list(TREND_MEASURES), default="self", description="`self` is JS time."),
            OpenApiParameter("by", enum=list(TREND_LINES), default="release"),
            OpenApiParameter(
                "limit",
                OpenApiTypes.INT,
                default=DEFAULT_LINES,
                description=f"Number of releases, newest first; 1 to {MAX_LINES}.",
            ),
        ],
        responses={
            200: TrendShape,
            304: OpenApiResponse(description="The answer named by `If-None-Match` has not changed."),
            **ERRORS,
        },
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Returns JS time, hidden time or both per page view over time, with 95 % intervals over page views."""
        params = request.query_params
        measure = read_choice(params, "measure", TREND_MEASURES, "self")
        by = read_choice(params, "by", TREND_LINES, "release")
        limit = read_count(params, "limit", default=DEFAULT_LINES, high=MAX_LINES)
        sums = sum_trend(self.resolve_slice(), by=by, limit=limit)
        # Every fold, refold and erasure changes a sum.
        facts = (
            self.project.pk,
            sums.slice_.query(),
            measure,
            by,
            sums.bucket,
            sums.line_count,
            [*sums.points.items()],
        )
        return answer_json(request._request, facts=facts, make=lambda: encode_trend(sums, measure, by))


def encode_trend(sums: TrendSums, measure: str, by: str) -> Json:
    trend: Trend = estimate_trend(sums, measure=measure)
    return {
        "slice": encode_slice(sums.slice_),
        "measure": measure,
        "by": by,
        "bucket": trend.bucket,
        "line_count": trend.line_count,
        "lines": [
            {"release": line.release, "points": [_encode_point(point) for point in line.points]} for line in trend.lines
        ],
    }


def _encode_point(point: TrendPoint) -> Json:
    mean = point.mean
    return {
        "at": point.at.isoformat().replace("+00:00", "Z"),
        "views": mean.views,
        "sampled_views": mean.sampled_views,
        "effective_views": mean.effective_views,
        "ms_per_view": mean.ms_per_view.value,
        "ms_per_view_ci95": encode_interval(mean.ms_per_view),
        "is_too_few": mean.is_too_few,
        "is_weighted": mean.is_weighted,
        "is_complete": mean.is_complete,
    }
