"""The funcs of a slice by file, package, origin or category."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from aggregate.selectors.categories import group_of, select_sites
from aggregate.selectors.contributions import iter_slice_views
from aggregate.selectors.fine import is_raw
from aggregate.selectors.functions import FunctionRow, FunctionTable, select_functions, sort_rows
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import Slice
from aggregate.selectors.whole import merge_slice
from profcore.calltree import CallTree
from profcore.categories import NO_GROUP
from profcore.fold import sum_by_func

ALL: Final = 2**31 - 1


def select_groups(
    slice_: Slice,
    by: str,
    *,
    sort: str = "self_ms",
    limit: int,
    categories: Sequence[str] = (),
    reading: Reading | None = None,
) -> FunctionTable:
    """Returns a slice's sums and its groups, in the shape of funcs; `by` is one of `GROUPINGS`.

    Self and hidden are sums over the group's funcs. Total is counted once a sample however many of them are on its
    stack, so it is taken from the merged call tree. `views` is the number of views that ran any of them, from the
    views' contributions; None in slices of traces or tags, and where they are more than the reading may look at.
    A fine slice is read once for each of the three.
    """
    reading = reading or Reading.at_once()
    table = select_functions(slice_, limit=ALL, categories=categories, reading=reading)
    name_of = group_of(by, select_sites(slice_.project_id))
    group_of_func = {int(row.id): name_of(row.key) for row in table.functions}
    totals = _total_by_group(merge_slice(slice_, reading).tree, group_of_func)
    views = _views_by_group(slice_, table, group_of_func, reading)
    groups: dict[str, FunctionRow] = {}
    for row in table.functions:
        name = group_of_func[int(row.id)]
        known = groups.get(name)
        groups[name] = replace(
            known or _empty_row(name, by),
            self_samples=row.self_samples + (known.self_samples if known else 0),
            self_us=row.self_us + (known.self_us if known else 0),
            hidden_us=row.hidden_us + (known.hidden_us if known else 0),
        )
    rows = [
        replace(row, total_us=us, total_samples=samples, views=None if views is None else views.get(name, 0))
        for name, row in groups.items()
        for us, samples in [totals.get(name, (0, 0))]
    ]
    return replace(
        table, function_count=len(rows), functions=sort_rows(rows, sort)[:limit], group_of_func=group_of_func
    )


def _empty_row(name: str, by: str) -> FunctionRow:
    is_category = by == "category" and name != NO_GROUP
    uri = name if by == "file" and name != NO_GROUP else None
    return FunctionRow(name, name, uri, None, None, 0, 0, 0, 0, 0, None, name if is_category else None)


def _total_by_group(tree: CallTree, group_of_func: Mapping[int, str]) -> dict[str, tuple[int, int]]:
    """Returns (µs, samples) of each group, once a sample."""
    names = list(dict.fromkeys(group_of_func.values()))
    index_of = {name: index for index, name in enumerate(names)}
    rest = len(names)  # funcs that are not listed: without time, or of another category
    group = [index_of[group_of_func[func]] if func in group_of_func else rest for func in tree.func]
    sums = sum_by_func(tree.prefix, group, tree.self_us, tree.self_samples, tree.hidden_us)
    return {name: (sums.total_us.get(index, 0), sums.total_samples.get(index, 0)) for name, index in index_of.items()}


def _views_by_group(
    slice_: Slice, table: FunctionTable, group_of_func: Mapping[int, str], reading: Reading
) -> dict[str, int] | None:
    if is_raw(slice_) or (reading.max_views is not None and table.views > reading.max_views):
        return None
    counts: dict[str, int] = {}
    for page in iter_slice_views(slice_, reading):
        for view in page:
            for name in {group_of_func[func] for func in view.contribution.funcs_run() if func in group_of_func}:
                counts[name] = counts.get(name, 0) + 1
        reading.on_traces(sum(view.traces for view in page))
    return counts
