"""Which functions made a page slower: one incident for a chain of callers, without time that only moved.

And how certain an incident is: certain enough for a message only if it outlasts what views of one hour or day have in
common, and is more than what all functions of its page have in common.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from profcore.stats.comparison import Difference, describe_changes, order_increases
from profcore.stats.culprits import FindCallers
from profcore.stats.ranks import Changes, find_changes
from profcore.stats.verdict.blocks import HOURS_OF_DAY, Inflation, find_inflation
from profcore.stats.verdict.family import (
    Family,
    FunctionTest,
    PageSides,
    Sides,
    change_together,
    combine_p,
    list_clear,
    side_of,
)
from profcore.stats.views import FloatColumn

# A message is sent when q is below this part of the look's bound: far tails at different looks are nearly independent,
# so with hundreds of functions a fifth would let more than 1 of 100 unchanged releases through (docs/statistics.md).
CONFIRM_FACTOR: Final = 8.0
# What was seen to fall beside an increase, by this much of it, may be where its time was before. In the same file p
# below the first is evidence enough, elsewhere below the second.
FELL_SHARE: Final = 0.25
FELL_P_SAME_FILE: Final = 0.05
FELL_P_ELSEWHERE: Final = 0.01
# Before a message about a new function, any fall in its file is.
FELL_P_NEW: Final = 1.0
# Of an increase that is told, at least this much remains after what fell is taken off.
LEAST_NET_SHARE: Final = 0.5
# With fewer functions on both sides a page has no factor that they have in common.
MIN_COMMON_FUNCS: Final = 5
# The inflation by days is a mean over pages, and over so many of their heaviest functions: that of one is hardly known.
MAX_POOLED_FUNCS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What is known of the functions: their call trees, their files, and which new ones only moved.

    `read_callers` gets the pages on which several functions grew, those with the largest growth first, and returns what
    finds callers on them. `find_moved` gets the clearly new and gone functions of a page (`new` or `gone` by id), and
    returns those that may be the same ones in another place.
    """

    read_callers: Callable[[Sequence[str]], FindCallers | None] = lambda _pages: None
    files: Mapping[int, Hashable] = field(default_factory=dict)
    find_moved: Callable[[Mapping[int, str]], Collection[int]] = lambda _statuses: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionChange:
    """A function's clear change on a page: a row of `Difference` with the family's q.

    `chain` are other clear increases of its chain of callers, and `fell` what was seen to fall beside it, with its
    change in ms per view, the largest first. `pages` are all pages on which the same function leads, this one first.
    `share` is the change as a part of the page's time. `may_have_moved` says that all of it may be time of others:
    also of what fell in hidden time, or fell hardly in the file of a new function. `is_certain` says that it is certain
    enough for a message.
    """

    page: str
    difference: Difference
    share: float
    chain: tuple[int, ...] = ()
    fell: tuple[tuple[int, float], ...] = ()
    pages: tuple[str, ...] = ()
    may_have_moved: bool = False
    is_certain: bool = False

    @property
    def func_id(self) -> int:
        """The function."""
        return self.difference.func_id


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFunctions:
    """What the functions of one page did: those that made it slower, faster, and those whose time only moved.

    Each list has the largest first; of `slower`, by `ranking_ms`.
    """

    slower: tuple[FunctionChange, ...] = ()
    faster: tuple[FunctionChange, ...] = ()
    moved: tuple[FunctionChange, ...] = ()


def find_functions(pages: Sequence[PageSides], family: Family, bound: float, code: Code) -> dict[str, PageFunctions]:
    """Returns the functions of each page that changed clearly and by enough to be told."""
    clear = {page.page: list_clear(page, family, bound) for page in pages}
    grown = {page: [row.delta_ms for row in rows if row.delta_ms > 0] for page, rows in clear.items()}
    several = sorted((page for page, deltas in grown.items() if len(deltas) > 1), key=lambda page: -max(grown[page]))
    find_callers = code.read_callers(several) if several else None
    return {page.page: _find_page_functions(page, clear[page.page], code, find_callers) for page in pages}


