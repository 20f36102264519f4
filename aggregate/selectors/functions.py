"""The funcs of a slice, by their exact sums."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from django.db import connection

from aggregate.selectors.code import Code, FuncLabel, RowOf, select_code
from aggregate.selectors.contributions import FuncSums
from aggregate.selectors.fine import sum_fine
from aggregate.selectors.labels import label_func, label_original, place_of
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import DAY_OF_CELL, FROM_CELLS, Slice, where_rolled, where_slice
from aggregate.writes import HOTSPOT_SUMS
from profcore.display_rules import Shown
from profcore.funcs import FuncKey
from profcore.stats.summaries import FuncSummary, Summary
from profcore.stats.views import ViewSample
from profcore.weights import TIME_PART_NAMES, TimeParts

# Ties are broken by the other sums and at last by id, so that equal data gives equal order.
FUNCTION_SORTS: Final = {
    "self_ms": "t.self_us DESC, t.total_us DESC, t.func_id",
    "total_ms": "t.total_us DESC, t.self_us DESC, t.func_id",
    "hidden_ms": "t.hidden_us DESC, t.self_us DESC, t.func_id",
    "views": "t.views DESC, t.self_us DESC, t.func_id",
}
SORTED_BY: Final = {
    "self_ms": ("self_us", "total_us"),
    "total_ms": ("total_us", "self_us"),
    "hidden_ms": ("hidden_us", "self_us"),
    "views": ("views", "self_us"),
}
SUM_PARTS: Final = ", ".join(f"COALESCE(sum({name}), 0)::bigint AS {name}" for name in TIME_PART_NAMES)


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One func's sums in a slice. `views` counts those that ran it. `line` and `column` say where it is defined.

    Of a group of funcs `id` and `name` are the group's, and `views` is None where the slice has too many to look at.
    """

    id: int | str
    name: str
    uri: str | None
    line: int | None
    column: int | None
    self_samples: int
    total_samples: int
    self_us: int
    total_us: int
    hidden_us: int
    views: int | None
    category: str | None = None
    mapped: FuncLabel | None = None  # what a source map says of it
    shown: Shown | None = None  # what the display rules make of it
    release: str | None = None  # the one that it is of, before it is summed up with others; None where not asked

    @property
    def key(self) -> FuncKey:
        """Its identity."""
        return FuncKey(self.uri, self.line, self.column, self.name)

    @property
    def is_made(self) -> bool:
        """Tells whether a display rule made it of several functions."""
        return self.shown is not None and self.shown.row_id is not None

    @property
    def label(self) -> str:
        """What to call it."""
        if self.shown is not None and self.shown.title is not None:
            return self.shown.title
        if self.mapped is not None:
            return label_original(self.mapped.original)
        return label_func(self.name, self.uri, self.line, self.column)

    @property
    def shown_name(self) -> str:
        """Its name, the original one where it is mapped; "" for an anonymous function."""
        if self.shown is not None and self.shown.title is not None:
            return self.shown.title
        return self.name if self.mapped is None else self.mapped.original.name or ""

    @property
    def place(self) -> str:
        """`file:line:column` of its definition, in the original where that is known; "" for a built-in."""
        if self.mapped is not None:
            original = self.mapped.original
            return place_of(original.source, original.line, original.column)
        return place_of(self.uri, self.line, self.column)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The whole paths it has: that of its script, and in the original."""
        return (self.uri or "", self.mapped.original.source if self.mapped is not None else "")


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """A slice's sums and its funcs in the order asked for; `function_count` counts those beyond the limit too."""

    views: int
    traces: int
    time: TimeParts
    function_count: int
    functions: Sequence[FunctionRow]
    source: str = "cells"  # or "contributions", or "raw": what the sums were taken from
    sample: ViewSample | None = None  # of a fine slice: some of the views that were looked at, or all
    truncated_views: int = 0  # of `views`: recording ended before they did, so their sums are too low
    row_of: RowOf | None = None  # which funcs are summed up in which row, where a row is more than one func
    display_rules: int = 0  # how many were applied
    stored_count: int = 0  # how many functions there are without them
    # What a sample of the views says, where it was asked for: by the measure of `summary`, and by self; by row id.
    summary: Summary | None = None
    estimates: Mapping[int | str, FuncSummary] = field(default_factory=dict)
    self_estimates: Mapping[int | str, FuncSummary] = field(default_factory=dict)

    def self_share(self, row: FunctionRow) -> float | None:
        """Returns a func's part of the JS time: of the field's, where sample rates differ. None where there is none."""
        if self.summary is not None and self.summary.is_weighted:
            found = self.self_estimates.get(row.id)
            return found.share.value if found and found.share else None
        return row.self_us / self.time.js_us if self.time.js_us else None

    def self_ms_per_view(self, row: FunctionRow) -> float | None:
        """Returns a func's self time over all views, ms: the field's views, where sample rates differ.

        None where they differ and the sample has nothing of the func, or too few views: what was recorded says little.
        """
        if self.summary is not None and self.summary.is_weighted:
            found = self.self_estimates.get(row.id)
            return found.ms_per_view.value if found else None
        return row.self_us / 1000 / self.views


