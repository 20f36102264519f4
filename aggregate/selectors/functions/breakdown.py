"""One function's sums by a dimension, or over the whole slice."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any, Final

from django.db import connection

from aggregate.fold.hotspots import spots_of_funcs
from aggregate.selectors.code.refs import FuncRef, find_ref
from aggregate.selectors.code.symbols import RowId
from aggregate.selectors.functions.display_rows import is_made_id
from aggregate.selectors.functions.grouped_rows import find_grouped_row
from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.fine_sums import select_seen_views
from aggregate.selectors.slice.slices import DAY_OF_CELL, FROM_CELLS, Slice, where_rolled, where_slice
from profcore.trace.dimensions import DIMENSIONS

# What a breakdown may be by, and the expression for a cell's value, as text or code.
EXPRESSIONS: Final = {
    "release": "g.release",
    "page": "g.page",
    **{dimension.name: f"c.{dimension.column}" for dimension in DIMENSIONS},
    "day": "to_char(c.starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
}
VALUES: Final[Mapping[str, Callable[[SliceView], str]]] = {
    "release": lambda view: view.release,
    "page": lambda view: view.page,
    "day": lambda view: view.starts_at.astimezone(UTC).strftime("%Y-%m-%d"),
}
VALUES_OF_CODES: Final = {dimension.name: dimension.values for dimension in DIMENSIONS}
MAX_ROWS: Final = 10_000
WHOLE: Final = ""  # the value of the one row that is not by any dimension
FUNC_SUMS: Final = ("views", "self_us", "total_us", "hidden_us", "uncertain_us", "self_samples", "total_samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionBreakdownRow:
    """A func's sums for one value of a dimension. `views` are all of that value, `func_views` those that ran the func.

    `slice_js_us` and `slice_hidden_us` are the JS and the hidden time of all those views, in every func.
    """

    value: str
    views: int = 0
    func_views: int = 0
    self_us: int = 0
    total_us: int = 0
    hidden_us: int = 0
    uncertain_us: int = 0
    self_samples: int = 0
    total_samples: int = 0
    slice_js_us: int = 0
    slice_hidden_us: int = 0


@dataclass(frozen=True, slots=True)
class FunctionBreakdown:
    """One function's sums by a dimension; `source` is `cells`, `contributions` or `raw`.

    With `is_made` the function is a row that a display rule made of several: their totals and views overlap.
    """

    source: str
    rows: Sequence[FunctionBreakdownRow]
    is_made: bool = False


def select_function_breakdown(slice_: Slice, func_id: RowId, by: str) -> FunctionBreakdown:
    """Returns a function's sums by a dimension, also for values where it took no time. `by` is a key of `EXPRESSIONS`.

    If a release has copies of the function, as in two bundles, a sample counts in the total of each copy on its stack,
    and a view counts for each copy that it ran.

    Days come in their order, values of other dimensions with the most self time first. One statement. A fine slice
    takes more: its views are read at once, or for `trace` and `tag` its raw traces. Raises `SliceError`.
    """
    grouped = find_grouped_row(slice_, str(func_id)) if is_made_id(func_id) else None
    if grouped is not None:
        return replace(count_breakdown(slice_, grouped.ref, by), is_made=True)
    return count_breakdown(slice_, find_ref(slice_.project_id, func_id), by)


def count_breakdown(slice_: Slice, ref: FuncRef, by: str | None) -> FunctionBreakdown:
    """Returns the breakdown of a function that is found already. Without `by` it has one row, or none without views."""
    if not slice_.is_fine:
        return FunctionBreakdown("cells", _from_cells(slice_, ref, by))
    seen = select_seen_views(slice_, keep_funcs=ref.funcs)
    return FunctionBreakdown(seen.source, sum_views(seen.views, ref, by))


def value_of(view: SliceView, by: str | None) -> str:
    """Returns the value of the breakdown row that a view is in."""
    if by is None:
        return WHOLE
    return VALUES[by](view) if by in VALUES else view.dimensions[by]


def sum_views(views: Sequence[SliceView], ref: FuncRef, by: str | None) -> Sequence[FunctionBreakdownRow]:
    """Returns the rows of a breakdown over views that were read."""
    rows: dict[str, Counter[str]] = {}
    for view in views:
        sums = rows.setdefault(value_of(view, by), Counter())
        sums["views"] += 1
        sums["slice_js_us"] += view.time.js_us
        sums["slice_hidden_us"] += view.time.hidden_us
        contribution = view.contribution
        for at in view.positions_of(ref):
            sums["func_views"] += contribution.total_samples[at] > 0
            sums["self_us"] += contribution.self_us[at]
            sums["total_us"] += contribution.total_us[at]
            sums["hidden_us"] += contribution.hidden_us[at]
            sums["uncertain_us"] += contribution.uncertain_us[at]
            sums["self_samples"] += contribution.self_samples[at]
            sums["total_samples"] += contribution.total_samples[at]
    breakdown = [FunctionBreakdownRow(value=value, **sums) for value, sums in rows.items()]
    breakdown.sort(key=lambda row: (0 if by == "day" else -row.self_us, row.value))
    return breakdown[:MAX_ROWS]


def _from_cells(slice_: Slice, ref: FuncRef, by: str | None) -> Sequence[FunctionBreakdownRow]:
    where, params = where_slice(slice_)
    value = EXPRESSIONS[by] if by is not None else f"'{WHOLE}'"
    order = "1" if by == "day" else "4 DESC, 1"
    sums = ", ".join(f"sum(h.{name})::bigint AS {name}" for name in FUNC_SUMS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH picked AS MATERIALIZED (
                    SELECT c.id, c.group_id, c.starts_at, c.is_rolled, c.views, c.js_us, c.hidden_us, g.release,
                           {value} AS value {FROM_CELLS} WHERE {where} AND c.views > 0),
                found AS (SELECT h.value, {sums} FROM ({_select_spots(slice_, ref, by, params)}) AS h GROUP BY 1)
                SELECT p.value, sum(p.views)::bigint, {", ".join(f"COALESCE(min(f.{name}), 0)" for name in FUNC_SUMS)},
                       sum(p.js_us)::bigint, sum(p.hidden_us)::bigint
                FROM picked p LEFT JOIN found f USING (value)
                GROUP BY 1 ORDER BY {order} LIMIT {MAX_ROWS}""",
            {**params, "funcs": list(ref.funcs)},
        )
        rows = cursor.fetchall()
    values = VALUES_OF_CODES.get(by or "")
    return [
        FunctionBreakdownRow(
            value=values[value] if values else value,
            views=views,
            func_views=func_views,
            self_us=self_us,
            total_us=total_us,
            hidden_us=hidden_us,
            uncertain_us=uncertain_us,
            self_samples=self_samples,
            total_samples=total_samples,
            slice_js_us=slice_js_us,
            slice_hidden_us=slice_hidden_us,
        )
        for (
            value,
            views,
            func_views,
            self_us,
            total_us,
            hidden_us,
            uncertain_us,
            self_samples,
            total_samples,
            slice_js_us,
            slice_hidden_us,
        ) in rows
    ]


