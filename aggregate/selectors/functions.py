"""The funcs of a slice, by their exact sums."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from django.db import connection

from aggregate.selectors.categories import select_sites
from aggregate.selectors.contributions import FuncSums
from aggregate.selectors.fine import sum_fine
from aggregate.selectors.labels import label_func, place_of
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import FROM_CELLS, Slice, where_rolled, where_slice
from aggregate.writes import HOTSPOT_SUMS
from profcore.categories import categorize
from profcore.funcs import FuncKey
from profcore.stats.summaries import FuncSummary, Summary
from profcore.stats.views import ViewSample
from profcore.weights import TIME_PART_NAMES, TimeParts

# Ties are broken by the other sums and at last by id, so that equal data gives equal order.
FUNCTION_SORTS: Final = {
    "self_ms": "t.self_us DESC, t.total_us DESC, t.func_id",
    "total_ms": "t.total_us DESC, t.self_us DESC, t.func_id",
    "views": "t.views DESC, t.self_us DESC, t.func_id",
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

    @property
    def key(self) -> FuncKey:
        """Its identity."""
        return FuncKey(self.uri, self.line, self.column, self.name)

    @property
    def label(self) -> str:
        """What to call it."""
        return label_func(self.name, self.uri, self.line, self.column)

    @property
    def place(self) -> str:
        """`file:line:column` of its definition, "" for a built-in."""
        return place_of(self.uri, self.line, self.column)


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
    group_of_func: Mapping[int, str] = field(default_factory=dict)  # of groups: which funcs are summed up in which
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
    reading: Reading | None = None,
) -> FunctionTable:
    """Returns a slice's sums and its funcs with JS or hidden time. `sort` is a key of `FUNCTION_SORTS`.

    Two statements, of which one has sums and funcs of one moment; a fine slice takes more. `categories` keeps those
    funcs alone, in the list and its count; the slice's sums stay. `reading` bounds a fine slice: by default, at once.
    """
    # A category is known when its func is: with one asked for, the database cannot cut the list.
    cut = None if categories else limit
    if slice_.is_fine:
        table = _select_fine(slice_, sort, cut, reading or Reading.at_once())
    else:
        table = _select_cells(slice_, sort, cut)
    sites = select_sites(slice_.project_id) if table.functions else frozenset()
    rows = [replace(row, category=categorize(row.key, sites)) for row in table.functions]
    if not categories:
        return replace(table, functions=rows)
    kept = [row for row in rows if row.category in categories]
    return replace(table, function_count=len(kept), functions=kept[:limit])


def sort_rows(rows: Sequence[FunctionRow], sort: str) -> list[FunctionRow]:
    """Returns rows in the order the database would give them."""
    first, second = {"total_ms": ("total_us", "self_us"), "views": ("views", "self_us")}.get(
        sort, ("self_us", "total_us")
    )
    return sorted(rows, key=lambda row: (-(getattr(row, first) or 0), -getattr(row, second), row.id))


def _select_fine(slice_: Slice, sort: str, limit: int | None, reading: Reading) -> FunctionTable:
    """Sums the views' contributions, or where traces are asked for, those of their raw traces."""
    fine = sum_fine(slice_, reading)
    rows = _name_funcs(slice_.project_id, fine.funcs)
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


def _name_funcs(project_id: int, sums: Mapping[int, FuncSums]) -> list[FunctionRow]:
    ids = [func_id for func_id, each in sums.items() if each.total_us > 0 or each.hidden_us > 0]
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s::int[])""",
            [project_id, ids],
        )
        return [FunctionRow(*facts, **asdict(sums[facts[0]])) for facts in cursor]


def load_keys(project_id: int, func_ids: Sequence[int]) -> dict[int, FuncKey]:
    """Returns the identities of funcs by id."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, uri, line, col, name FROM aggregate_func WHERE project_id = %s AND id = ANY(%s::int[])",
            [project_id, list(func_ids)],
        )
        return {row[0]: FuncKey(*row[1:]) for row in cursor}


def _from_hotspots(slice_: Slice) -> str:
    """Returns where a slice's hotspots come from: from the roll-up where it can tell, the rest from cells."""
    of_cells = "FROM picked p JOIN aggregate_hotspot h ON h.project_id = %(project_id)s AND h.cell_id = p.id"
    rolled = where_rolled(slice_)
    if rolled is None:
        return of_cells
    sums = ", ".join(f"c.{name}" for name in HOTSPOT_SUMS)
    return f"""FROM (SELECT c.func_id, {sums} FROM aggregate_dayhotspot c
                     JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id WHERE {rolled[0]}
                     UNION ALL SELECT h.func_id, {sums.replace("c.", "h.")} {of_cells} WHERE NOT ({rolled[1]})) AS h"""


def _select_cells(slice_: Slice, sort: str, limit: int | None) -> FunctionTable:
    where, params = where_slice(slice_)
    order = FUNCTION_SORTS[sort]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH picked AS MATERIALIZED (SELECT c.* {FROM_CELLS} WHERE {where}),
            whole AS (SELECT COALESCE(sum(views), 0)::bigint AS views,
                             COALESCE(sum(truncated_views), 0)::bigint AS truncated_views,
                             COALESCE(sum(traces), 0)::bigint AS traces, {SUM_PARTS} FROM picked),
            spots AS (
                SELECT h.func_id, sum(h.self_samples)::bigint AS self_samples,
                       sum(h.total_samples)::bigint AS total_samples, sum(h.self_us)::bigint AS self_us,
                       sum(h.total_us)::bigint AS total_us, sum(h.hidden_us)::bigint AS hidden_us,
                       sum(h.views)::bigint AS views
                {_from_hotspots(slice_)}
                GROUP BY h.func_id HAVING sum(h.total_us) > 0 OR sum(h.hidden_us) > 0),
            top AS (SELECT t.*, count(*) OVER () AS found FROM spots t ORDER BY {order} LIMIT %(limit)s)
            SELECT whole.*, COALESCE(t.found, 0), t.func_id, f.name, f.uri, f.line, f.col, t.self_samples,
                   t.total_samples, t.self_us, t.total_us, t.hidden_us, t.views
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
        functions=[FunctionRow(*row[parts + 1 :]) for row in rows if row[parts + 1] is not None],
    )
