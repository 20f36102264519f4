"""`markers`: the browser's own work, for pages that get markers."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.slice.slices import SLICE_FIELDS, Slice
from aggregate.selectors.statistics.comparisons import MarkerTable, select_markers
from dashboard.api.core.encoding import SliceShape, encode_slice
from dashboard.api.core.parameters import ERRORS, SLICE_PARAMS
from dashboard.api.core.statistics import EstimatesShape, StatisticsShape, encode_estimates, encode_statistics
from dashboard.api.core.views import ProjectView
from dashboard.web.schemas import Json, Shape
from profcore.trace.weights import MARKERS


class MarkerShape(Shape):
    """The samples that carried one marker."""

    marker = serializers.ChoiceField(MARKERS)
    ms = serializers.FloatField(help_text="Exact, over all views.")
    estimates = EstimatesShape(allow_null=True, help_text="Over views with markers; shares are of their marked time.")


class MarkersShape(Shape):
    """Time by marker. Only cross-origin isolated pages get all markers, so a missing marker means nothing."""

    slice = SliceShape()
    statistics = StatisticsShape(help_text="Of views with markers; `population` counts the views read.")
    markers = MarkerShape(many=True)


class MarkersView(ProjectView):
    known_params = SLICE_FIELDS

    @extend_schema(operation_id="markers", parameters=SLICE_PARAMS, responses={200: MarkersShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Returns the time of a slice's samples by marker: script, gc, style, layout, paint or other."""
        slice_ = self.resolve_slice()
        return Response(encode_markers(slice_, select_markers(slice_)))


def encode_markers(slice_: Slice, table: MarkerTable) -> Json:
    markers = []
    for marker, us in sorted(table.us.items(), key=lambda row: -row[1]):
        found = table.estimate(marker)
        estimates = encode_estimates(found) if found else None
        markers.append({"marker": marker, "ms": us / 1000, "estimates": estimates})
    return {"slice": encode_slice(slice_), "statistics": encode_statistics(table.summary), "markers": markers}
