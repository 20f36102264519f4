"""`vitals`: what ran while visitors waited, over all views."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.slice.slices import SLICE_FIELDS
from dashboard.api.core.encoding import SliceShape
from dashboard.api.core.parameters import ERRORS, SLICE_PARAMS, _many
from dashboard.api.core.statistics import EstimatesShape, StatisticsShape
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import KINDS, VitalsTableQuery
from dashboard.api.slices.vitals_encoding import DEFAULT_ROWS, MAX_ROWS, WAITS
from dashboard.web.schemas import Shape, define_shape
from profcore.vitals.window_sums import WINDOW_PARTS
from profcore.vitals.windows import WINDOWS


class WindowPartShape(Shape):
    """One part of time in a window. The parts of a window add up to its length, exactly."""

    part = serializers.ChoiceField(WINDOW_PARTS)
    ms_per_view = serializers.FloatField()
    share = serializers.FloatField(help_text="Of the window.")
    estimates = EstimatesShape(allow_null=True, help_text="Shares are of the window.")


WindowRowShape = define_shape(
    "WindowRowShape",
    "A function or group in a window.",
    {
        "id": serializers.CharField(),
        "name": serializers.CharField(),
        "label": serializers.CharField(),
        "uri": serializers.CharField(allow_null=True),
        "line": serializers.IntegerField(allow_null=True),
        "column": serializers.IntegerField(allow_null=True),
        "category": serializers.CharField(allow_null=True),
        "self_ms": serializers.FloatField(help_text="Exact, over the views that were read."),
        "hidden_ms": serializers.FloatField(),
        "total_ms": serializers.FloatField(allow_null=True, help_text="Null for groups."),
        "ms_per_view": serializers.FloatField(help_text="Self and hidden time per view that has the window."),
        "share": serializers.FloatField(help_text="Of the window."),
        "estimates": EstimatesShape(allow_null=True, help_text="Of self and hidden time; shares are of the window."),
    },
)


class WindowShape(Shape):
    """One window, over the views that have it."""

    window = serializers.ChoiceField(WINDOWS)
    views = serializers.IntegerField(help_text="Views that were read and have it.")
    frames = serializers.IntegerField(allow_null=True, help_text="Long animation frames; null for other windows.")
    ms_per_view = serializers.FloatField(help_text="Its mean length.")
    statistics = StatisticsShape()
    estimates = EstimatesShape(allow_null=True, help_text="Of its length: `p75_ms` is what vitals are judged by.")
    parts = WindowPartShape(many=True)
    function_count = serializers.IntegerField(help_text="Rows beyond the limit too.")
    functions = WindowRowShape(many=True)


VitalsShape = define_shape(
    "VitalsShape",
    "What ran in the windows of vitals.",
    {
        "slice": SliceShape(),
        "views": serializers.IntegerField(help_text="Views of the slice."),
        "read_views": serializers.IntegerField(help_text="Views whose traces were read: all, or a uniform sample."),
        "expired_views": serializers.IntegerField(help_text="Views whose raw traces have expired."),
        "too_large_views": serializers.IntegerField(help_text="Views with more traces or bytes than are read of one."),
        "windows": WindowShape(many=True),
    },
)


class VitalsView(ProjectView):
    known_params = (*SLICE_FIELDS, "view", "func_over", *KINDS["vitals"].params)
    job_kind = "vitals"

    @extend_schema(
        operation_id="vitals",
        parameters=[
            *SLICE_PARAMS,
            _many("view", "A page view's id."),
            _many("func_over", "`ID:MS`: views in which this function's total exceeds MS milliseconds."),
            OpenApiParameter("group_by", enum=["function", *GROUPINGS], default="function"),
            OpenApiParameter("waits", enum=list(WAITS), default="all", description="`slow`: LCP > 2.5 s, INP > 0.2 s."),
            OpenApiParameter(
                "limit", OpenApiTypes.INT, default=DEFAULT_ROWS, description=f"Rows of each window; 1 to {MAX_ROWS}."
            ),
        ],
        responses={200: VitalsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Returns which functions ran until the largest paint, during the longest interaction, and in long frames."""
        question = VitalsTableQuery.read(request.query_params)
        return Response(question.answer(self.resolve_slice()))
