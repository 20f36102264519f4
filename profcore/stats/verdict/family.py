"""The functions of all pages as one family of questions: which could matter, and how surely each one changed.

A whole page hides its functions: the times of its views differ much more than those of one function. So each function
that could matter is tested by itself, on each page and over all pages, beside the pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import structs

from profcore.stats.comparison import Difference, describe_changes
from profcore.stats.distributions import control_false_discoveries
from profcore.stats.estimates import clip_weights
from profcore.stats.joining import SampleViews, has_enough
from profcore.stats.ranks import Changes, RankSums, find_changes, rank_sides, weigh_funcs
from profcore.stats.standardised import Side, make_side, standardise
from profcore.stats.strata import find_strata
from profcore.stats.summaries import US_PER_MS
from profcore.stats.verdict.blocks import BlockRows
from profcore.stats.views import FloatColumn, IntColumn, Measure, ViewSample, align, sum_by

# What is worth telling of a page: this much per view, and this share of its script and hidden time. A function that has
# less on both sides together cannot have grown by as much, and is not asked about.
LEAST_MS: Final = 2.0
LEAST_SHARE: Final = 0.005
# Of the family's weight. Pages are few, and a change of one function rarely moves a whole page (docs/statistics.md).
PAGES_WEIGHT: Final = 0.3
# A function that is found among all is found on each page that by itself gives this.
PAGE_P: Final = 0.05
# With fewer functions on both sides a page has no factor that they have in common.
MIN_COMMON_FUNCS: Final = 5

Sides = tuple[Side, Side]
Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, kw_only=True)
class PageSides:
    """One page's views on both sides, with those of its functions that could matter.

    `least_ms` is the least change that is worth telling, and `page_ms` the mean time of all views.
    """

    page: str
    func_ids: IntColumn
    views: tuple[SampleViews, SampleViews]
    strata: int
    page_ms: float
    least_ms: float

    @cached_property
    def sides(self) -> Sides:
        """The rows of both sides: self and hidden time."""
        return self._rows("self+hidden")

    @cached_property
    def visible_sides(self) -> Sides:
        """The rows of both sides: the time that was seen."""
        return self._rows("self")

    @cached_property
    def ranks(self) -> RankSums | None:
        """The rank test of the functions; None if there are none. It is all that the family asks of most pages."""
        has_rows = any(side.func.size for side in self.sides)
        return rank_sides(*self.sides, self.func_ids.size, self.strata) if has_rows else None

    @cached_property
    def changes(self) -> Changes | None:
        """The changes of the functions; None if there are none."""
        return self._find_changes(self.sides, self.ranks)

    @cached_property
    def visible(self) -> Changes | None:
        """The changes of the visible self time."""
        return self._find_changes(self.visible_sides)

    @cached_property
    def weights(self) -> FloatColumn:
        """The roots of the functions' time on both sides."""
        return weigh_funcs(*self.sides, self.func_ids.size)

    @cached_property
    def common_factor(self) -> float:
        """How much longer all functions take in the head: the weighted median of their ratios."""
        changes = self.changes
        if changes is None:
            return 1.0
        base, head = changes.standard_base, changes.standard_base + changes.delta
        is_both = (base > 0) & (head > 0)
        if int(is_both.sum()) < MIN_COMMON_FUNCS:
            return 1.0
        ratio, weight = head[is_both] / base[is_both], self.weights[is_both]
        order = np.argsort(ratio)
        summed = np.cumsum(weight[order])
        return float(ratio[order][np.searchsorted(summed, summed[-1] / 2)])

    @cached_property
    def rows(self) -> BlockRows:
        """The whole time of each view in ms, and what its blocks are made of, in the order of `join_sides`."""
        columns = [views.sample.columns for views in self.views]
        return BlockRows(
            value=self.join_sides([views.sample.view_us("self+hidden") / US_PER_MS for views in self.views]),
            stratum=self.join_sides([views.stratum for views in self.views]),
            is_head=self.join_sides([np.full_like(views.stratum, side) for side, views in enumerate(self.views)]),
            hour=self.join_sides([of_side.hour for of_side in columns]),
            session=self.join_sides([of_side.session for of_side in columns]),
        )

    def rows_of(self, func_id: int) -> BlockRows:
        """Returns the time of one function in each view in ms, as `rows` has the whole time."""
        return replace(self.rows, value=self.join_sides(self.sum_funcs([func_id])))

    def join_sides(self, columns: Sequence[npt.NDArray[Value]]) -> npt.NDArray[Value]:
        """Returns one value for each view that has a stratum, base first."""
        return np.concatenate([column[views.stratum >= 0] for column, views in zip(columns, self.views, strict=True)])

    def _rows(self, measure: Measure) -> Sides:
        base, head = (views.side(views.sample.row_us(measure)) for views in self.views)
        return base, head

    def _find_changes(self, sides: Sides, ranks: RankSums | None = None) -> Changes | None:
        size = self.func_ids.size
        return find_changes(*sides, size, self.strata, is_weighted=False, ranks=ranks) if size else None

    def share_of(self, ms: float) -> float:
        """Returns a change per view as a part of the page's time."""
        return ms / max(self.page_ms, 1e-9)

    def sum_funcs(self, func_ids: Sequence[int], *, visible: bool = False) -> list[FloatColumn]:
        """Returns the summed time of some functions in each view of both sides in ms; or only what was seen."""
        is_wanted = np.isin(self.func_ids, func_ids)
        summed = []
        for side in self.visible_sides if visible else self.sides:
            is_in = is_wanted[side.func]
            summed.append(
                np.bincount(side.view[is_in], side.value[is_in], minlength=side.weight.size).astype(np.float64)
            )
        return summed

    def make_sides(self, values: Sequence[FloatColumn]) -> Sides:
        """Returns both sides with one value in ms of each view."""
        base, head = (
            make_side(value, views.weight, views.stratum) for value, views in zip(values, self.views, strict=True)
        )
        return base, head


