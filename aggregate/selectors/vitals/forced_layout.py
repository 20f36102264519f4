"""Forced style and layout over views: by function, package or party, with intervals.

Sums are exact over the views that were read, or weighted where their rates differ. All views count: one that forced
nothing has 0. A sample of these views gives the intervals.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from django.conf import settings
from msgspec import structs

from aggregate.selectors.code.symbols import Pair, RowId
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.samples import ViewSampler, sum_sample
from aggregate.selectors.vitals.rows import RateSums, VitalsRows, contribution_of_values, find_factors
from profcore.stats.summaries import FuncSummary, KnownSums, Summary, summarise
from profcore.sums.fold import contribution_of
from profcore.trace.weights import TimeParts
from profcore.vitals.forced_layout import ForcedLayout

US_PER_MS: Final = 1_000
TOTAL, UNATTRIBUTED = 0, 1  # places of a view's values
Source = Literal["measured", "attributed", "both"]
SOURCES: Final[tuple[Source, ...]] = ("measured", "attributed", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForcedRow:
    """A function or group that forced style or layout.

    `row` has its exact sums: `self_us` is what it forced itself, `total_us` with what it called (0 for groups).
    `own_us` is its own time, self and hidden, in the same views. `measured_us` is the part of `self_us` that markers
    measured. `summary` has the estimates of `self_us` per view (None: too few views).
    """

    row: FunctionRow
    own_us: int
    measured_us: int
    summary: FuncSummary | None

    @property
    def own_share(self) -> float:
        """The share of its own time that was forced. More is possible by attribution, and is cut."""
        return min(self.row.self_us / self.own_us, 1.0) if self.own_us else 0.0

    @property
    def source(self) -> Source:
        """How it is known."""
        if not self.measured_us:
            return "attributed"
        return "measured" if self.measured_us == self.row.self_us else "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForcedTable:
    """Forced style and layout of some views, of which `measured_views` have markers and `forced_views` forced any.

    `total` and `unattributed` have the estimates per view (None: too few views, or nothing). `row_count` includes rows
    beyond the limit.
    """

    views: int
    measured_views: int
    forced_views: int
    total_us: int
    unattributed_us: int
    summary: Summary
    total: FuncSummary | None
    unattributed: FuncSummary | None
    rows: Sequence[ForcedRow]
    row_count: int

    def per_view_ms(self, us: int) -> float:
        """Returns a sum as a mean over all views, ms."""
        return us / US_PER_MS / self.views if self.views else 0.0


@dataclass(slots=True, kw_only=True)
class ForcedSums:
    """The sums over views, by release and func index, and samples of these views."""

    views: Counter[float] = field(default_factory=Counter)  # by their rate
    measured_views: int = 0
    forced_views: int = 0
    values_us: RateSums[int] = field(default_factory=RateSums)  # by their place: `TOTAL`, `UNATTRIBUTED`
    self_us: RateSums[Pair] = field(default_factory=RateSums)
    measured_us: RateSums[Pair] = field(default_factory=RateSums)
    callers_us: RateSums[Pair] = field(default_factory=RateSums)  # with what they called
    own_us: RateSums[Pair] = field(default_factory=RateSums)
    funcs: ViewSampler = field(
        default_factory=lambda: ViewSampler(
            settings.TABLE_STATISTICS_MAX_VIEWS, most_funcs=settings.VITALS_SAMPLE_MAX_FUNCS
        )
    )
    whole: ViewSampler = field(default_factory=lambda: ViewSampler(settings.TABLE_STATISTICS_MAX_VIEWS))

    def add(self, view: SliceView, forced: ForcedLayout, func_count: int) -> None:
        """Adds a view."""
        total_us, rate = forced.total_us, view.sample_rate
        self.views[rate] += 1
        self.measured_views += forced.is_measured
        self.forced_views += total_us > 0
        self.values_us.add(rate, TOTAL, total_us)
        self.values_us.add(rate, UNATTRIBUTED, forced.unattributed_us)
        columns = [
            (self.self_us, forced.sums.self_us),
            (self.callers_us, forced.sums.total_us),
            (self.own_us, forced.own.self_us),
            (self.own_us, forced.own.hidden_us),
        ]
        if forced.is_measured:
            columns.append((self.measured_us, forced.sums.self_us))
        for into, column in columns:
            for index, us in column.items():
                if us:
                    into.add(rate, (view.release, index), us)
        time = TimeParts(js_us=total_us)  # shares are those of all forced time
        self.funcs.add(view, time, contribution_of(forced.sums, range(func_count)))
        self.whole.add(view, time, contribution_of_values((total_us, forced.unattributed_us)))

    def pairs(self) -> Iterable[Pair]:
        """Returns the funcs that have a row: what never forced anything may be in one group with what did."""
        return self.own_us.keys() | self.callers_us.keys() if self.self_us.keys() else ()

    def make_table(self, rows: VitalsRows, id_of: Sequence[int], limit: int) -> ForcedTable:
        """Returns the table of the views added so far. `rows` has all `pairs`."""
        columns: dict[RowId, list[int]] = {}
        factors = find_factors(self.views)
        sums = [column.sum(factors) for column in (self.self_us, self.measured_us, self.callers_us, self.own_us)]
        total_us, unattributed_us = map(self.values_us.sum(factors).__getitem__, (TOTAL, UNATTRIBUTED))
        for at, column in enumerate(sums if sums[0] else ()):
            for pair, us in column.items():
                columns.setdefault(rows.row_of_pair[pair], [0, 0, 0, 0])[at] += us
        forcing = [row_id for row_id, (self_us, *_) in columns.items() if self_us]
        first = sorted(forcing, key=lambda row_id: (-columns[row_id][0], -columns[row_id][2], str(row_id)))[:limit]
        numbers = {row_id: number for number, row_id in enumerate(first)}
        known = KnownSums({numbers[row_id]: columns[row_id][0] for row_id in first}, total_us)
        of_funcs = summarise(sum_sample(self.funcs.sample(id_of), rows.row_of, numbers), known=known)
        summaries = {summary.func_id: summary for summary in of_funcs.functions}
        values = {TOTAL: total_us, UNATTRIBUTED: unattributed_us}
        whole = summarise(self.whole.sample(), known=KnownSums({at: us for at, us in values.items() if us}, total_us))
        estimates = {summary.func_id: summary for summary in whole.functions}
        return ForcedTable(
            views=self.views.total(),
            measured_views=self.measured_views,
            forced_views=self.forced_views,
            total_us=total_us,
            unattributed_us=unattributed_us,
            summary=whole,
            total=estimates.get(TOTAL),
            unattributed=estimates.get(UNATTRIBUTED),
            rows=[_make_row(rows, row_id, columns[row_id], summaries.get(numbers[row_id])) for row_id in first],
            row_count=len(forcing),
        )


def _make_row(rows: VitalsRows, row_id: RowId, column: Sequence[int], summary: FuncSummary | None) -> ForcedRow:
    self_us, measured_us, callers_us, own_us = column
    is_function = rows.group_by == "function"  # the total of a group is not the sum of its functions'
    row = structs.replace(rows.describe(row_id), self_us=self_us, total_us=callers_us if is_function else 0)
    return ForcedRow(row=row, own_us=own_us, measured_us=measured_us, summary=summary)
