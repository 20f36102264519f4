"""`vitals`: what ran while visitors waited, over all views. `forced-layout`: what forced style and layout."""

from dataclasses import dataclass
from typing import Annotated, Final, Self

from django.http import QueryDict
from rest_framework.request import Request

from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.forced_layout import SOURCES, ForcedRow, ForcedTable
from aggregate.selectors.vitals.hidden_scripts import HiddenRow
from aggregate.selectors.vitals.table import (
    VitalsQuery,
    VitalsTable,
    WindowRow,
    WindowTable,
    check_vitals,
    select_vitals,
)
from dashboard.api.core.answer import Answer, choices, doc
from dashboard.api.core.parameters import FUNC_OVER_PARAM, GROUP_BY, SLICE_PARAMS, VIEW_PARAM, Text, limit_of
from dashboard.api.core.parts import EstimatesAnswer, OriginalAnswer, PlaceAnswer, SliceAnswer, StatisticsAnswer
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import Query
from dashboard.web.cache import answer_vitals
from dashboard.web.project_pages import PageTraits
from profcore.vitals.window_sums import WINDOW_PARTS
from profcore.vitals.windows import WINDOWS

WAITS: Final = Text("waits", "`slow`: LCP > 2.5 s, INP > 0.2 s.", choices=["all", "slow"], default="all")
LIMIT: Final = limit_of(1_000, 20, "Rows of each window; ")  # each of six windows: about 4 MB


class WindowPartAnswer(Answer):
    """One part of time in a window. The parts of a window add up to its length, exactly."""

    part: Annotated[str, choices(WINDOW_PARTS)]
    ms_per_view: float
    share: Annotated[float, doc("Of the window.")]
    estimates: Annotated[EstimatesAnswer | None, doc("Shares are of the window.")]


class WindowRowAnswer(PlaceAnswer):
    """A function or group in a window."""

    category: str | None
    self_ms: Annotated[float, doc("Exact, over the views that were read; weighted where sample rates differ.")]
    hidden_ms: float
    total_ms: Annotated[float | None, doc("Null for groups.")]
    ms_per_view: Annotated[float, doc("Self and hidden time per view that has the window.")]
    share: Annotated[float, doc("Of the window.")]
    estimates: Annotated[EstimatesAnswer | None, doc("Of self and hidden time; shares are of the window.")]

    @classmethod
    def of_row(cls, window: WindowTable, window_row: WindowRow, *, has_totals: bool) -> Self:
        """Returns a row of a window."""
        row = window_row.row
        total = {} if has_totals else {"total_ms": None}
        return cls.of(
            row,
            id=str(row.id),
            original=OriginalAnswer.of_func(row),
            ms_per_view=row.cost_us / 1000 / window.views,
            share=row.cost_us / window.length_us if window.length_us else 0.0,
            estimates=EstimatesAnswer.of_summary(window_row.summary),
            **total,
        )


class WindowAnswer(Answer):
    """One window, over the views that have it."""

    window: Annotated[str, choices(WINDOWS)]
    views: Annotated[int, doc("Views that were read and have it.")]
    frames: Annotated[int | None, doc("Long animation frames; null for other windows.")]
    ms_per_view: Annotated[float, doc("Its mean length.")]
    statistics: StatisticsAnswer
    estimates: Annotated[EstimatesAnswer | None, doc("Of its length: `p75_ms` is what vitals are judged by.")]
    parts: list[WindowPartAnswer]
    function_count: Annotated[int, doc("Rows beyond the limit too.")]
    functions: list[WindowRowAnswer]

    @classmethod
    def of_window(cls, window: WindowTable, *, has_totals: bool) -> Self:
        """Returns a window."""
        parts = enumerate(zip(WINDOW_PARTS, window.parts_us, window.parts, strict=True))
        return cls.of(
            window,
            frames=window.frames if window.window == "long_frames" else None,
            statistics=StatisticsAnswer.of(window.summary),
            estimates=EstimatesAnswer.of_summary(window.length),
            parts=[
                WindowPartAnswer(
                    part, us / 1000 / window.views, window.part_share(at), EstimatesAnswer.of_summary(estimates)
                )
                for at, (part, us, estimates) in parts
            ],
            function_count=window.row_count,
            functions=[WindowRowAnswer.of_row(window, row, has_totals=has_totals) for row in window.rows],
        )


