"""The funcs of a slice, by their exact sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec
from django.conf import settings
from django.db import connection

from aggregate.selectors.code.labels import label_func, label_original, place_of
from aggregate.selectors.code.rows import RowOf
from aggregate.selectors.code.symbols import FuncLabel, Symbols, load_symbols
from aggregate.selectors.functions.hotspots import from_hotspots
from aggregate.selectors.page_views.contributions import SliceFuncSums
from aggregate.selectors.page_views.fine_sums import sum_fine
from aggregate.selectors.slice.reading import NARROW, Reading, SliceTooLarge
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.code.display_rules import Display
from profcore.stats.summaries import FuncSummary, Summary
from profcore.stats.views import ViewSample
from profcore.trace.funcs import FuncKey
from profcore.trace.weights import TIME_PART_NAMES, TimeParts

# Ties are broken by another sum and at last by id, so that equal data gives equal order.
FUNCTION_SORTS: Final = {
    "self_ms": "t.self_us DESC, t.total_us DESC, t.func_id",
    "total_ms": "t.total_us DESC, t.self_us DESC, t.func_id",
    "hidden_ms": "t.hidden_us DESC, t.self_us DESC, t.func_id",
    "views": "t.views DESC, t.self_us DESC, t.func_id",
    "cost_ms": "t.self_us + t.hidden_us DESC, t.self_us DESC, t.func_id",
}
SORTED_BY: Final = {
    "self_ms": ("self_us", "total_us"),
    "total_ms": ("total_us", "self_us"),
    "hidden_ms": ("hidden_us", "self_us"),
    "views": ("views", "self_us"),
    "cost_ms": ("cost_us", "self_us"),
}
MAX_SEARCH_CHARS: Final = 200  # as in a long path; every function's texts are searched
SUM_PARTS: Final = ", ".join(f"COALESCE(sum({name}), 0)::bigint AS {name}" for name in TIME_PART_NAMES)


class FunctionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One func's sums in a slice. `views` counts those that ran it. `line` and `column` say where it is defined.

    For a group of funcs, `id` and `name` are the group's. `views` is None if the slice has too many views to look at.
    """

    id: int | str
    name: str
    uri: str | None = None
    line: int | None = None
    column: int | None = None
    self_samples: int = 0
    total_samples: int = 0
    self_us: int = 0
    total_us: int = 0
    hidden_us: int = 0
    hidden_total_us: int = 0
    uncertain_us: int = 0
    views: int | None = None
    category: str | None = None
    mapped: FuncLabel | None = None  # its label from a source map
    display: Display | None = None  # how the display rules show it
    renamed_from: "FunctionRow | None" = None  # in a comparison, its row in the base if it was only renamed
    release: str | None = None  # its release, before it is summed up with others; None if releases are not separate

    @property
    def cost_us(self) -> int:
        """Its self and hidden time together: the measure of the verdict."""
        return self.self_us + self.hidden_us

    @property
    def key(self) -> FuncKey:
        """Its identity."""
        return FuncKey(self.uri, self.line, self.column, self.name)

    @property
    def is_made(self) -> bool:
        """Returns whether a display rule made the row of several functions."""
        return self.display is not None and self.display.row_id is not None

    @property
    def label(self) -> str:
        """The name to show: a rule's title, the original's label, or the func's own."""
        if self.display is not None and self.display.title is not None:
            return self.display.title
        if self.mapped is not None:
            return label_original(self.mapped.original)
        return label_func(self.name, self.uri, self.line, self.column)

    @property
    def shown_name(self) -> str:
        """The name without a place, of the original if there is one; "" for an anonymous function."""
        if self.display is not None and self.display.title is not None:
            return self.display.title
        return self.name if self.mapped is None else self.mapped.original.name or ""

    @property
    def place(self) -> str:
        """`file:line:column` of the definition, in the original if that is known; "" for a built-in."""
        if self.mapped is not None:
            original = self.mapped.original
            return place_of(original.source, original.line, original.column)
        return place_of(self.uri, self.line, self.column)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The full paths of its script and of its original source, "" for one that is not known."""
        return (self.uri or "", self.mapped.original.source if self.mapped is not None else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTable:
    """A slice's sums and its funcs in the wanted order; `function_count` also counts those beyond the limit."""

    views: int
    traces: int
    time: TimeParts
    function_count: int
    functions: Sequence[FunctionRow]
    source: str = "cells"  # where the sums come from: cells, contributions or raw
    sample: ViewSample | None = None  # of a fine slice: some of the views that were looked at, or all
    truncated_views: int = 0  # those of `views` whose recording ended before they did, so their sums are too low
    row_of: RowOf | None = None  # the row of each func, if a row may be more than one func
    display_rules: int = 0  # how many rules were applied
    stored_count: int = 0  # how many functions there are without the rules
    # Estimates from a sample of the views, if they were wanted: by the measure of `summary`, and by self; by row id.
    summary: Summary | None = None
    estimates: Mapping[int | str, FuncSummary] = field(default_factory=dict)
    self_estimates: Mapping[int | str, FuncSummary] = field(default_factory=dict)

    def self_share(self, row: FunctionRow) -> float | None:
        """Returns a func's share of JS time, estimated for all users if sample rates differ. None without JS time."""
        if self.summary is not None and self.summary.is_weighted:
            estimate = self.self_estimates.get(row.id)
            return estimate.share.value if estimate and estimate.share else None
        return row.self_us / self.time.js_us if self.time.js_us else None

    def self_ms_per_view(self, row: FunctionRow) -> float | None:
        """Returns a func's self time per view, ms, estimated for all users if sample rates differ.

        None if they differ and the sample has no time of the func or too few views: the recorded sums say little then.
        """
        if self.summary is not None and self.summary.is_weighted:
            estimate = self.self_estimates.get(row.id)
            return estimate.ms_per_view.value if estimate else None
        return row.self_us / 1000 / self.views

    def cost_ms_per_view(self, row: FunctionRow) -> float | None:
        """Returns a func's self and hidden time per view, ms, as `self_ms_per_view` does. Needs estimates of both."""
        if self.summary is not None and self.summary.is_weighted:
            estimate = self.estimates.get(row.id)
            return estimate.ms_per_view.value if estimate else None
        return row.cost_us / 1000 / self.views

    def cost_share(self, row: FunctionRow) -> float | None:
        """Returns a func's share of script and hidden time, as `self_share` does. Needs estimates of both."""
        if self.summary is not None and self.summary.is_weighted:
            estimate = self.estimates.get(row.id)
            return estimate.share.value if estimate and estimate.share else None
        whole_us = self.time.js_us + self.time.hidden_us
        return row.cost_us / whole_us if whole_us else None


