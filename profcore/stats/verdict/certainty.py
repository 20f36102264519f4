"""How certain a change is: certain enough for a message or not.

It must outlast what views of one hour or day have in common, and not be that of the fastest devices alone, where
monitors are. A function must also have grown by more than what all functions of its page have in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.stats.comparison import Difference
from profcore.stats.ranks import find_changes
from profcore.stats.standardised import Side, make_side
from profcore.stats.verdict.blocks import BlockRows, Inflation, find_inflation
from profcore.stats.verdict.family import Family, PageSides, is_beyond_rest
from profcore.stats.verdict.incidents import FunctionChange, PageFunctions
from profcore.stats.views import FloatColumn, IntColumn
from profcore.trace.dimensions import DEVICE_CLASSES

# A message is sent when q is below this part of the look's bound: far tails at different looks are nearly independent,
# so with hundreds of functions a fifth would let more than 1 of 100 unchanged releases through (docs/statistics.md).
CONFIRM_FACTOR: Final = 8.0
# The inflation by days is a mean over pages, and over so many of their heaviest functions: that of one is hardly known.
MAX_POOLED_FUNCS: Final = 40
# Other device classes than the fastest must show the change too, if they have at least this share of the views: this
# part of it, with a p below this. It is small since a monitor's pages and functions are looked at many times.
LEAST_OTHER_SHARE: Final = 0.25
LEAST_OTHER_PART: Final = 0.5
OTHER_P: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    """The views of some pages that other device classes than the fastest made, in strata of their own."""

    is_in: npt.NDArray[np.bool_]
    is_head: npt.NDArray[np.bool_]
    weight: FloatColumn
    stratum: IntColumn
    strata: int

    def make_side(self, value: FloatColumn, *, is_head: bool) -> Side:
        """Returns one side of them, with one value of each view of the pages."""
        is_of = self.is_head == is_head
        return make_side(value[self.is_in][is_of], self.weight[is_of], self.stratum[is_of])


class Certainty:
    """Says which changes are certain enough for a message, after one look at all pages."""

    def __init__(self, pages: Sequence[PageSides], family: Family, bound: float) -> None:
        self._pages = {page.page: page for page in pages}
        self._family = family
        self._most = bound / CONFIRM_FACTOR
        self._others: dict[str, _Others | None] = {}

    def weigh_functions(self, functions: PageFunctions) -> PageFunctions:
        """Returns what the functions of a page did, with which of the slower ones are certain."""
        weighed = [replace(change, is_certain=self.is_function_certain(change)) for change in functions.slower]
        return replace(functions, slower=tuple(sorted(weighed, key=lambda change: change.order)))

    def is_function_certain(self, change: FunctionChange) -> bool:
        """Returns whether a function's increase outlasts blocks of time, and is more than its page has in common."""
        page, difference, test = self._pages[change.page], change.difference, self._family.functions[change.func_id]
        if test.q >= self._most or change.may_have_moved:
            return False
        rows = page.rows_of(change.func_id)
        alone = max(difference.p, self._find_p(rows, difference.rank_z))
        pooled = alone
        if test.pages > 1:
            every = [other for other in self._pages.values() if change.func_id in other.func_ids]
            pooled = self._find_p(_join_rows(every, [other.rows_of(change.func_id) for other in every]), test.z)
        if self._family.scale_function(change.func_id, pooled, alone) >= self._most:
            return False
        if page.page not in self._others:
            self._others[page.page] = _find_others([page], page.rows)
        others = self._others[page.page]
        is_elsewhere = others is None or _is_elsewhere(others, rows, difference)
        return is_elsewhere and is_beyond_rest(page, change.func_id, self._family, self._most)

    def is_page_certain(self, page: str | None, difference: Difference) -> bool:
        """Returns whether a page's change, or that of all together (None), outlasts blocks of time."""
        if difference.q >= self._most:
            return False
        pages = [*self._pages.values()] if page is None else [self._pages[page]] if page in self._pages else []
        if not pages:
            return False
        rows = _join_rows(pages, [of_page.rows for of_page in pages])
        visits = find_inflation(rows, rows.visits)
        if visits is None:
            return False
        p = max(difference.p, visits.p_of(difference.rank_z), self._days.p_of(difference.rank_z))
        if self._family.scale(difference.q, difference.p, p) >= self._most or difference.ci95 is None:
            return False
        widened = (difference.delta_ms - difference.ci95.low) * max(visits.factor, self._days.factor, 1.0) ** 0.5
        if difference.delta_ms > 0 and difference.delta_ms - widened <= 0:
            return False
        others = _find_others(pages, rows)
        return others is None or _is_elsewhere(others, rows, difference)

    def _find_p(self, rows: BlockRows, z: float) -> float:
        """Returns the p of the statistic of some rows, with the inflation of visits and of days."""
        visits = find_inflation(rows, rows.visits)
        return 1.0 if visits is None else max(visits.p_of(z), self._days.p_of(z))

    @cached_property
    def _days(self) -> Inflation:
        """The inflation by days: the mean over pages, or over their heaviest functions if that is more."""
        pages = [*self._pages.values()]
        heaviest = sorted(
            (-weight, number, at)
            for at, page in enumerate(pages)
            for number, weight in enumerate(page.weights.tolist())
        )[:MAX_POOLED_FUNCS]
        of_pages = [_inflate_by_day(page.rows) for page in pages]
        of_functions = [
            _inflate_by_day(pages[at].rows_of(int(pages[at].func_ids[number]))) for _, number, at in heaviest
        ]
        means = [float(np.mean(known)) for factors in (of_pages, of_functions) if (known := [f for f in factors if f])]
        return Inflation(max([1.0, *means]), np.inf)