class ForcedRowAnswer(PlaceAnswer):
    """A function or group that forced style or layout."""

    category: str | None
    forced_ms: Annotated[float, doc("With it on top of the stack: exact, over the views that were read.")]
    with_calls_ms: Annotated[float | None, doc("With what its callees forced. Null for groups.")]
    ms_per_view: float
    own_ms: Annotated[float, doc("Its self and hidden time in the same views.")]
    own_share: Annotated[float, doc("The share of its own time that was forced.")]
    source: Annotated[str, choices(SOURCES), doc("`measured` by markers, `attributed` from long animation frames.")]
    measured_ms: Annotated[float, doc("The part of `forced_ms` that markers measured.")]
    estimates: Annotated[EstimatesAnswer | None, doc("Shares are of all forced time.")]

    @classmethod
    def of_row(cls, table: ForcedTable, forced: ForcedRow, *, has_totals: bool) -> Self:
        """Returns a row."""
        row = forced.row
        return cls.of(
            row,
            id=str(row.id),
            original=OriginalAnswer.of_func(row),
            forced_ms=row.self_us / 1000,
            with_calls_ms=row.total_us / 1000 if has_totals else None,
            ms_per_view=table.per_view_ms(row.self_us),
            own_ms=forced.own_us / 1000,
            own_share=forced.own_share,
            source=forced.source,
            measured_ms=forced.measured_us / 1000,
            estimates=EstimatesAnswer.of_summary(forced.summary),
        )


class ForcedTableAnswer(Answer):
    """Forced style and layout over all views that were read. Attributed time is an estimate of whose it is."""

    views: Annotated[int, doc("Views that were read. All of them count.")]
    measured_views: Annotated[int, doc("Views with markers. Of the others it is attributed.")]
    forced_views: Annotated[int, doc("Views that forced any.")]
    ms_per_view: float
    unattributed_ms_per_view: Annotated[float, doc("For which no sample of a function was found.")]
    statistics: StatisticsAnswer
    estimates: Annotated[EstimatesAnswer | None, doc("Of all forced time.")]
    unattributed_estimates: EstimatesAnswer | None
    function_count: Annotated[int, doc("Rows beyond the limit too.")]
    functions: list[ForcedRowAnswer]

    @classmethod
    def of_table(cls, table: ForcedTable, *, has_totals: bool) -> Self:
        """Returns a table."""
        return cls.of(
            table,
            ms_per_view=table.per_view_ms(table.total_us),
            unattributed_ms_per_view=table.per_view_ms(table.unattributed_us),
            statistics=StatisticsAnswer.of(table.summary),
            estimates=EstimatesAnswer.of_summary(table.total),
            unattributed_estimates=EstimatesAnswer.of_summary(table.unattributed),
            function_count=table.row_count,
            functions=[ForcedRowAnswer.of_row(table, row, has_totals=has_totals) for row in table.rows],
        )


class ForcedLayoutAnswer(Answer):
    """Which functions forced style and layout."""

    slice: SliceAnswer
    views: Annotated[int, doc("Views of the slice.")]
    read_views: Annotated[int, doc("Views whose traces were read: all, or a uniform sample.")]
    expired_views: Annotated[int, doc("Views whose raw traces have expired.")]
    too_large_views: Annotated[int, doc("Views with more traces or bytes than are read of one.")]
    forced_layout: ForcedTableAnswer

    @classmethod
    def of_vitals(cls, slice_: Slice, table: VitalsTable, *, has_totals: bool, **more: object) -> Self:
        """Returns what was read of a slice, with values of subclasses."""
        return cls(
            slice=SliceAnswer.of(slice_),
            views=table.population,
            read_views=table.read,
            expired_views=table.gone,
            too_large_views=table.too_large,
            forced_layout=ForcedTableAnswer.of_table(table.forced_layout, has_totals=has_totals),
            **more,
        )


