"""Statistics of a slice from its views' contributions: summaries of one slice, the comparison of two."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import connection

from aggregate.selectors.categories import group_of, select_sites
from aggregate.selectors.functions import load_keys
from aggregate.selectors.samples import select_marker_sample, select_view_sample
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.categories import NO_GROUP
from profcore.funcs import FuncKey
from profcore.identity import identity_of
from profcore.stats.comparison import Comparison, compare
from profcore.stats.summaries import FuncSummary, Summary, summarise
from profcore.stats.views import Measure, group_funcs
from profcore.weights import MARKERS


def select_summary(slice_: Slice, *, measure: Measure = "self") -> Summary:
    """Returns every func of a slice with its ms a view, share and percentiles, each with its uncertainty."""
    return summarise(select_view_sample(slice_), measure)


@dataclass(frozen=True, slots=True)
class MarkerTable:
    """What samples of a slice carried: exact µs by marker, and what a view with markers has of each."""

    us: Mapping[str, int]
    summary: Summary

    def estimate(self, marker: str) -> FuncSummary | None:
        """Returns a marker's estimates, None where it never came, or views are too few."""
        return next((each for each in self.summary.functions if MARKERS[each.func_id] == marker), None)


def select_markers(slice_: Slice) -> MarkerTable:
    """Returns the time of a slice by marker, over the views that came with any. Three statements.

    Browsers give markers to pages that are cross-origin isolated, or to none: their absence says nothing.
    """
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT m.n, sum(m.us)::bigint {FROM_CELLS}
                CROSS JOIN LATERAL unnest(c.marker_us) WITH ORDINALITY AS m (us, n)
                WHERE {where} AND c.marker_us IS NOT NULL GROUP BY m.n ORDER BY m.n""",
            params,
        )
        sums = {MARKERS[number - 1]: us for number, us in cursor}
    return MarkerTable(sums, summarise(select_marker_sample(slice_)))


@dataclass(frozen=True, slots=True)
class ComparedFunc:
    """What to show of an identity: the func of the head release, or of the base where it went.

    Of a group of funcs `id` and `key.name` are its name, and `key` has no place; but a file has its URI.
    """

    id: int | str
    key: FuncKey


@dataclass(frozen=True, slots=True)
class SliceComparison:
    """The comparison of two slices; `funcs[d.func_id]` is the func of a difference `d`."""

    comparison: Comparison
    funcs: Sequence[ComparedFunc]


def compare_slices(
    base: Slice, head: Slice, *, measure: Measure = "self+hidden", group_by: str = "function"
) -> SliceComparison:
    """Compares two slices of one project by identity across releases (`profcore.identity`), or by group of funcs.

    `group_by` is `function` or one of `GROUPINGS`; files are told apart without the content hash in their names.
    Raises `NoTotalsError` for totals of groups.
    """
    samples = [select_view_sample(slice_) for slice_ in (base, head)]
    wanted = np.unique(np.concatenate([sample.func_ids for sample in samples])).tolist()
    keys = load_keys(base.project_id, wanted)
    show = _show_func if group_by == "function" else _show_group(base.project_id, group_by)
    index: dict[FuncKey | str, int] = {}
    shown: list[ComparedFunc] = []
    grouped = []
    for sample in reversed(samples):  # the head's funcs are the ones to show
        numbers = []
        for func_id in sample.func_ids.tolist():
            identity, compared = show(func_id, keys[func_id])
            if identity not in index:
                index[identity] = len(shown)
                shown.append(compared)
            numbers.append(index[identity])
        grouped.append(group_funcs(sample, numbers))
    return SliceComparison(compare(grouped[1], grouped[0], measure=measure), shown)


def _show_func(func_id: int, key: FuncKey) -> tuple[FuncKey | str, ComparedFunc]:
    return identity_of(key), ComparedFunc(func_id, key)


def _show_group(project_id: int, by: str) -> Callable[[int, FuncKey], tuple[FuncKey | str, ComparedFunc]]:
    name_of = group_of(by, select_sites(project_id))

    def show(_func_id: int, key: FuncKey) -> tuple[FuncKey | str, ComparedFunc]:
        name = name_of(identity_of(key))
        uri = name if by == "file" and name != NO_GROUP else None
        return name, ComparedFunc(name, FuncKey(uri, None, None, name))

    return show
