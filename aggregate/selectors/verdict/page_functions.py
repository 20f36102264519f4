"""The functions of the pages of two sides, by identity across releases: what the verdict asks about each of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.view_times import ViewTimes
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import HeadTree, NumberedSides, number_funcs
from aggregate.selectors.statistics.moved import pick_moved
from profcore.code.identity import without_hash
from profcore.stats.culprits import FindCallers
from profcore.stats.joining import split_views
from profcore.stats.verdict.family import PageSides, read_page
from profcore.stats.verdict.incidents import Code
from profcore.stats.views import number_anew

# Of all views of a side together: half a million times 80 bytes. 8,000 views of a usual page have as many.
MAX_FUNCTIONS: Final = 700_000
# Pages whose call trees one verdict reads, as one tree: those on which functions grew most.
MAX_TREES: Final = 4


@dataclass(frozen=True, slots=True)
class ReadFunctions:
    """The pages with their functions; `find_row` returns the row to show of one, that of the head if it has it."""

    pages: Sequence[PageSides]
    find_row: Callable[[int], FunctionRow]
    code: Code


def read_functions(
    base: Slice,
    head: Slice,
    times: Sequence[ViewTimes],
    pages: Sequence[str],
    *,
    by_device: bool,
    by_navigation: bool,
) -> ReadFunctions:
    """Returns the functions of some pages. `times` have the views of base and head, whose strata are the pages.

    Up to four statements, and one for the call trees of pages on which several functions grew.
    """
    code = load_symbols(base.project_id, as_stored=base.as_stored)
    read = [side.functions(MAX_FUNCTIONS) for side in times]
    sides = number_funcs(base.project_id, [sample for _, sample in read], code)
    # Rows are grouped page by page, after those of functions that cannot matter are dropped: a tenth is left.
    samples = [
        number_anew(sample, numbers, sides.count) for sample, numbers in zip(sides.samples, sides.numbers, strict=True)
    ]
    parts = [split_views(sample, stratum, len(pages)) for sample, (stratum, _) in zip(samples, read, strict=True)]
    found = []
    for page, before, after in zip(pages, *parts, strict=True):
        sides_of_page = read_page(page, before, after, by_device=by_device, by_navigation=by_navigation)
        if sides_of_page is not None:
            found.append(sides_of_page)
    return ReadFunctions(found, sides.find_row, _describe_code(head, sides))


def _describe_code(head: Slice, sides: NumberedSides) -> Code:
    def read_callers(pages: Sequence[str]) -> FindCallers:
        named = tuple(page for page in pages[:MAX_TREES] if page)
        return HeadTree(replace(head, pages=named or head.pages), sides).find_callers

    def find_moved(statuses: Mapping[int, str]) -> Collection[int]:
        return pick_moved(statuses, sides.find_row)

    return Code(
        read_callers=read_callers,
        find_file=lambda func_id: _file_of(sides.find_row(func_id)),
        find_moved=find_moved,
    )


def _file_of(row: FunctionRow) -> str | None:
    if row.mapped is not None:
        return row.mapped.original.source
    return None if row.uri is None else without_hash(row.uri)
