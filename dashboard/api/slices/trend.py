"""`trend`: time per page view over time, by release, each point with its interval."""

from typing import Annotated, Final

from rest_framework.request import Request

from aggregate.selectors.project.trends import (
    DEFAULT_LINES,
    TREND_LINES,
    TREND_MEASURES,
    TrendPoint,
    TrendSums,
    estimate_trend,
    sum_trend,
)
from dashboard.api.core.answer import Answer, Conditional, Instant, Interval, doc
from dashboard.api.core.parameters import SLICE_PARAMS, Text, limit_of
from dashboard.api.core.parts import EffectiveViews, SliceAnswer
from dashboard.api.core.views import ProjectView
from dashboard.web.project_pages import PageTraits

LIMIT: Final = limit_of(50, DEFAULT_LINES, "Number of releases, newest first; ")
MEASURE: Final = Text("measure", "`self` is JS time.", choices=TREND_MEASURES, default="self")
BY: Final = Text("by", choices=TREND_LINES, default="release")


class TrendPointAnswer(Answer):
    """One bucket: the mean of its page views. Null if there is no data."""

    at: Annotated[Instant, doc("The start of the bucket, UTC.")]
    views: int
    sampled_views: Annotated[int, doc("Views behind the interval: all, or a uniform sample.")]
    effective_views: EffectiveViews
    ms_per_view: Annotated[float, doc("Of all views; if sample rates differ, of the weighted sample.")]
    ms_per_view_ci95: Interval
    is_too_few: bool
    is_weighted: bool
    is_complete: Annotated[bool, doc("False if the times of some views have expired; then there is no interval.")]


class TrendLineAnswer(Answer):
    """One release over time; null means all releases. Buckets without views have no point."""

    release: str | None
    points: list[TrendPointAnswer]


class TrendAnswer(Answer):
    """Time per page view, bucket by bucket."""

    slice: SliceAnswer
    measure: Annotated[str, doc("self (JS), hidden, or self+hidden.")]
    by: Annotated[str, doc("release or none.")]
    bucket: Annotated[str, doc("hour, day or week.")]
    line_count: Annotated[int, doc("Those beyond the limit too.")]
    lines: list[TrendLineAnswer]


class TrendView(ProjectView):
    traits = PageTraits(on_replica=True, for_guests="fetch")
    known_params = (*SLICE_PARAMS, MEASURE, BY, LIMIT)

    def get(self, request: Request, slug: str) -> Conditional[TrendAnswer]:
        """Returns JS time, hidden time or both per page view over time, with 95 % intervals over page views."""
        params = request.query_params
        measure, by, limit = MEASURE.read(params), BY.read(params), LIMIT.read(params)
        sums = sum_trend(self.resolve_slice(), by=by, limit=limit)
        # Every fold, refold and erasure changes a sum.
        key = (
            self.project.pk,
            sums.slice_.query(),
            measure,
            by,
            sums.bucket,
            sums.line_count,
            [*sums.points.items()],
        )
        return Conditional(key, lambda: answer_trend(sums, measure, by))


def answer_trend(sums: TrendSums, measure: str, by: str) -> TrendAnswer:
    """Returns the lines of a trend."""
    trend = estimate_trend(sums, measure=measure)
    return TrendAnswer.of(
        trend,
        slice=SliceAnswer.of(sums.slice_),
        measure=measure,
        by=by,
        lines=[TrendLineAnswer(line.release, [_answer_point(point) for point in line.points]) for line in trend.lines],
    )


def _answer_point(point: TrendPoint) -> TrendPointAnswer:
    mean, ci95 = point.mean.ms_per_view
    return TrendPointAnswer.of(point.mean, at=point.at, ms_per_view=mean, ms_per_view_ci95=ci95)
