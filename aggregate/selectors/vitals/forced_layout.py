"""Forced style and layout over views: by function, package or party, with intervals.

Sums are exact over the views that were read, or weighted where their rates differ. All views count: one that forced
nothing has 0. A sample of these views gives the intervals.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from django.conf import settings

from aggregate.selectors.code.symbols import Pair
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.samples import ViewSampler, sum_sample
from aggregate.selectors.vitals.rows import NOTHING, FuncUs, RateSums, VitalsRows, describe_us, find_factors
from profcore.stats.summaries import FuncSummary, KnownSums, Summary, summarise
from profcore.trace.weights import TimeParts
from profcore.vitals.forced_layout import ForcedLayout
from profcore.vitals.func_times import FuncTimes

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


class ForcedUs(NamedTuple):
    """What functions forced, what of it markers measured, and as self time what they took themselves."""

    forced: Mapping[Pair, FuncUs]
    measured: Mapping[Pair, FuncUs]
    own: Mapping[Pair, FuncUs]

    def pairs(self) -> AbstractSet[Pair]:
        """Returns the funcs that have a row: what never forced anything may be in one group with what did."""
        return self.own.keys() | self.forced.keys() if self.forced else frozenset()


@dataclass(slots=True, kw_only=True)
class ForcedSums:
    """The sums over views, by release and func index, and samples of these views."""

    views: Counter[float] = field(default_factory=Counter)  # by their rate
    measured_views: int = 0
    forced_views: int = 0
    values_us: RateSums = field(default_factory=RateSums)  # by their place: `TOTAL`, `UNATTRIBUTED`
    forced_us: RateSums = field(default_factory=RateSums)
    measured_us: RateSums = field(default_factory=RateSums)
    own_us: RateSums = field(default_factory=RateSums)  # self and hidden in one
    funcs: ViewSampler = field(
        default_factory=lambda: ViewSampler(
            settings.TABLE_STATISTICS_MAX_VIEWS, most_funcs=settings.VITALS_SAMPLE_MAX_FUNCS
        )
    )
    whole: ViewSampler = field(default_factory=lambda: ViewSampler(settings.TABLE_STATISTICS_MAX_VIEWS))

    def add(self, view: SliceView, forced: ForcedLayout) -> None:
        """Adds a view."""
        total_us, rate = forced.total_us, view.sample_rate
        self.views[rate] += 1
        self.measured_views += forced.is_measured
        self.forced_views += total_us > 0
        values = FuncTimes.of_values((total_us, forced.unattributed_us))
        self.values_us.add(rate, values)
        self.forced_us.add(rate, forced.funcs, view.release)
        if forced.is_measured:
            self.measured_us.add(rate, forced.funcs, view.release)
        self.own_us.add(rate, forced.own.own_time(), view.release)
        time = TimeParts(js_us=total_us)  # shares are those of all forced time
        self.funcs.add(view, time, forced.funcs)
        self.whole.add(view, time, values)

    def sum(self) -> ForcedUs:
        """Returns the sums of functions over the views added so far."""
        factors = find_factors(self.views)
        return ForcedUs(self.forced_us.sum(factors), self.measured_us.sum(factors), self.own_us.sum(factors))

    def make_table(self, sums: ForcedUs, rows: VitalsRows, id_of: Sequence[int], limit: int) -> ForcedTable:
        """Returns the table of the views added so far. `rows` has all pairs of `sums`."""
        values_us = self.values_us.sum(find_factors(self.views))
        total_us, unattributed_us = (values_us.get(("", at), NOTHING).self_us for at in (TOTAL, UNATTRIBUTED))
        forced, measured, own = (rows.add_up(column) for column in (sums if sums.pairs() else ({}, {}, {})))
        forcing = [row_id for row_id, us in forced.items() if us.self_us]
        first = sorted(forcing, key=lambda row_id: (-forced[row_id].self_us, -forced[row_id].total_us, str(row_id)))
        first = first[:limit]
        numbers = {row_id: number for number, row_id in enumerate(first)}
        known = KnownSums({numbers[row_id]: forced[row_id].self_us for row_id in first}, total_us)
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
            rows=[
                ForcedRow(
                    row=describe_us(rows, row_id, forced[row_id]),
                    own_us=own.get(row_id, NOTHING).self_us,
                    measured_us=measured.get(row_id, NOTHING).self_us,
                    summary=summaries.get(number),
                )
                for row_id, number in numbers.items()
            ],
            row_count=len(forcing),
        )