def read_page(
    page: str, base: ViewSample, head: ViewSample, *, by_device: bool = True, by_navigation: bool = True
) -> PageSides | None:
    """Returns one page of both sides, whose func ids mean the same; None with too few views to compare.

    A view may have several rows of a func. The functions that could matter do not depend on which view is on which
    side.
    """
    base, head = align(base, head)
    clipped = [clip_weights(side.weight) for side in (base, head)]
    page_ms, func_us = _sum_both((base, head), [weight for weight, _ in clipped])
    least_ms = max(LEAST_MS, LEAST_SHARE * page_ms)
    could_matter = func_us / US_PER_MS / max(head.views, 1) >= least_ms
    strata = find_strata(base.columns, head.columns, by_device=by_device, by_navigation=by_navigation)
    before, after = (
        SampleViews(_keep_funcs(side, could_matter), *weights, codes)
        for side, weights, codes in zip((base, head), clipped, strata.codes, strict=True)
    )
    if not has_enough(before, after):
        return None
    return PageSides(
        page=page,
        func_ids=base.func_ids[could_matter],
        views=(before, after),
        strata=len(strata.shared),
        page_ms=page_ms,
        least_ms=least_ms,
    )


def _sum_both(sides: Sequence[ViewSample], weights: Sequence[FloatColumn]) -> tuple[float, FloatColumn]:
    """Returns the mean ms of the views of both sides, and each function's time in µs, as if weights were equal."""
    pairs = [*zip(sides, weights, strict=True)]
    whole = sum(float((side.view_us("self+hidden") * weight).sum()) for side, weight in pairs)
    scale = sum(side.views for side in sides) / max(sum(float(weight.sum()) for weight in weights), 1e-9)
    func_us = np.zeros(sides[0].func_count)
    for side, weight in pairs:
        func_us += np.bincount(side.func, side.row_us("self+hidden") * weight[side.view], minlength=side.func_count)
    return whole * scale / US_PER_MS / max(sum(side.views for side in sides), 1), func_us * scale


def _keep_funcs(sample: ViewSample, is_kept: npt.NDArray[np.bool_]) -> ViewSample:
    """Returns the sample with some funcs only, and one row for each view and func that took time by itself."""
    func_ids, number = sample.func_ids[is_kept], np.cumsum(is_kept) - 1
    rows = np.flatnonzero(is_kept[sample.func])
    # A table of all views and funcs: few funcs could matter, since each has `LEAST_SHARE` of the time.
    place = sample.view[rows] * func_ids.size + number[sample.func[rows]]
    self_us, hidden_us = (
        sum_by(place, column[rows], sample.views * func_ids.size) for column in (sample.self_us, sample.hidden_us)
    )
    kept = np.flatnonzero(self_us + hidden_us)
    view, func = np.divmod(kept, max(func_ids.size, 1))
    return replace(
        sample,
        view=view,
        func=func,
        self_us=self_us[kept],
        hidden_us=hidden_us[kept],
        total_us=np.zeros_like(kept),
        func_ids=func_ids,
        has_totals=False,
    )