def select_functions(
    slice_: Slice,
    *,
    sort: str = "self_ms",
    limit: int,
    categories: Sequence[str] = (),
    search: str = "",
    reading: Reading | None = None,
    code: Symbols | None = None,
) -> FunctionTable:
    """Returns a slice's sums and its funcs with JS or hidden time, each as the wire has it.

    `aggregate.selectors.functions.groups` sums up the funcs that are one function. `sort` is a key of `FUNCTION_SORTS`.
    `categories` and `search` (`keep_rows`) keep only some funcs, in the list and its count; the slice's sums stay.
    `reading` bounds a fine slice, by default at once. Three statements, of which one reads sums and funcs of one
    moment; a fine slice takes more.
    """
    # Category and label are known only after the func is read, so with these filters the database cannot cut the list.
    cut = None if categories or search else limit
    code = code or load_symbols(slice_.project_id, as_stored=slice_.as_stored)
    if slice_.is_fine:
        table = _select_fine(slice_, sort, cut, reading or Reading.at_once())
        table = replace(table, functions=describe_rows(code, table.functions))
    else:
        table = _select_cells(slice_, sort, cut, code=code)
    rows = table.functions
    table = replace(table, display_rules=len(code.display), stored_count=table.function_count)
    if cut is not None:
        return table
    kept = keep_rows(code, rows, categories, search)
    return replace(table, function_count=len(kept), stored_count=len(kept), functions=kept[:limit])