def _find_page_functions(
    page: PageSides, clear: Sequence[Difference], code: Code, find_callers: FindCallers | None
) -> PageFunctions:
    statuses = {change.func_id: change.status for change in clear if change.status != "changed"}
    moved = set(code.find_moved(statuses)) if statuses else set()
    came = [func for func in moved if statuses[func] == "new"]
    kept = [change for change in clear if change.func_id not in moved]
    large = [change for change in kept if abs(change.delta_ms) >= page.least_ms]
    increases = order_increases([change for change in large if change.delta_ms > 0], find_callers)
    chains = _find_chains(increases, find_callers)
    slower: list[FunctionChange] = []
    only_moved: list[FunctionChange] = []
    for change in increases:
        if any(change.func_id in before.chain for before in slower):
            continue
        chain = chains.get(change.func_id, ())
        fell = _find_fallen(page, change, code.files)
        made = FunctionChange(
            page=page.page,
            difference=change,
            share=change.delta_ms / max(page.page_ms, 1e-9),
            chain=tuple(chain),
            fell=tuple(fell),
            pages=(page.page,),
        )
        # What is gone may be what came: then only the rest of it may be in the increase.
        beside = came if any(func in moved for func, _ in fell) else []
        if _is_net(page, made, beside):
            slower.append(replace(made, may_have_moved=not _is_net_of_hidden(page, made, beside, code.files)))
        else:
            only_moved.append(made)
    decreases = sorted((change for change in large if change.delta_ms < 0), key=lambda change: change.delta_ms)
    faster = (
        FunctionChange(page=page.page, difference=change, share=change.delta_ms / max(page.page_ms, 1e-9))
        for change in decreases
    )
    return PageFunctions(slower=tuple(slower), faster=tuple(faster), moved=tuple(only_moved))


def describe_function(pages: Sequence[PageSides], family: Family, func_id: int) -> FunctionChange | None:
    """Returns the change of a function, clear or not, on the page with most of it; None if no page asks about it."""
    found = []
    for page in pages:
        if page.changes is None or func_id not in page.func_ids:
            continue
        differences = describe_changes(page.changes, page.func_ids)
        difference = next(row for row in differences if row.func_id == func_id)
        share = difference.delta_ms / max(page.page_ms, 1e-9)
        known = replace(difference, q=family.functions[func_id].q)
        found.append(FunctionChange(page=page.page, difference=known, share=share, pages=(page.page,)))
    return max(found, key=lambda change: abs(change.difference.delta_ms), default=None)


def _find_chains(increases: Sequence[Difference], find_callers: FindCallers | None) -> Mapping[int, Sequence[int]]:
    """Returns for each increase the others that are its callers, or that it calls."""
    ids = [change.func_id for change in increases]
    if find_callers is None or len(ids) < 2:
        return {}
    above = {func: set(find_callers([other for other in ids if other != func], [func]) or ()) for func in ids}
    return {
        func: [other for other in ids if other != func and (other in above[func] or func in above[other])]
        for func in ids
    }


def _find_fallen(page: PageSides, change: Difference, files: Mapping[int, Hashable]) -> list[tuple[int, float]]:
    """Returns the functions whose visible time fell by enough to be where an increase was before, and by how much."""
    return _list_fallen(page, page.visible, change, files, FELL_P_SAME_FILE)


def _list_fallen(
    page: PageSides, changes: Changes | None, change: Difference, files: Mapping[int, Hashable], p_same_file: float
) -> list[tuple[int, float]]:
    if changes is None:
        return []
    own = files.get(change.func_id)
    fallen = []
    for number in changes.funcs.tolist():
        func = int(page.func_ids[number])
        is_large = changes.delta[number] <= -FELL_SHARE * change.delta_ms and changes.z[number] < 0
        is_near = own is not None and files.get(func) == own
        if is_large and changes.p[number] < (p_same_file if is_near else FELL_P_ELSEWHERE):
            fallen.append((func, float(changes.delta[number])))
    return sorted(fallen, key=lambda pair: pair[1])


def _is_net(page: PageSides, change: FunctionChange, beside: Sequence[int]) -> bool:
    """Returns whether an increase remains after what fell beside it is taken off: else its time only moved.

    Functions `beside` it take a part of what fell.
    """
    if not change.fell:
        return True
    fell = [func for func, _ in change.fell]
    delta, low = change_together(page, (change.func_id, *change.chain, *beside), fell)
    return low > 0 and delta >= max(page.least_ms, LEAST_NET_SHARE * change.difference.delta_ms)


