"""New and gone functions of a comparison that may be the same ones, in another place of a new bundle."""

from collections.abc import Callable, Mapping

from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.statistics.comparisons import SliceComparison
from profcore.code.sites import origin_of


def find_moved(answer: SliceComparison) -> Mapping[int, str]:
    """Returns the significantly new or gone functions of a comparison that may only have moved (`pick_moved`)."""
    changes = answer.comparison.functions
    return pick_moved({row.func_id: row.status for row in changes if row.is_significant}, answer.funcs.__getitem__)


def pick_moved(statuses: Mapping[int, str], find_row: Callable[[int], FunctionRow]) -> Mapping[int, str]:
    """Returns the new or gone functions that may only have moved: `new` or `gone` by their ids.

    With source maps for both sides, a new function is certainly not a gone one. Without maps, or with maps of only one
    side (the others were not uploaded or not read yet), functions of the same origin cannot be distinguished.
    """
    sides: dict[str, dict[int, FunctionRow]] = {"new": {}, "gone": {}}
    for func_id, status in statuses.items():
        if status in sides and find_row(func_id).line is not None:
            sides[status][func_id] = find_row(func_id)
    moved = {}
    for status, opposite in (("new", "gone"), ("gone", "new")):
        origins: dict[bool, set[str | None]] = {True: set(), False: set()}
        for func in sides[opposite].values():
            origins[func.mapped is not None].add(origin_of(func.uri))
        for func_id, func in sides[status].items():
            is_mapped = func.mapped is not None
            if origin_of(func.uri) in origins[not is_mapped] or (not is_mapped and origins[False]):
                moved[func_id] = status
    return moved