def keep_rows(
    code: Symbols, rows: Sequence[FunctionRow], categories: Sequence[str], search: str
) -> Sequence[FunctionRow]:
    """Returns the rows of some categories that contain a text, ignoring case. Empty filters keep all rows.

    The text is searched in label, name, `file:line:column` and package. A text with a slash is also searched in full
    addresses, as in the flame graph's search; without this rule, a host's name would find all of its functions.
    """
    text = search.casefold()

    def has_text(row: FunctionRow) -> bool:
        texts = [row.label, row.name, row.place, code.package_of(row.key, row.mapped) or ""]
        return any(text in searched.casefold() for searched in (*texts, *(row.addresses if "/" in text else ())))

    return [row for row in rows if (not categories or row.category in categories) and (not text or has_text(row))]


def select_parts(slice_: Slice, code: Symbols, *, reading: Reading | None = None) -> FunctionTable:
    """Returns a slice's sums and its funcs, separately for each release, to be summed up by identity or group.

    Without source maps a func is the same in all releases, and releases are not separate. Categories are left out:
    with many releases, each func would be matched against all rules many times. One statement more than
    `select_functions` if the labels are not cached.
    """
    by_release = code.labels is not None
    if slice_.is_fine:
        table = _select_fine(slice_, "self_ms", None, reading or Reading.at_once(), by_release=by_release)
    else:
        table = _select_cells(slice_, "self_ms", None, by_release=by_release)
    return replace(table, functions=label_rows(code, table.functions))


def describe_rows(code: Symbols, rows: Sequence[FunctionRow]) -> list[FunctionRow]:
    """Returns rows with their labels, if they are of one release, their categories and how they are shown."""
    return [describe_row(code, row) for row in label_rows(code, rows)]


def describe_row(code: Symbols, row: FunctionRow) -> FunctionRow:
    """Returns a row with its category, and with how the display rules show it."""
    if row.is_made:
        return row
    return msgspec.structs.replace(
        row, category=code.categorize(row.key, row.mapped), display=code.show(row.key, row.mapped)
    )


def label_rows(code: Symbols, rows: Sequence[FunctionRow]) -> Sequence[FunctionRow]:
    """Returns rows with their labels, if they are of one release."""
    if code.labels is None:
        return rows
    code.labels.load([(row.release, int(row.id)) for row in rows if row.release is not None])
    return [msgspec.structs.replace(row, mapped=code.label(row.release, int(row.id))) for row in rows]


def sort_rows(rows: Sequence[FunctionRow], sort: str) -> list[FunctionRow]:
    """Returns rows in the order the database would give them."""
    first, second = SORTED_BY[sort]
    return sorted(
        rows, key=lambda row: (-(getattr(row, first) or 0), -getattr(row, second), isinstance(row.id, str), row.id)
    )


def _select_fine(
    slice_: Slice, sort: str, limit: int | None, reading: Reading, *, by_release: bool = False
) -> FunctionTable:
    """Returns the sums of the views' contributions, or of their raw traces if the slice names traces or tags."""
    fine = sum_fine(slice_, reading)
    parts: Sequence[tuple[str | None, Mapping[int, SliceFuncSums]]] = (
        list(fine.funcs.items()) if by_release else [(None, fine.all_funcs())]
    )
    rows = [row for release, sums in parts for row in _name_funcs(slice_.project_id, sums, release)]
    return FunctionTable(
        views=fine.views,
        traces=fine.traces,
        time=fine.time,
        function_count=len(rows),
        functions=sort_rows(rows, sort)[:limit],
        source=fine.source,
        sample=fine.sample,
        truncated_views=fine.truncated_views,
    )