def _is_net_of_hidden(
    page: PageSides, change: FunctionChange, beside: Sequence[int], files: Mapping[int, Hashable]
) -> bool:
    """Returns whether an increase remains after all that fell beside it is taken off, hidden time too.

    Hidden time also wanders to a function that is seen more often, so this is too strict for what is only said. Where
    a function is new, its time may be of any that fell in its file: few views do not show that surely.
    """
    p_same_file = FELL_P_NEW if change.difference.status == "new" else FELL_P_SAME_FILE
    hidden = _list_fallen(page, page.changes, change.difference, files, p_same_file)
    fell = {func for func, _ in (*change.fell, *hidden)}
    if not fell:
        return True
    delta, low = change_together(page, sorted({change.func_id, *change.chain, *beside, *fell}), ())
    return low > 0 and delta >= page.least_ms


def join_incidents(pages: Sequence[PageFunctions]) -> tuple[FunctionChange, ...]:
    """Returns one change for each function or chain that made pages slower, the largest `ranking_ms` first.

    A function of several pages is one incident, on the page where it is largest.
    """
    changes = sorted((change for page in pages for change in page.slower), key=lambda c: -c.difference.ranking_ms)
    joined: list[FunctionChange] = []
    for change in changes:
        for number, before in enumerate(joined):
            if change.func_id == before.func_id or change.func_id in before.chain or before.func_id in change.chain:
                if change.page not in before.pages:
                    joined[number] = replace(before, pages=(*before.pages, change.page))
                break
        else:
            joined.append(change)
    return tuple(joined)


class Certainty:
    """Says which changes are certain enough for a message, after one look at all pages."""

    def __init__(self, pages: Sequence[PageSides], family: Family, bound: float) -> None:
        self._pages = {page.page: page for page in pages}
        self._family = family
        self._most = bound / CONFIRM_FACTOR

    def is_function_certain(self, change: FunctionChange) -> bool:
        """Returns whether a function's increase outlasts blocks of time, and is more than its page has in common."""
        page, difference, test = self._pages[change.page], change.difference, self._family.functions[change.func_id]
        if test.q >= self._most or change.may_have_moved:
            return False
        every = [other for other in self._pages.values() if change.func_id in other.func_ids]
        alone = max(difference.p, self._find_p([page], change.func_id, difference.rank_z))
        pooled = self._find_p(every, change.func_id, test.z) if test.pages > 1 else alone
        return self._raise(test, pooled, alone) < self._most and self.is_beyond_rest(change, self._most)

    def is_beyond_rest(self, change: FunctionChange, bound: float) -> bool:
        """Returns whether a function grew by more than what the functions of its page have in common."""
        page, test = self._pages[change.page], self._family.functions[change.func_id]
        factor = self.find_common_factor(change.page)
        if factor <= 1.0:
            return True
        number = int(np.searchsorted(page.func_ids, change.func_id))
        rest = find_changes(*_sides_of(page, number, factor), 1, page.strata, is_weighted=False)
        return (
            rest is not None
            and self._raise(test, 1.0, float(rest.p[0])) < bound
            and float(rest.low[0]) > 0
            and float(rest.delta[0]) >= page.least_ms
            and float(rest.z[0]) > 0
        )

    def find_common_factor(self, page: str) -> float:
        """Returns how much longer the functions of a page take in the head: the weighted median of their ratios."""
        return _find_common_factor(self._pages[page]) if page in self._pages else 1.0

    def is_page_certain(self, page: str | None, difference: Difference) -> bool:
        """Returns whether a page's change, or that of all together (None), outlasts blocks of time."""
        if difference.q >= self._most:
            return False
        pages = [*self._pages.values()] if page is None else [self._pages[page]] if page in self._pages else []
        hours = _join_hours(pages, [_dense_whole(page) for page in pages])
        if hours is None:
            return False
        p = max(difference.p, hours.p_of(difference.rank_z), self._days.p_of(difference.rank_z))
        if _scale(difference.q, difference.p, p, self._family.size) >= self._most or difference.ci95 is None:
            return False
        widened = (difference.delta_ms - difference.ci95.low) * max(hours.factor, self._days.factor, 1.0) ** 0.5
        return difference.delta_ms < 0 or difference.delta_ms - widened > 0

    def _find_p(self, pages: Sequence[PageSides], func_id: int, z: float) -> float:
        """Returns the p of a function's statistic over some pages, with the inflation of hours and of days."""
        values = [_dense(_sides_of(page, int(np.searchsorted(page.func_ids, func_id)), 1.0)) for page in pages]
        hours = _join_hours(pages, values)
        return 1.0 if hours is None else max(hours.p_of(z), self._days.p_of(z))

    def _raise(self, test: FunctionTest, pooled: float, alone: float) -> float:
        """Returns the q of a function after the p with pages as strata, and that of the page, were raised."""
        p = combine_p(np.array([pooled]), np.array([alone]), np.array([float(test.pages)]))
        return _scale(test.q, test.p, float(p[0]), self._family.size)

    @cached_property
    def _days(self) -> Inflation:
        """The inflation by days: the mean over pages, or over their heaviest functions if that is more."""
        pages = [*self._pages.values()]
        of_pages = [_inflate_by_day(page, _dense_whole(page)) for page in pages]
        heaviest = sorted(
            ((-float(weight), number, page) for page in pages for number, weight in enumerate(page.weights)),
            key=lambda row: row[:2],
        )[:MAX_POOLED_FUNCS]
        of_functions = [_inflate_by_day(page, _dense(_sides_of(page, number, 1.0))) for _, number, page in heaviest]
        means = [float(np.mean(known)) for factors in (of_pages, of_functions) if (known := [f for f in factors if f])]
        return Inflation(max([1.0, *means]), np.inf)


