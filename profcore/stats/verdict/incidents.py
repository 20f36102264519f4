"""Which functions made a page slower: one incident for a chain of callers, without time that only moved."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from profcore.stats.comparison import Difference, describe_changes, order_increases
from profcore.stats.culprits import FindCallers
from profcore.stats.verdict.family import (
    Family,
    PageSides,
    change_together,
    list_clear,
)

# The time of an increase may have been in a function beside it that fell by this part of the increase. In the same file
# a p below the first is evidence enough, elsewhere a p below the second.
FELL_SHARE: Final = 0.25
FELL_P_SAME_FILE: Final = 0.05
FELL_P_ELSEWHERE: Final = 0.01
# Before a message about a new function, any fall in its file is.
FELL_P_NEW: Final = 1.0
# Of an increase that is told, at least this much remains after what fell is taken off.
LEAST_NET_SHARE: Final = 0.5


FindFile = Callable[[int], Hashable]  # the file of a function, None if it is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What is known of the functions: their call trees, their files, and which new ones only moved.

    `read_callers` gets the pages on which several functions grew, those with the largest growth first, and returns what
    finds callers on them. `find_moved` gets the clearly new and gone functions of a page (`new` or `gone` by id), and
    returns those that may be the same ones in another place.
    """

    read_callers: Callable[[Sequence[str]], FindCallers | None] = lambda _pages: None
    find_file: FindFile = lambda _func_id: None
    find_moved: Callable[[Mapping[int, str]], Collection[int]] = lambda _statuses: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionChange:
    """A function's clear change on a page: a row of `Difference` with the family's q.

    `chain` are other clear increases of its chain of callers, and `fell` what fell beside it, with its change in ms per
    view, the largest first. `pages` are all pages on which the same function leads, this one first.
    `share` is the change as a part of the page's time. `may_have_moved` says that all of it may be time of others:
    also of what fell in hidden time, or fell hardly in the file of a new function. `beyond_ms` is what is left of
    `ranking_ms` without what the functions of its page have in common: increases are ordered by it. `is_certain` says
    that it is certain enough for a message.
    """

    page: str
    difference: Difference
    share: float
    chain: tuple[int, ...] = ()
    fell: tuple[tuple[int, float], ...] = ()
    pages: tuple[str, ...] = ()
    may_have_moved: bool = False
    beyond_ms: float = 0.0
    is_certain: bool = False

    @property
    def func_id(self) -> int:
        """The function."""
        return self.difference.func_id

    @property
    def order(self) -> tuple[bool, float]:
        """The sort key of increases: what is certain comes first."""
        return not self.is_certain, -self.beyond_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFunctions:
    """What the functions of one page did: those that made it slower, faster, and those whose time only moved.

    Each list has the largest first; of `slower`, by its `order`.
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
    increases.sort(key=lambda change: -_find_beyond(page, change))
    chains = _find_chains(increases, find_callers)
    slower: list[FunctionChange] = []
    only_moved: list[FunctionChange] = []
    for change in increases:
        if any(change.func_id in before.chain for before in slower):
            continue
        chain = chains.get(change.func_id, ())
        fell = _list_fallen(page, change, code.find_file, FELL_P_SAME_FILE)
        made = FunctionChange(
            page=page.page,
            difference=change,
            share=page.share_of(change.delta_ms),
            chain=tuple(chain),
            fell=tuple(fell),
            pages=(page.page,),
            beyond_ms=_find_beyond(page, change),
        )
        # What is gone may be what came: then only the rest of it may be in the increase.
        beside = came if any(func in moved for func, _ in fell) else []
        if _is_net(page, made, beside):
            slower.append(replace(made, may_have_moved=not _is_net_of_hidden(page, made, beside, code.find_file)))
        else:
            only_moved.append(made)
    decreases = sorted((change for change in large if change.delta_ms < 0), key=lambda change: change.delta_ms)
    faster = (
        FunctionChange(page=page.page, difference=change, share=page.share_of(change.delta_ms)) for change in decreases
    )
    return PageFunctions(slower=tuple(slower), faster=tuple(faster), moved=tuple(only_moved))


def _find_beyond(page: PageSides, change: Difference) -> float:
    usual_ms = change.delta_ms / change.relative if change.relative else 0.0
    return change.ranking_ms - usual_ms * max(page.common_factor - 1.0, 0.0)


def describe_function(pages: Sequence[PageSides], family: Family, func_id: int) -> FunctionChange | None:
    """Returns the change of a function, clear or not, on the page with most of it; None if no page asks about it."""
    found = []
    for page in pages:
        if func_id not in page.func_ids or page.changes is None:
            continue
        differences = describe_changes(page.changes, page.func_ids)
        difference = next(row for row in differences if row.func_id == func_id)
        known = structs.replace(difference, q=family.functions[func_id].q)
        found.append(
            FunctionChange(page=page.page, difference=known, share=page.share_of(known.delta_ms), pages=(page.page,))
        )
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


def _list_fallen(
    page: PageSides, change: Difference, find_file: FindFile, p_same_file: float
) -> list[tuple[int, float]]:
    """Returns the functions that fell by enough to be where an increase was before, and by how much, seen or in all."""
    own, fallen = find_file(change.func_id), dict[int, float]()
    for changes in (page.visible, page.changes):
        if changes is None:
            continue
        is_large = (changes.delta <= -FELL_SHARE * change.delta_ms) & (changes.z < 0)
        for number in changes.funcs[is_large[changes.funcs]].tolist():
            func, delta = int(page.func_ids[number]), float(changes.delta[number])
            is_near = own is not None and find_file(func) == own
            if changes.p[number] < (p_same_file if is_near else FELL_P_ELSEWHERE):
                fallen[func] = min(delta, fallen.get(func, delta))
    return sorted(fallen.items(), key=lambda pair: pair[1])


def _is_net(page: PageSides, change: FunctionChange, beside: Sequence[int]) -> bool:
    """Returns whether an increase remains after what fell beside it is taken off: else its time only moved.

    It remains in what was seen, or in all time: hidden time also wanders to a function that is seen more often, which
    takes nothing off what is seen. Functions `beside` the increase take a part of what fell.
    """
    if not change.fell:
        return True
    funcs = (change.func_id, *change.chain, *beside, *(func for func, _ in change.fell))
    delta, low = max(change_together(page, funcs, visible=True), change_together(page, funcs))
    return low > 0 and delta >= max(page.least_ms, LEAST_NET_SHARE * change.difference.delta_ms)


def _is_net_of_hidden(page: PageSides, change: FunctionChange, beside: Sequence[int], find_file: FindFile) -> bool:
    """Returns whether an increase remains in all time: before a message, what wanders is taken off too.

    Where a function is new, its time may be of any that fell in its file: few views do not show that surely.
    """
    fell = change.fell
    if change.difference.status == "new":
        fell = tuple(_list_fallen(page, change.difference, find_file, FELL_P_NEW))
    if not fell:
        return True
    delta, low = change_together(page, (change.func_id, *change.chain, *beside, *(func for func, _ in fell)))
    return low > 0 and delta >= page.least_ms


def join_incidents(pages: Sequence[PageFunctions]) -> tuple[FunctionChange, ...]:
    """Returns one change for each function or chain that made pages slower, by its `order`.

    A function of several pages is one incident, on the page where it is largest.
    """
    changes = sorted((change for page in pages for change in page.slower), key=lambda change: change.order)
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
