"""`markers`: what the browser itself was doing, where pages are told."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.slices import SLICE_FIELDS, Slice
from aggregate.selectors.statistics import MarkerTable, select_markers
from dashboard.api import ERRORS, SLICE_PARAMS, ProjectView
from dashboard.estimates import EstimatesShape, StatisticsShape, encode_estimates, encode_statistics
from dashboard.serializers import SliceShape, encode_slice
from dashboard.shapes import Json, Shape
from profcore.weights import MARKERS


class MarkerShape(Shape):
    """The samples that carried one marker."""

    marker = serializers.ChoiceField(MARKERS)
    ms = serializers.FloatField(help_text="Exact, over all views.")
    estimates = EstimatesShape(
        allow_null=True, help_text="Over views that came with markers; shares are of their marked time."
    )


class MarkersShape(Shape):
    """Time by marker. Browsers give markers to cross-origin isolated pages alone: absence says nothing."""

    slice = SliceShape()
    statistics = StatisticsShape(help_text="Of views that came with markers; `population` is those looked at.")
    markers = MarkerShape(many=True)


class MarkersView(ProjectView):
    known_params = SLICE_FIELDS

    @extend_schema(operation_id="markers", parameters=SLICE_PARAMS, responses={200: MarkersShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """What the samples of a slice carried: script, gc, style, layout, paint or other."""
        slice_ = self.resolve_slice()
        return Response(encode_markers(slice_, select_markers(slice_)))


def encode_markers(slice_: Slice, table: MarkerTable) -> Json:
    markers = []
    for marker, us in sorted(table.us.items(), key=lambda row: -row[1]):
        found = table.estimate(marker)
        estimates = encode_estimates(found) if found else None
        markers.append({"marker": marker, "ms": us / 1000, "estimates": estimates})
    return {"slice": encode_slice(slice_), "statistics": encode_statistics(table.summary), "markers": markers}
