"""`markers`: the browser's own work, for pages that get markers."""

from typing import Annotated

from rest_framework.request import Request

from aggregate.selectors.statistics.comparisons import select_markers
from dashboard.api.core.answer import Answer, choices, doc
from dashboard.api.core.parameters import SLICE_PARAMS
from dashboard.api.core.parts import EstimatesAnswer, SliceAnswer, StatisticsAnswer
from dashboard.api.core.views import ProjectView
from profcore.trace.weights import MARKERS


class MarkerAnswer(Answer):
    """The samples that carried one marker."""

    marker: Annotated[str, choices(MARKERS)]
    ms: Annotated[float, doc("Exact, over all views.")]
    estimates: Annotated[EstimatesAnswer | None, doc("Over views with markers; shares are of their marked time.")]


class MarkersAnswer(Answer):
    """Time by marker. Only cross-origin isolated pages get all markers, so a missing marker means nothing."""

    slice: SliceAnswer
    statistics: Annotated[StatisticsAnswer, doc("Of views with markers; `population` counts the views read.")]
    markers: list[MarkerAnswer]


class MarkersView(ProjectView):
    known_params = SLICE_PARAMS

    def get(self, request: Request, slug: str) -> MarkersAnswer:
        """Returns the time of a slice's samples by marker: script, gc, style, layout, paint or other."""
        slice_ = self.resolve_slice()
        table = select_markers(slice_)
        return MarkersAnswer(
            slice=SliceAnswer.of(slice_),
            statistics=StatisticsAnswer.of(table.summary),
            markers=[
                MarkerAnswer(marker, us / 1000, EstimatesAnswer.of_summary(table.estimate(marker)))
                for marker, us in sorted(table.us.items(), key=lambda row: -row[1])
            ],
        )