class HiddenScriptAnswer(Answer):
    """An origin whose scripts browsers hide, for lack of CORS: their time in long frames, over all views."""

    origin: str
    party: Annotated[str | None, doc("The known third party that serves it.")]
    views: Annotated[int, doc("Views with such a script in a long frame.")]
    least_ms_per_view: Annotated[float, doc("Time without a stack in its scripts.")]
    most_ms_per_view: Annotated[float, doc("All time of its scripts, without what was seen in it.")]
    estimates: Annotated[EstimatesAnswer | None, doc("Of `most_ms_per_view`; shares are of all origins.")]

    @classmethod
    def of_row(cls, row: HiddenRow) -> Self:
        """Returns an origin."""
        return cls(
            origin=row.origin,
            party=row.party,
            views=row.views,
            least_ms_per_view=row.least_ms,
            most_ms_per_view=row.most_ms,
            estimates=EstimatesAnswer.of_summary(row.summary),
        )


class VitalsAnswer(ForcedLayoutAnswer):
    """What ran in the windows of vitals."""

    hidden_scripts: list[HiddenScriptAnswer]

    slow_views: Annotated[int, doc("Of those that were read: views of which only slow moments were kept.")]
    windows: list[WindowAnswer]


@dataclass(frozen=True, slots=True)
class VitalsTableQuery(Query):
    """`vitals`: what ran in the windows of the slice's views."""

    kind = "vitals"
    params = (GROUP_BY, WAITS, LIMIT)
    table: VitalsQuery

    @classmethod
    def read(cls, params: QueryDict) -> Self:
        group_by, limit, waits = GROUP_BY.read(params), LIMIT.read(params), WAITS.read(params)
        return cls(VitalsQuery(group_by=group_by, limit=limit, only_slow=waits == "slow"))

    @property
    def passes(self) -> tuple[bool, int]:
        return False, 1

    def answer(self, slice_: Slice, reading: Reading | None = None) -> VitalsAnswer:
        at_once = reading is None
        table = answer_vitals(slice_, self.table) if at_once else select_vitals(slice_, self.table, reading=reading)
        has_totals = self.table.group_by == "function"
        windows = [WindowAnswer.of_window(window, has_totals=has_totals) for window in table.windows]
        hidden = [HiddenScriptAnswer.of_row(row) for row in table.hidden_scripts]
        more = {"slow_views": table.only_slow, "hidden_scripts": hidden, "windows": windows}
        return VitalsAnswer.of_vitals(slice_, table, has_totals=has_totals, **more)

    def check(self, slice_: Slice) -> None:
        check_vitals(slice_)


class VitalsView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, VIEW_PARAM, FUNC_OVER_PARAM, *VitalsTableQuery.params)
    job_kind = VitalsTableQuery.kind

    def get(self, request: Request, slug: str) -> VitalsAnswer:
        """Returns which functions ran until the largest paint, during the longest interaction, and in long frames."""
        return VitalsTableQuery.read(request.query_params).answer(self.resolve_slice())


class ForcedLayoutView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (*SLICE_PARAMS, VIEW_PARAM, FUNC_OVER_PARAM, GROUP_BY, LIMIT)
    job_kind = VitalsTableQuery.kind

    def get(self, request: Request, slug: str) -> ForcedLayoutAnswer:
        """Returns which functions forced style and layout, and how much per view. A job of `vitals` has it too."""
        params = request.query_params
        group_by, limit, slice_ = GROUP_BY.read(params), LIMIT.read(params), self.resolve_slice()
        table = answer_vitals(slice_, VitalsQuery(group_by=group_by, limit=limit))
        return ForcedLayoutAnswer.of_vitals(slice_, table, has_totals=group_by == "function")
