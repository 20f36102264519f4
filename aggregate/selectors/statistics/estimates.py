"""Estimates for a table of functions: intervals and percentiles of its rows, from a sample of the slice's views."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings

from aggregate.selectors.code.symbols import Symbols
from aggregate.selectors.functions.groups import ALL, select_function_table, select_group_table
from aggregate.selectors.functions.table import (
    FunctionRow,
    FunctionTable,
    sort_rows,
)
from aggregate.selectors.page_views.samples import select_view_sample, sum_sample
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from profcore.stats.summaries import KnownSums, Summary, summarise
from profcore.stats.views import Measure, ViewSample

PERCENTILE_SORT: Final = "p75_self_ms"
PER_VIEW_SORT: Final = "self_ms_per_view"
COST_SORT: Final = "cost_ms_per_view"  # by self and hidden time; needs the measure `self+hidden`
# Orders by time per view: the order of the sum, except if sample rates differ.
BY_VIEW: Final = {PER_VIEW_SORT: "self_ms", COST_SORT: "cost_ms"}
TABLE_SORTS: Final = ("self_ms", "total_ms", "hidden_ms", "views", PERCENTILE_SORT, PER_VIEW_SORT)
PAGE_SORTS: Final = (COST_SORT, *TABLE_SORTS)
# A row's exact sum by each measure. `_summarise` has the slice's part of time that its share refers to.
SUMS_OF_ROW: Final[Mapping[Measure, Callable[[FunctionRow], int]]] = {
    "self": lambda row: row.self_us,
    "total": lambda row: row.total_us,
    "hidden": lambda row: row.hidden_us,
    "self+hidden": lambda row: row.self_us + row.hidden_us,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """A query for a slice's table. `group_by` is `function` or one of `GROUPINGS`, `sort` one of `PAGE_SORTS`.

    `categories`, `search` and `source_paths` choose rows; the slice's sums stay the same.
    Who needs no totals and views of groups saves most time without `counts_once` (`select_group_table`).
    """

    group_by: str = "function"
    sort: str = "self_ms"
    limit: int = ALL
    categories: Sequence[str] = ()
    measure: Measure = "self"
    search: str = ""
    source_paths: Sequence[str] = ()
    counts_once: bool = True


def select_estimated(
    slice_: Slice, query: TableQuery, reading: Reading | None = None, *, code: Symbols | None = None
) -> FunctionTable:
    """Returns a slice's funcs or groups with their exact sums, and with estimates by self and by `query.measure`.

    A slice of single traces has no estimates, because parts of views are no sample of views. One statement more than
    the table takes. `code` is the project's, for a caller that has it. Raises `NoTotalsError` for totals of groups.
    """
    if query.sort in BY_VIEW:
        return _select_by_view(slice_, query, reading, code)
    by_percentile = query.sort == PERCENTILE_SORT
    sort, limit = ("self_ms", ALL) if by_percentile else (query.sort, query.limit)
    if query.group_by == "function":
        table = select_function_table(
            slice_,
            sort=sort,
            limit=limit,
            categories=query.categories,
            search=query.search,
            keep=_keep_sources(query.source_paths),
            reading=reading,
            code=code,
        )
    else:
        table = select_group_table(
            slice_,
            query.group_by,
            sort=sort,
            limit=limit,
            categories=query.categories,
            search=query.search,
            reading=reading,
            counts_once=query.counts_once,
        )
    if not slice_.traces:
        sample = table.sample or select_view_sample(
            slice_, most=settings.TABLE_STATISTICS_MAX_VIEWS, population=table.views
        )
        numbers = {row.id: int(row.id) if table.row_of is None else at for at, row in enumerate(table.functions)}
        if table.row_of is not None:
            sample = sum_sample(sample, table.row_of, numbers, with_totals=query.group_by == "function")
        table = _with_estimates(table, sample, numbers, query.measure)
    return _sort_by_percentile(table, query.limit) if by_percentile else table


def _keep_sources(paths: Sequence[str]) -> Callable[[FunctionRow], bool] | None:
    wanted = frozenset(paths)
    return (lambda row: row.mapped is not None and row.mapped.original.source in wanted) if wanted else None


def _select_by_view(slice_: Slice, query: TableQuery, reading: Reading | None, code: Symbols | None) -> FunctionTable:
    """Returns the table by time per view: the order of the sum, except if sample rates differ."""
    is_cost = query.sort == COST_SORT
    query = replace(query, sort=BY_VIEW[query.sort])
    table = select_estimated(slice_, query, reading, code=code)
    if table.summary is None or not table.summary.is_weighted:
        return table
    whole = select_estimated(slice_, replace(query, limit=ALL), reading, code=code)
    per_view = whole.cost_ms_per_view if is_cost else whole.self_ms_per_view
    rows = sorted(whole.functions, key=lambda row: -(per_view(row) or 0.0))
    return replace(whole, functions=rows[: query.limit])


def _with_estimates(
    table: FunctionTable, sample: ViewSample, numbers: Mapping[int | str, int], measure: Measure
) -> FunctionTable:
    """Returns the table with its estimates. `numbers` has the func id in the sample for each row's id."""
    by_self = _summarise(table, sample, numbers, "self")
    by_measure = by_self if measure == "self" else _summarise(table, sample, numbers, measure)
    ids = {number: row_id for row_id, number in numbers.items()}
    return replace(
        table,
        summary=by_measure,
        self_estimates={ids[summary.func_id]: summary for summary in by_self.functions if summary.func_id in ids},
        estimates={ids[summary.func_id]: summary for summary in by_measure.functions if summary.func_id in ids},
    )


def _summarise(table: FunctionTable, sample: ViewSample, numbers: Mapping[int | str, int], measure: Measure) -> Summary:
    time = table.time
    whole_us = {"hidden": time.hidden_us, "self+hidden": time.js_us + time.hidden_us}.get(measure, time.js_us)
    sums = {numbers[row.id]: SUMS_OF_ROW[measure](row) for row in table.functions}
    return summarise(sample, measure, known=KnownSums(sums, whole_us))


def _sort_by_percentile(table: FunctionTable, limit: int) -> FunctionTable:
    """Returns the table by p75 of self time, most first, rows without a number last; cut at `limit`."""

    def p75(row: FunctionRow) -> float:
        estimate = table.self_estimates.get(row.id)
        return estimate.p75_ms.value if estimate else -1.0

    rows: Sequence[FunctionRow] = sorted(sort_rows(table.functions, "self_ms"), key=p75, reverse=True)
    return replace(table, functions=rows[:limit])