def _name_funcs(project_id: int, sums: Mapping[int, SliceFuncSums], release: str | None) -> list[FunctionRow]:
    ids = [func_id for func_id, func_sums in sums.items() if func_sums.has_time]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s::int[])""",
            [project_id, ids],
        )
        rows = cursor.fetchall()
    return [
        FunctionRow(
            id=func_id,
            name=name,
            uri=uri,
            line=line,
            column=column,
            self_samples=sums[func_id].self_samples,
            total_samples=sums[func_id].total_samples,
            self_us=sums[func_id].self_us,
            total_us=sums[func_id].total_us,
            hidden_us=sums[func_id].hidden_us,
            hidden_total_us=sums[func_id].hidden_total_us,
            uncertain_us=sums[func_id].uncertain_us,
            views=sums[func_id].views,
            release=release,
        )
        for func_id, name, uri, line, column in rows
    ]


def _select_cells(
    slice_: Slice, sort: str, limit: int | None, *, by_release: bool = False, code: Symbols | None = None
) -> FunctionTable:
    """Returns the sums of cells. With `code`, for funcs of all releases together, rows are described as by it.

    Raises `SliceTooLarge` if more than `JOB_MAX_FUNCS` would be read.
    """
    where, params = where_slice(slice_)
    most = settings.JOB_MAX_FUNCS
    order = FUNCTION_SORTS[sort]
    of_cell, by, and_by = (", g.release", "release", ", release") if by_release else ("", "NULL::text", "")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH picked AS MATERIALIZED (SELECT c.*{of_cell} {FROM_CELLS} WHERE {where}),
            whole AS (SELECT COALESCE(sum(views), 0)::bigint AS views,
                             COALESCE(sum(truncated_views), 0)::bigint AS truncated_views,
                             COALESCE(sum(traces), 0)::bigint AS traces, {SUM_PARTS} FROM picked),
            spots AS (
                SELECT func_id, {by} AS release, sum(h.self_samples)::bigint AS self_samples,
                       sum(h.total_samples)::bigint AS total_samples, sum(h.self_us)::bigint AS self_us,
                       sum(h.total_us)::bigint AS total_us, sum(h.hidden_us)::bigint AS hidden_us,
                       sum(h.hidden_total_us)::bigint AS hidden_total_us,
                       sum(h.uncertain_us)::bigint AS uncertain_us, sum(h.views)::bigint AS views
                {from_hotspots(slice_, by_release=by_release)}
                GROUP BY func_id{and_by}
                HAVING sum(h.total_us) > 0 OR sum(h.hidden_us) > 0 OR sum(h.uncertain_us) > 0),
            top AS (SELECT t.*, count(*) OVER () AS found FROM spots t ORDER BY {order} LIMIT %(limit)s)
            SELECT t.func_id, f.name, f.uri, f.line, f.col, t.self_samples, t.total_samples, t.self_us, t.total_us,
                   t.hidden_us, t.hidden_total_us, t.uncertain_us, t.views, t.release, COALESCE(t.found, 0), whole.*
            FROM whole LEFT JOIN top t ON true
                 LEFT JOIN aggregate_func f ON f.project_id = %(project_id)s AND f.id = t.func_id
            ORDER BY {order}""",
            {**params, "limit": most + 1 if limit is None else min(limit, most + 1)},
        )
        rows = cursor.fetchall()
    if len(rows) > most:
        raise SliceTooLarge("from", f"The slice has more than {most} functions. {NARROW}", fits_job=False)
    return _read_table(rows, code)


# The first columns of a row, in the order of the statement, by the fields of `FunctionRow`.
FUNCTION_COLUMNS: Final = (
    *("id", "name", "uri", "line", "column", "self_samples", "total_samples", "self_us", "total_us"),
    *("hidden_us", "hidden_total_us", "uncertain_us", "views", "release"),
)


def _read_function(row: Sequence[Any], code: Symbols | None) -> FunctionRow:  # Any: as the driver types them
    function = FunctionRow(**dict(zip(FUNCTION_COLUMNS, row, strict=True)))
    return function if code is None else describe_row(code, function)


def _read_table(
    rows: Sequence[tuple[Any, ...]], code: Symbols | None
) -> FunctionTable:  # Any: as the driver types them
    # A slice without funcs has one row, of its sums.
    functions = [_read_function(row[: len(FUNCTION_COLUMNS)], code) for row in rows if row[0] is not None]
    function_count, views, truncated_views, traces, *parts = rows[0][len(FUNCTION_COLUMNS) :]
    return FunctionTable(
        views=views,
        truncated_views=truncated_views,
        traces=traces,
        time=TimeParts(*parts),
        function_count=function_count,
        functions=functions,
    )