def _inflate_by_day(page: PageSides, value: Sequence[FloatColumn]) -> float | None:
    rows = page.rows_of(value)
    inflation = find_inflation(replace(rows, block=rows.block // HOURS_OF_DAY))
    return inflation.factor if inflation else None


def _scale(q: float, p: float, raised_p: float, size: int) -> float:
    """Returns a q after its p was raised, in a family of a size."""
    return q * raised_p / p if p > 0 else size * raised_p


def _join_hours(pages: Sequence[PageSides], values: Sequence[Sequence[FloatColumn]]) -> Inflation | None:
    """Returns the inflation by hours of one value of each view, over some pages together."""
    rows = [page.rows_of(value) for page, value in zip(pages, values, strict=True)]
    if not rows:
        return None
    first = np.cumsum([0, *(page.strata for page in pages[:-1])])
    return find_inflation(
        replace(
            rows[0],
            value=np.concatenate([row.value for row in rows]),
            stratum=np.concatenate([row.stratum + start for row, start in zip(rows, first.tolist(), strict=True)]),
            is_head=np.concatenate([row.is_head for row in rows]),
            block=np.concatenate([row.block for row in rows]),
        )
    )


def _sides_of(page: PageSides, number: int, factor: float) -> Sides:
    """Returns the rows of one function; the head's times are divided by a factor."""
    sides = []
    for side, divisor in zip(page.sides(), (1.0, factor), strict=True):
        is_in = side.func == number
        value = np.bincount(side.view[is_in], side.value[is_in], minlength=side.weight.size) / divisor
        sides.append(side_of(value, side))
    return sides[0], sides[1]


def _dense(sides: Sides) -> list[FloatColumn]:
    """Returns one value of each view of both sides."""
    return [np.bincount(side.view, side.value, minlength=side.weight.size).astype(np.float64) for side in sides]


def _dense_whole(page: PageSides) -> list[FloatColumn]:
    return [views.sample.view_us("self+hidden").astype(np.float64) for views in page.views]


def _find_common_factor(page: PageSides) -> float:
    """Returns how much more all functions of a page took in the head: the weighted median of their ratios."""
    changes = page.changes
    if changes is None:
        return 1.0
    base, head = changes.standard_base, changes.standard_base + changes.delta
    is_both = (base > 0) & (head > 0)
    if int(is_both.sum()) < MIN_COMMON_FUNCS:
        return 1.0
    ratio, weight = head[is_both] / base[is_both], page.weights[is_both]
    order = np.argsort(ratio)
    summed = np.cumsum(weight[order])
    return float(ratio[order][np.searchsorted(summed, summed[-1] / 2)])
