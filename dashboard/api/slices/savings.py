"""`savings`: what would fixing a function, a package or a party save?"""

from typing import Annotated, Final, Self

from rest_framework.request import Request

from aggregate.selectors.vitals.savings import JUDGED, Saving
from dashboard.api.core.answer import Answer, Interval, choices, doc
from dashboard.api.core.parameters import CATEGORY, GROUP_BY, SEARCH, SLICE_PARAMS, limit_of
from dashboard.api.core.parts import OriginalAnswer, PlaceAnswer, SliceAnswer, StatisticsAnswer
from dashboard.api.core.views import ProjectView
from dashboard.web.cache import answer_savings
from dashboard.web.params import read_narrowing
from dashboard.web.project_pages import PageTraits

LIMIT: Final = limit_of(100, 20)  # of 500 that are ranked


class WindowSavingAnswer(Answer):
    """Own time in a window of vitals: the vital would come sooner by at most so much."""

    window: Annotated[str, choices(JUDGED)]
    ms_per_view: Annotated[float, doc("Of the views that have the window.")]
    ms_per_view_ci95: Interval
    share: Annotated[float, doc("Of the window.")]


class SavingAnswer(PlaceAnswer):
    """Bounds of what a view takes less without one function or group. No promise."""

    category: str | None
    own_ms_per_view: Annotated[float | None, doc("Its self and hidden time: at least.")]
    own_ms_per_view_ci95: Interval
    with_calls_ms_per_view: Annotated[float | None, doc("With all it called: at most. Null if sample rates differ.")]
    sure_ms_per_view: Annotated[float, doc("The lower end of the interval: the order of the rows.")]
    views_share: Annotated[float | None, doc("The share of views that ran it.")]
    forced_ms_per_view: Annotated[float | None, doc("Forced style and layout, in the views whose windows were read.")]
    ms_where_it_ran: Annotated[float | None, doc("Its own time in a view that ran it.")]
    windows: list[WindowSavingAnswer]

    @classmethod
    def of_saving(cls, saving: Saving) -> Self:
        """Returns what a row would save."""
        share = saving.summary.ran.value if saving.summary else None
        return cls.of(
            saving.row,
            id=str(saving.row.id),
            original=OriginalAnswer.of_func(saving.row),
            own_ms_per_view=saving.own_ms,
            own_ms_per_view_ci95=saving.own and saving.own.ci95,
            with_calls_ms_per_view=saving.most_ms,
            sure_ms_per_view=saving.sure_ms,
            views_share=share,
            forced_ms_per_view=saving.forced_ms,
            ms_where_it_ran=saving.own_ms / share if saving.own_ms is not None and share else None,
            windows=[
                WindowSavingAnswer(w.window, w.ms, w.summary.ms_per_view.ci95 if w.summary else None, w.share)
                for w in saving.windows.values()
            ],
        )


class SavingsAnswer(Answer):
    """What to fix first."""

    slice: SliceAnswer
    views: int
    statistics: StatisticsAnswer | None
    window_views: Annotated[int | None, doc("Views whose windows were read.")]
    savings: list[SavingAnswer]


class SavingsView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, CATEGORY, SEARCH, GROUP_BY, LIMIT)

    def get(self, request: Request, slug: str) -> SavingsAnswer:
        """Ranks functions or groups by what views would save without them, the surest and largest first."""
        params = request.query_params
        group_by, limit, narrowing = GROUP_BY.read(params), LIMIT.read(params), read_narrowing(params)
        slice_ = self.resolve_slice()
        savings = answer_savings(slice_, group_by=group_by, limit=limit, narrowing=narrowing)
        table = savings.table
        return SavingsAnswer(
            slice=SliceAnswer.of(slice_),
            views=table.views,
            statistics=StatisticsAnswer.of(table.summary) if table.summary else None,
            window_views=savings.vitals.read if savings.vitals else None,
            savings=[SavingAnswer.of_saving(saving) for saving in savings.rows],
        )
