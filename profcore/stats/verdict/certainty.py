"""How certain a change is: certain enough for a message or not.

It must outlast what views of one hour or day have in common, and not be that of the fastest devices alone, where
monitors are. A function must also have grown by more than what all functions of its page have in common.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from profcore.stats.comparison import Difference
from profcore.stats.ranks import find_changes
from profcore.stats.standardised import make_side
from profcore.stats.verdict.blocks import BlockRows, Inflation, find_inflation
from profcore.stats.verdict.family import Family, PageSides, is_beyond_rest
from profcore.stats.verdict.incidents import FunctionChange, PageFunctions
from profcore.stats.views import FloatColumn

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


class Certainty:
    """Says which changes are certain enough for a message, after one look at all pages."""

    def __init__(self, pages: Sequence[PageSides], family: Family, bound: float) -> None:
        self._pages = {page.page: page for page in pages}
        self._family = family
        self._most = bound / CONFIRM_FACTOR

    def weigh_functions(self, functions: PageFunctions) -> PageFunctions:
        """Returns what the functions of a page did, with which of the slower ones are certain."""
        weighed = [replace(change, is_certain=self.is_function_certain(change)) for change in functions.slower]
        return replace(functions, slower=tuple(sorted(weighed, key=lambda change: change.order)))

    def is_function_certain(self, change: FunctionChange) -> bool:
        """Returns whether a function's increase outlasts blocks of time, and is more than its page has in common."""
        page, difference, test = self._pages[change.page], change.difference, self._family.functions[change.func_id]
        if test.q >= self._most or change.may_have_moved:
            return False
        every = [other for other in self._pages.values() if change.func_id in other.func_ids]
        alone = max(difference.p, self._find_p([page], change.func_id, difference.rank_z))
        pooled = self._find_p(every, change.func_id, test.z) if test.pages > 1 else alone
        if not _is_elsewhere([page], [page.sum_funcs([change.func_id])], difference):
            return False
        is_certain = self._family.scale_function(change.func_id, pooled, alone) < self._most
        return is_certain and is_beyond_rest(page, change.func_id, self._family, self._most)

    def is_page_certain(self, page: str | None, difference: Difference) -> bool:
        """Returns whether a page's change, or that of all together (None), outlasts blocks of time."""
        if difference.q >= self._most:
            return False
        pages = [*self._pages.values()] if page is None else [self._pages[page]] if page in self._pages else []
        values = [page.whole for page in pages]
        visits = _inflate_by_visit(pages, values)
        if visits is None or not _is_elsewhere(pages, values, difference):
            return False
        p = max(difference.p, visits.p_of(difference.rank_z), self._days.p_of(difference.rank_z))
        if self._family.scale(difference.q, difference.p, p) >= self._most or difference.ci95 is None:
            return False
        widened = (difference.delta_ms - difference.ci95.low) * max(visits.factor, self._days.factor, 1.0) ** 0.5
        return difference.delta_ms < 0 or difference.delta_ms - widened > 0

    def _find_p(self, pages: Sequence[PageSides], func_id: int, z: float) -> float:
        """Returns the p of a function's statistic over some pages, with the inflation of visits and of days."""
        values = [page.sum_funcs([func_id]) for page in pages]
        visits = _inflate_by_visit(pages, values)
        return 1.0 if visits is None else max(visits.p_of(z), self._days.p_of(z))

    @cached_property
    def _days(self) -> Inflation:
        """The inflation by days: the mean over pages, or over their heaviest functions if that is more."""
        pages = [*self._pages.values()]
        of_pages = [_inflate_by_day(page, page.whole) for page in pages]
        heaviest = sorted(
            ((-float(weight), number, page) for page in pages for number, weight in enumerate(page.weights)),
            key=lambda row: row[:2],
        )[:MAX_POOLED_FUNCS]
        of_functions = [
            _inflate_by_day(page, page.sum_funcs([int(page.func_ids[number])])) for _, number, page in heaviest
        ]
        means = [float(np.mean(known)) for factors in (of_pages, of_functions) if (known := [f for f in factors if f])]
        return Inflation(max([1.0, *means]), np.inf)


def _inflate_by_day(page: PageSides, value: Sequence[FloatColumn]) -> float | None:
    rows = page.rows_of(value)
    inflation = find_inflation(rows, rows.days)
    return inflation.factor if inflation else None


def _inflate_by_visit(pages: Sequence[PageSides], values: Sequence[Sequence[FloatColumn]]) -> Inflation | None:
    """Returns the inflation by sessions or hours of one value of each view, over some pages together."""
    if not pages:
        return None
    rows = _join_rows(pages, values)
    return find_inflation(rows, rows.visits)


def _join_rows(pages: Sequence[PageSides], values: Sequence[Sequence[FloatColumn]]) -> BlockRows:
    rows = [page.rows_of(value) for page, value in zip(pages, values, strict=True)]
    first = np.cumsum([0, *(page.strata for page in pages[:-1])])
    return BlockRows(
        value=np.concatenate([row.value for row in rows]),
        stratum=np.concatenate([row.stratum + start for row, start in zip(rows, first.tolist(), strict=True)]),
        is_head=np.concatenate([row.is_head for row in rows]),
        hour=np.concatenate([row.hour for row in rows]),
        session=np.concatenate([row.session for row in rows]),
    )


def _is_elsewhere(pages: Sequence[PageSides], values: Sequence[Sequence[FloatColumn]], difference: Difference) -> bool:
    """Returns whether a change of pages, or of a function, is also that of other device classes than the fastest.

    What only the fastest one has may be a monitor that started or stopped: many views that are all alike. The fastest
    is that of whole views: one function may take longer there. Where hardly anyone uses other devices this cannot be
    known.
    """
    rows = _join_rows(pages, values)
    sides = [views for page in pages for views in page.views]
    device = np.concatenate([views.sample.columns.device_class[views.stratum >= 0] for views in sides])
    weight = np.concatenate([views.weight[views.stratum >= 0] for views in sides])
    classes, number = np.unique(device, return_inverse=True)
    whole = _join_rows(pages, [page.whole for page in pages]).value
    fastest = int(np.argmin(np.bincount(number, whole) / np.bincount(number)))
    is_other = number != fastest
    shares = [float(is_other[rows.is_head == side].mean()) for side in (0, 1)]
    if classes.size < 2 or min(shares) < LEAST_OTHER_SHARE:
        return True
    strata, stratum = np.unique(rows.stratum[is_other], return_inverse=True)
    base, head = (
        make_side(rows.value[is_other][is_in], weight[is_other][is_in], stratum[is_in])
        for is_in in (rows.is_head[is_other] == side for side in (0, 1))
    )
    rest = find_changes(base, head, 1, strata.size, is_weighted=False)
    if rest is None:
        return False
    part = float(rest.delta[0]) / difference.delta_ms
    if difference.relative and rest.standard_base[0] > 0:
        part = float(rest.delta[0] / rest.standard_base[0]) / difference.relative
    return float(rest.p[0]) < OTHER_P and float(rest.z[0]) * difference.delta_ms > 0 and part >= LEAST_OTHER_PART