class FunctionTest(NamedTuple):
    """The test of one function over all its pages: their number, the statistic with pages as strata, p and q."""

    pages: int
    z: float
    p: float
    q: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All questions together: the q of pages in their order, and the tests of functions by their id."""

    pages: Sequence[float]
    functions: Mapping[int, FunctionTest]

    @property
    def size(self) -> int:
        """How many questions there are."""
        return len(self.pages) + len(self.functions)

    def scale(self, q: float, p: float, raised_p: float) -> float:
        """Returns a q after its p was raised."""
        return q * raised_p / p if p > 0 else self.size * raised_p

    def scale_function(self, func_id: int, pooled: float, alone: float) -> float:
        """Returns the q of a function after its p with pages as strata, and that of one page, were raised."""
        test = self.functions[func_id]
        p = combine_p(np.array([pooled]), np.array([alone]), np.array([float(test.pages)]))
        return self.scale(test.q, test.p, float(p[0]))


def control_family(page_p: Sequence[float], pages: Sequence[PageSides]) -> Family:
    """Returns the q of pages with these p, and of all functions of `pages` that could matter.

    `PAGES_WEIGHT` of the weight is the pages', in equal parts; a function has a part of the rest by the root of its
    time. A function of several pages has the less of two p, doubled: with pages as strata, and that of its best page
    times their number.
    """
    asked = [(page, page.ranks) for page in pages if page.ranks is not None]
    if not asked:
        return Family(pages=[float(q) for q in control_false_discoveries(page_p)], functions={})
    ids = np.unique(np.concatenate([page.func_ids for page, _ in asked]))
    statistic, variance, cumulant = np.zeros((3, ids.size))
    sums = RankSums(statistic=statistic, variance=variance, cumulant=cumulant)
    count, best, weight = np.zeros(ids.size), np.ones(ids.size), np.zeros(ids.size)
    for page, ranks in asked:
        at = np.searchsorted(ids, page.func_ids)
        sums.statistic[at] += ranks.statistic
        sums.variance[at] += np.nan_to_num(ranks.variance)
        sums.cumulant[at] += np.nan_to_num(ranks.cumulant)
        count[at] += 1
        best[at] = np.minimum(best[at], ranks.test[1])
        weight[at] += np.square(page.weights)
    z, pooled = sums.test
    p = combine_p(pooled, best, count)
    roots = np.sqrt(weight)
    shares = [
        np.full(len(page_p), PAGES_WEIGHT / max(len(page_p), 1)),
        (1 - PAGES_WEIGHT) * roots / roots.sum() if roots.any() else np.full(ids.size, 1 / ids.size),
    ]
    q = control_false_discoveries(np.concatenate([page_p, p]), np.concatenate(shares))
    tests = zip(count.astype(np.int64).tolist(), z.tolist(), p.tolist(), q[len(page_p) :].tolist(), strict=True)
    functions = {func: FunctionTest(*test) for func, test in zip(ids.tolist(), tests, strict=True)}
    return Family(pages=q[: len(page_p)].tolist(), functions=functions)


def combine_p(pooled: FloatColumn, best: FloatColumn, count: FloatColumn) -> FloatColumn:
    """Returns the p of functions from that with pages as strata, that of the best page, and the number of pages."""
    return np.where(count > 1, np.minimum(2 * np.minimum(pooled, best * count), 1.0), best)


def list_clear(page: PageSides, family: Family, bound: float) -> list[Difference]:
    """Returns the functions that changed clearly on a page, largest change first, each with the family's q.

    A change is clear if its q is below `bound`, the page by itself has p below `PAGE_P`, its interval does not include
    zero, and ranks and mean agree.
    """
    if page.ranks is None:
        return []
    q = np.array([family.functions[func].q for func in page.func_ids.tolist()])
    is_clear = (q < bound) & (page.ranks.test[1] < PAGE_P)
    if not is_clear.any() or page.changes is None:  # most pages: the rest takes three times as long as the ranks
        return []
    is_clear &= page.changes.z * page.changes.delta > 0
    differences = describe_changes(page.changes, page.func_ids, visible=page.visible, among=is_clear)
    known = (structs.replace(difference, q=family.functions[difference.func_id].q) for difference in differences)
    return [difference for difference in known if difference.is_beyond_zero]


def is_beyond_rest(page: PageSides, func_id: int, family: Family, bound: float) -> bool:
    """Returns whether a function grew by more than what the functions of its page have in common."""
    if page.common_factor <= 1.0:
        return True
    base, head = page.sum_funcs([func_id])
    rest = find_changes(*page.make_sides([base, head / page.common_factor]), 1, page.strata, is_weighted=False)
    return (
        rest is not None
        and family.scale_function(func_id, 1.0, float(rest.p[0])) < bound
        and float(rest.low[0]) > 0
        and float(rest.delta[0]) >= page.least_ms
        and float(rest.z[0]) > 0
    )


def change_together(page: PageSides, funcs: Sequence[int], *, visible: bool = False) -> tuple[float, float]:
    """Returns the change of the summed time of some functions per view in ms, and its lower bound."""
    _, delta, low, _ = standardise(*page.make_sides(page.sum_funcs(funcs, visible=visible)), 1, page.strata)
    return float(delta[0]), float(low[0])