def _select_spots(
    slice_: Slice,
    ref: FuncRef,
    by: str | None,
    params: dict[str, Any],  # Any: parameters of a statement
) -> str:
    """Returns the statement for a function's hotspots in `picked` cells, taken from the roll-up where it can be."""
    funcs, is_it = "%(funcs)s::int[]", ""
    if ref.pairs is not None:
        pairs = sorted(ref.pairs)
        params |= {"releases_of": [release for release, _ in pairs], "funcs_of": [func for _, func in pairs]}
        is_it = """ AND (p.release, h.func_id)
                    IN (SELECT * FROM unnest(%(releases_of)s::text[], %(funcs_of)s::int[]))"""
    # LATERAL reads each cell and day by its key; OFFSET keeps the planner from flattening it. The planner does not know
    # how few cells are not rolled yet, and would read all hotspots of the project: 0.28 of 0.39 s (100,000 views).
    spots = spots_of_funcs(funcs, project="%(project_id)s", cell="p.id", names=FUNC_SUMS)
    sums = ", ".join(f"h.{name}" for name in FUNC_SUMS)
    of_cells = f"SELECT p.value, {sums} FROM picked p CROSS JOIN LATERAL ({spots} OFFSET 0) AS h WHERE true{is_it}"
    rolled = None if by in VALUES_OF_CODES else where_rolled(slice_)  # the roll-up does not know them
    if rolled is None:
        return of_cells
    return f"""SELECT p.value, {sums}
        FROM (SELECT DISTINCT p.value, p.release, p.group_id, {DAY_OF_CELL} AS day_at FROM picked p
              WHERE {rolled[1]}) AS p
        CROSS JOIN LATERAL (SELECT h.func_id, {sums} FROM aggregate_dayhotspot h
            WHERE h.project_id = %(project_id)s AND h.group_id = p.group_id AND h.day_at = p.day_at
              AND h.func_id = ANY({funcs}) OFFSET 0) AS h WHERE true{is_it}
        UNION ALL {of_cells} AND NOT ({rolled[1]})"""
