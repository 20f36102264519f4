"""`savings`: what would fixing a function, a package or a party save?"""

from typing import Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.slice.slices import SLICE_FIELDS, Slice
from aggregate.selectors.vitals.savings import JUDGED, Saving, WindowSaving
from dashboard.api.core.encoding import SliceShape, encode_slice
from dashboard.api.core.parameters import ERRORS, SLICE_PARAMS, _many
from dashboard.api.core.statistics import StatisticsShape, encode_interval, encode_statistics
from dashboard.api.core.views import ProjectView
from dashboard.web.cache import Savings, answer_savings
from dashboard.web.params import read_choice, read_count, read_narrowing
from dashboard.web.schemas import Json, Shape, define_shape, interval_field
from profcore.code.categories import FUNC_CATEGORIES

DEFAULT_ROWS: Final = 20
MAX_ROWS: Final = 100  # of 500 that are ranked


class WindowSavingShape(Shape):
    """Own time in a window of vitals: the vital would come sooner by at most so much."""

    window = serializers.ChoiceField(JUDGED)
    ms_per_view = serializers.FloatField(help_text="Of the views that have the window.")
    ms_per_view_ci95 = interval_field()
    share = serializers.FloatField(help_text="Of the window.")


SavingShape = define_shape(
    "SavingShape",
    "Bounds of what a view takes less without one function or group. No promise.",
    {
        "id": serializers.CharField(),
        "name": serializers.CharField(),
        "label": serializers.CharField(),
        "uri": serializers.CharField(allow_null=True),
        "category": serializers.CharField(allow_null=True),
        "own_ms_per_view": serializers.FloatField(allow_null=True, help_text="Its self and hidden time: at least."),
        "own_ms_per_view_ci95": interval_field(),
        "with_calls_ms_per_view": serializers.FloatField(
            allow_null=True, help_text="With all it called: at most. Null if sample rates differ."
        ),
        "sure_ms_per_view": serializers.FloatField(help_text="The lower end of the interval: the order of the rows."),
        "views_share": serializers.FloatField(allow_null=True, help_text="The share of views that ran it."),
        "ms_where_it_ran": serializers.FloatField(allow_null=True, help_text="Its own time in a view that ran it."),
        "windows": WindowSavingShape(many=True),
    },
)

SavingsShape = define_shape(
    "SavingsShape",
    "What to fix first.",
    {
        "slice": SliceShape(),
        "views": serializers.IntegerField(),
        "statistics": StatisticsShape(allow_null=True),
        "window_views": serializers.IntegerField(allow_null=True, help_text="Views whose windows were read."),
        "savings": SavingShape(many=True),
    },
)


class SavingsView(ProjectView):
    known_params = (*SLICE_FIELDS, "category", "q", "group_by", "limit")

    @extend_schema(
        operation_id="savings",
        parameters=[
            *SLICE_PARAMS,
            _many("category", "Only functions of this category.", enum=list(FUNC_CATEGORIES)),
            OpenApiParameter("q", description="Only functions with this text in name, label or place."),
            OpenApiParameter("group_by", enum=["function", *GROUPINGS], default="function"),
            OpenApiParameter("limit", OpenApiTypes.INT, default=DEFAULT_ROWS, description=f"1 to {MAX_ROWS}."),
        ],
        responses={200: SavingsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Ranks functions or groups by what views would save without them, the surest and largest first."""
        params = request.query_params
        group_by = read_choice(params, "group_by", ("function", *GROUPINGS), "function")
        limit = read_count(params, "limit", default=DEFAULT_ROWS, high=MAX_ROWS)
        narrowing = read_narrowing(params)
        slice_ = self.resolve_slice()
        return Response(
            encode_savings(slice_, answer_savings(slice_, group_by=group_by, limit=limit, narrowing=narrowing))
        )


def encode_savings(slice_: Slice, found: Savings) -> Json:
    return {
        "slice": encode_slice(slice_),
        "views": found.table.views,
        "statistics": encode_statistics(found.table.summary) if found.table.summary else None,
        "window_views": found.vitals.read if found.vitals else None,
        "savings": [_encode_saving(each) for each in found.rows],
    }


def _encode_saving(each: Saving) -> Json:
    row, ran = each.row, each.found.ran.value if each.found else None
    return {
        "id": str(row.id),
        "name": row.name,
        "label": row.label,
        "uri": row.uri,
        "category": row.category,
        "own_ms_per_view": each.own_ms,
        "own_ms_per_view_ci95": encode_interval(each.own),
        "with_calls_ms_per_view": each.most_ms,
        "sure_ms_per_view": each.sure_ms,
        "views_share": ran,
        "ms_where_it_ran": each.own_ms / ran if each.own_ms is not None and ran else None,
        "windows": [_encode_window(window) for window in each.windows.values()],
    }


def _encode_window(found: WindowSaving) -> Json:
    return {
        "window": found.window,
        "ms_per_view": found.ms,
        "ms_per_view_ci95": encode_interval(found.found.ms_per_view) if found.found else None,
        "share": found.share,
    }
