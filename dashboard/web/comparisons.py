"""Comparisons that pages and the read API share: the last ones are remembered."""

from functools import lru_cache
from typing import Final

from aggregate.selectors.code.project_code import select_code
from aggregate.selectors.exports.slice_export import fingerprint_slice
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import SliceComparison, compare_slices
from profcore.stats.views import Measure

# A table is narrowed, ordered and searched over one comparison. One of 2,000 functions takes 2 MB.
COMPARISONS_KEPT: Final = 4


def remember_comparison(
    base: Slice, head: Slice, measure: Measure, group_by: str, facts: str, *, stratify: str = ""
) -> SliceComparison:
    """Returns the comparison of two slices. The last ones are kept in memory.

    `facts` is the result of `facts_of_sides` as a text: one more trace makes another comparison.
    """
    return _remember(base, head, measure, group_by, facts, stratify)


@lru_cache(maxsize=COMPARISONS_KEPT)
def _remember(base: Slice, head: Slice, measure: Measure, group_by: str, _facts: str, stratify: str) -> SliceComparison:
    return compare_slices(base, head, measure=measure, group_by=group_by, stratify=stratify)


def facts_of_sides(base: Slice, head: Slice) -> tuple[object, ...]:
    """Returns the facts that decide a comparison: they change with each folded trace, and with rules and labels.

    Contributions that expire later change nothing: a comparison from more of them stays right.
    """
    code = select_code(base.project_id)
    sides = [(side.query(), fingerprint_slice(side)) for side in (base, head)]
    return base.project_id, sides, sorted(code.sites), code.version