def select_functions(
    slice_: Slice,
    *,
    sort: str = "self_ms",
    limit: int,
    categories: Sequence[str] = (),
    search: str = "",
    reading: Reading | None = None,
    code: Code | None = None,
) -> FunctionTable:
    """Returns a slice's sums and its funcs with JS or hidden time, as the wire has them. `sort` is a key of
    `FUNCTION_SORTS`; `aggregate.selectors.identities` sums up what is one function.

    Three statements, of which one has sums and funcs of one moment; a fine slice takes more. `categories` and
    `search` (`keep_rows`) keep some funcs alone, in the list and its count; the slice's sums stay. `reading` bounds a
    fine slice: by default, at once.
    """
    # Category and label are known when the func is: with these asked for, the database cannot cut the list.
    cut = None if categories or search else limit
    if slice_.is_fine:
        table = _select_fine(slice_, sort, cut, reading or Reading.at_once())
    else:
        table = _select_cells(slice_, sort, cut)
    code = code or select_code(slice_.project_id, as_stored=slice_.as_stored)
    rows = describe_rows(code, table.functions)
    table = replace(table, functions=rows, display_rules=len(code.display), stored_count=table.function_count)
    if cut is not None:
        return table
    kept = keep_rows(code, rows, categories, search)
    return replace(table, function_count=len(kept), stored_count=len(kept), functions=kept[:limit])


def keep_rows(code: Code, rows: Sequence[FunctionRow], categories: Sequence[str], search: str) -> Sequence[FunctionRow]:
    """Returns the rows of some categories that have a text, whatever its case. Nothing asked for keeps all.

    It is looked for in label, name, `file:line:column` and package; one with a slash in whole addresses too, as the
    flame graph's search does: else a host's name would find all of its functions.
    """
    text = search.casefold()

    def has_text(row: FunctionRow) -> bool:
        texts = [row.label, row.name, row.place, code.package_of(row.key, row.mapped) or ""]
        return any(text in each.casefold() for each in (*texts, *(row.addresses if "/" in text else ())))

    return [row for row in rows if (not categories or row.category in categories) and (not text or has_text(row))]


def select_parts(slice_: Slice, code: Code, *, reading: Reading | None = None) -> FunctionTable:
    """Returns a slice's sums and its funcs, each release's apart: what rows by identity or group are summed up from.

    Without source maps a func is the same in all releases, and they are not apart. Categories are not told: of many
    releases each func would be held against all rules many times.
    One statement more than `select_functions`, while the labels are not remembered.
    """
    by_release = code.labels is not None
    if slice_.is_fine:
        table = _select_fine(slice_, "self_ms", None, reading or Reading.at_once(), by_release=by_release)
    else:
        table = _select_cells(slice_, "self_ms", None, by_release=by_release)
    return replace(table, functions=label_rows(code, table.functions))


def describe_rows(code: Code, rows: Sequence[FunctionRow]) -> list[FunctionRow]:
    """Returns rows with what is known of them: their labels, where they are of one release, and the rest."""
    return [describe_row(code, row) for row in label_rows(code, rows)]


def describe_row(code: Code, row: FunctionRow) -> FunctionRow:
    """Returns a row with its category, and with what the display rules make of it."""
    if row.is_made:
        return row
    return replace(row, category=code.categorize(row.key, row.mapped), shown=code.show(row.key, row.mapped))


def label_rows(code: Code, rows: Sequence[FunctionRow]) -> Sequence[FunctionRow]:
    """Returns rows with their labels, where they are of one release."""
    if code.labels is None:
        return rows
    code.labels.load([(row.release, int(row.id)) for row in rows if row.release is not None])
    return [replace(row, mapped=code.label(row.release, int(row.id))) for row in rows]


def sort_rows(rows: Sequence[FunctionRow], sort: str) -> list[FunctionRow]:
    """Returns rows in the order the database would give them."""
    first, second = SORTED_BY[sort]
    return sorted(
        rows, key=lambda row: (-(getattr(row, first) or 0), -getattr(row, second), isinstance(row.id, str), row.id)
    )