def _inflate_by_day(rows: BlockRows) -> float | None:
    inflation = find_inflation(rows, rows.days)
    return inflation.factor if inflation else None


def _join_rows(pages: Sequence[PageSides], parts: Sequence[BlockRows]) -> BlockRows:
    """Returns the rows of some pages as one, each page with strata of its own."""
    if len(parts) == 1:
        return parts[0]
    first = np.cumsum([0, *(page.strata for page in pages[:-1])])
    return BlockRows(
        value=np.concatenate([rows.value for rows in parts]),
        stratum=np.concatenate([rows.stratum + start for rows, start in zip(parts, first.tolist(), strict=True)]),
        is_head=np.concatenate([rows.is_head for rows in parts]),
        hour=np.concatenate([rows.hour for rows in parts]),
        session=np.concatenate([rows.session for rows in parts]),
    )


def _find_others(pages: Sequence[PageSides], whole: BlockRows) -> _Others | None:
    """Returns the views of other device classes than the fastest; None where hardly anyone uses them.

    The fastest is that of whole views: one function may take longer there.
    """
    device = np.concatenate([page.join_sides([v.sample.columns.device for v in page.views]) for page in pages])
    device %= len(DEVICE_CLASSES)  # whatever recorded them
    weight = np.concatenate([page.join_sides([v.weight for v in page.views]) for page in pages])
    classes, number = np.unique(device, return_inverse=True)
    fastest = int(np.argmin(np.bincount(number, whole.value) / np.bincount(number)))
    is_other = number != fastest
    shares = [float(is_other[whole.is_head == side].mean()) for side in (0, 1)]
    if classes.size < 2 or min(shares) < LEAST_OTHER_SHARE:
        return None
    strata, stratum = np.unique(whole.stratum[is_other], return_inverse=True)
    return _Others(
        is_in=is_other,
        is_head=whole.is_head[is_other] == 1,
        weight=weight[is_other],
        stratum=stratum,
        strata=strata.size,
    )


def _is_elsewhere(others: _Others, rows: BlockRows, difference: Difference) -> bool:
    """Returns whether a change of pages, or of a function, is also that of other device classes than the fastest.

    What only the fastest one has may be a monitor that started or stopped: many views that are all alike.
    """
    base, head = (others.make_side(rows.value, is_head=is_head) for is_head in (False, True))
    rest = find_changes(base, head, 1, others.strata, is_weighted=False)
    if rest is None:
        return False
    part = float(rest.delta[0]) / difference.delta_ms
    if difference.relative and rest.standard_base[0] > 0:
        part = float(rest.delta[0] / rest.standard_base[0]) / difference.relative
    return float(rest.p[0]) < OTHER_P and float(rest.z[0]) * difference.delta_ms > 0 and part >= LEAST_OTHER_PART
