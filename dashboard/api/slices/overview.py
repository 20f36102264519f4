"""`overview`: a project by release, page and day, from the roll-up if possible."""

from datetime import date
from typing import Annotated, Final

from rest_framework.request import Request

from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.overview import OVERVIEW_DIMENSIONS, OverviewRow, select_overview
from dashboard.api.core.answer import Answer, choices, doc
from dashboard.api.core.parameters import SLICE_PARAMS, Parameter, limit_of
from dashboard.api.core.parts import (
    ArrivalsAnswer,
    SliceAnswer,
    TimeAnswer,
    TruncatedShare,
    TruncatedViews,
    share_of,
)
from dashboard.api.core.views import ProjectView
from dashboard.web.params import read_choices
from dashboard.web.project_pages import PageTraits

LIMIT: Final = limit_of(10_000)  # 40 pages × 6 releases × 30 days are 7,200 rows: about 4 MB
BY: Final = Parameter(
    "by",
    "A dimension to sum by; repeatable, in this order. Default: release.",
    choices=OVERVIEW_DIMENSIONS,
    is_many=True,
)


TimePerView = Annotated[TimeAnswer | None, doc("Over all its page views; null if there are none.")]


class OverviewSumsAnswer(Answer):
    """Exact sums of page views."""

    views: int
    truncated_views: TruncatedViews
    truncated_share: TruncatedShare
    traces: int
    samples: int
    time_ms: TimeAnswer
    time_ms_per_view: TimePerView


class OverviewRowAnswer(Answer):
    """The sums of one combination of the requested dimensions. A dimension that was not requested is null."""

    release: str | None
    page: str | None
    day: Annotated[date | None, doc("Of UTC.")]
    views: int
    truncated_views: TruncatedViews
    truncated_share: TruncatedShare
    traces: int
    samples: int
    time_ms: TimeAnswer
    time_ms_per_view: TimePerView


class OverviewAnswer(Answer):
    """A slice's sums by dimension, and in total."""

    slice: SliceAnswer
    arrivals: ArrivalsAnswer
    source: Annotated[str, doc("Where the sums come from: rollup or cells.")]
    by: list[Annotated[str, choices(OVERVIEW_DIMENSIONS)]]
    whole: OverviewSumsAnswer
    row_count: Annotated[int, doc("All rows of the slice, also those beyond the limit.")]
    rows: list[OverviewRowAnswer]


class OverviewView(ProjectView):
    traits = PageTraits(on_replica=True)
    known_params = (*SLICE_PARAMS, BY, LIMIT)

    def get(self, request: Request, slug: str) -> OverviewAnswer:
        """Returns views, traces and the parts of time by any combination of release, page and day."""
        by = read_choices(request.query_params, "by", OVERVIEW_DIMENSIONS) or ["release"]
        limit = LIMIT.read(request.query_params)
        slice_ = self.resolve_slice()
        overview = select_overview(slice_, by, limit=limit)
        return OverviewAnswer.of(
            overview,
            slice=SliceAnswer.of(slice_),
            arrivals=ArrivalsAnswer.of(select_arrivals(slice_)),
            by=by,
            whole=OverviewSumsAnswer.of(overview.whole, **sums_of(overview.whole)),
            rows=[OverviewRowAnswer.of(row, **sums_of(row)) for row in overview.rows],
        )


def sums_of(row: OverviewRow) -> dict[str, object]:
    """Returns the sums of a row that are not its attributes."""
    time = TimeAnswer.of(row.time)
    per_view = TimeAnswer(*(getattr(time, name) / row.views for name in time.__struct_fields__)) if row.views else None
    return {
        "truncated_share": share_of(row.truncated_views, row.views),
        "samples": row.time.samples,
        "time_ms": time,
        "time_ms_per_view": per_view,
    }