def _select_fine(
    slice_: Slice, sort: str, limit: int | None, reading: Reading, *, by_release: bool = False
) -> FunctionTable:
    """Sums the views' contributions, or where traces are asked for, those of their raw traces."""
    fine = sum_fine(slice_, reading)
    parts: Sequence[tuple[str | None, Mapping[int, FuncSums]]] = (
        list(fine.funcs.items()) if by_release else [(None, fine.all_funcs())]
    )
    rows = [row for release, sums in parts for row in _name_funcs(slice_.project_id, sums, release)]
    return FunctionTable(
        fine.views,
        fine.traces,
        fine.time,
        len(rows),
        sort_rows(rows, sort)[:limit],
        fine.source,
        fine.sample,
        fine.truncated_views,
    )


def _name_funcs(project_id: int, sums: Mapping[int, FuncSums], release: str | None) -> list[FunctionRow]:
    ids = [func_id for func_id, each in sums.items() if each.total_us > 0 or each.hidden_us > 0]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s::int[])""",
            [project_id, ids],
        )
        return [replace(FunctionRow(*facts, **asdict(sums[facts[0]])), release=release) for facts in cursor]


def load_keys(project_id: int, func_ids: Sequence[int]) -> dict[int, FuncKey]:
    """Returns the identities of funcs by id."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, uri, line, col, name FROM aggregate_func WHERE project_id = %s AND id = ANY(%s::int[])",
            [project_id, list(func_ids)],
        )
        return {row[0]: FuncKey(*row[1:]) for row in cursor}


# LATERAL, and OFFSET against its being flattened: the planner does not know how few cells are not rolled yet, and would
# read all hotspots of the project (2 of 2.1 s at a million views).
FEW_CELLS: Final = """CROSS JOIN LATERAL (SELECT h.* FROM aggregate_hotspot h
    WHERE h.project_id = %(project_id)s AND h.cell_id = p.id OFFSET 0) AS h"""


def _from_hotspots(slice_: Slice, *, by_release: bool) -> str:
    """Returns where a slice's hotspots come from: from the roll-up where it can tell, the rest from cells."""
    rolled = where_rolled(slice_)
    if rolled is None:
        return "FROM picked p JOIN aggregate_hotspot h ON h.project_id = %(project_id)s AND h.cell_id = p.id"
    sums = ", ".join(f"h.{name}" for name in HOTSPOT_SUMS)
    of_day, of_cell = ("g.release,", "p.release,") if by_release else ("", "")
    if slice_.ranges:  # a few days, maybe of years: each by its key
        days = f"""(SELECT DISTINCT p.group_id, {of_cell} {DAY_OF_CELL} AS day_at FROM picked p WHERE {rolled[1]}) AS g
            JOIN aggregate_dayhotspot h ON h.project_id = %(project_id)s AND h.group_id = g.group_id
                 AND h.day_at = g.day_at"""
    else:
        days = f"""ingest_group g JOIN aggregate_dayhotspot h ON h.project_id = g.project_id AND h.group_id = g.id
            WHERE {rolled[0]}"""
    return f"""FROM (SELECT h.func_id, {of_day} {sums} FROM {days}
                     UNION ALL SELECT h.func_id, {of_cell} {sums} FROM picked p {FEW_CELLS}
                     WHERE NOT ({rolled[1]})) AS h"""


def _select_cells(slice_: Slice, sort: str, limit: int | None, *, by_release: bool = False) -> FunctionTable:
    where, params = where_slice(slice_)
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
                       sum(h.views)::bigint AS views
                {_from_hotspots(slice_, by_release=by_release)}
                GROUP BY func_id{and_by} HAVING sum(h.total_us) > 0 OR sum(h.hidden_us) > 0),
            top AS (SELECT t.*, count(*) OVER () AS found FROM spots t ORDER BY {order} LIMIT %(limit)s)
            SELECT whole.*, COALESCE(t.found, 0), t.func_id, f.name, f.uri, f.line, f.col, t.self_samples,
                   t.total_samples, t.self_us, t.total_us, t.hidden_us, t.views, t.release
            FROM whole LEFT JOIN top t ON true
                 LEFT JOIN aggregate_func f ON f.project_id = %(project_id)s AND f.id = t.func_id
            ORDER BY {order}""",
            {**params, "limit": limit},
        )
        return _read_table(cursor.fetchall())


def _read_table(rows: Sequence[tuple[Any, ...]]) -> FunctionTable:  # Any: rows as the driver types them
    parts = 3 + len(TIME_PART_NAMES)
    first = rows[0]  # `whole` is always one row
    return FunctionTable(
        views=first[0],
        truncated_views=first[1],
        traces=first[2],
        time=TimeParts(*first[3:parts]),
        function_count=first[parts],
        functions=[
            replace(FunctionRow(*row[parts + 1 : -1]), release=row[-1]) for row in rows if row[parts + 1] is not None
        ],
    )
