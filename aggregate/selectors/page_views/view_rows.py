"""The rows of a slice's views with their packed contributions: which ones, how many bytes of them, in what order."""

from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection

from aggregate.selectors.code.refs import FuncRef, find_ref
from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.slice.reading import NARROW, SliceTooLarge
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.sql import dimension_columns
from profcore.sums.blobs import count_funcs
from profcore.trace.dimensions import DIMENSIONS
from profcore.trace.weights import TIME_PART_NAMES

PART_COLUMNS: Final = ", ".join(f"v.{name}" for name in TIME_PART_NAMES)
FROM_VIEWS: Final = f"{FROM_CELLS} JOIN aggregate_pageview v ON v.project_id = c.project_id AND v.cell_id = c.id"
# What a view is read from, behind a contribution.
VIEW_COLUMNS: Final = f"""v.view_id, v.group_id, v.cell_id, g.release, g.page, c.starts_at, c.grain, v.traces,
v.is_truncated, coalesce(v.sample_rate, 1.0), v.traits, {dimension_columns("c")}, {PART_COLUMNS}"""
# The columns of a contribution and `VIEW_COLUMNS`.
NAMED: Final = [f"c{number}" for number in range(12 + len(DIMENSIONS) + len(TIME_PART_NAMES))]
# Views whose contributions are decoded at a time: 27 MB of recorded views, where 20,000 at once took 540 MB.
DECODED_AT_ONCE: Final = 1_000
# Their functions, 250 bytes each. A thousand recorded views have 25,000; one may have 50,000.
DECODED_FUNCS_AT_ONCE: Final = 100_000

Rows = Sequence[tuple[Any, ...]]  # Any: as the driver types them; the contribution, then `VIEW_COLUMNS`

ViewKey = tuple[UUID, int]  # a view in one group


def where_views(slice_: Slice, *, ref: FuncRef | None = None) -> tuple[str, dict[str, Any]]:  # Any: parameters
    """Returns the condition on views `v` of cells `c` in groups `g`, and its parameters, without tags and ms."""
    where, params = where_slice(slice_)
    if slice_.views:
        where += " AND v.view_id = ANY(%(views)s::uuid[])"
        params["views"] = list(slice_.views)
    if slice_.traces:
        where += """ AND v.view_id IN (SELECT t.view_id FROM ingest_rawtrace t
                    WHERE t.project_id = %(project_id)s AND t.trace_id = ANY(%(traces)s::uuid[]))"""
        params["traces"] = list(slice_.traces)
    refs = [over for over, _ in find_func_over(slice_)] + ([ref] if ref is not None else [])
    for position, func_ref in enumerate(refs):
        where += f""" AND EXISTS (SELECT FROM aggregate_hotspotpiece h WHERE h.project_id = %(project_id)s
                                 AND h.cell_id = c.id AND h.func_ids && %(func_{position})s::int[])"""
        params[f"func_{position}"] = list(func_ref.funcs)
    return where, params


def fetch_views(
    slice_: Slice,
    *,
    ref: FuncRef | None = None,
    limit: int | None,
    after: ViewKey | None = None,
    below: int | None = None,
    most_bytes: int | None = None,
) -> Rows:
    """Returns rows in order of id. From the second on, those beyond `most_bytes` lack their contributions."""
    where, params = where_views(slice_, ref=ref)
    params["limit"] = limit
    if after is not None:
        where += " AND (v.view_id, v.group_id) > (%(after_view)s::uuid, %(after_group)s::int)"
        params |= {"after_view": after[0], "after_group": after[1]}
    if below is not None:
        params["below"] = below
    statement = f"""SELECT v.contribution, {VIEW_COLUMNS}
        {_from_views(where, is_sample=below is not None)}
        ORDER BY v.view_id, v.group_id LIMIT %(limit)s"""
    if most_bytes is not None:
        params["most_bytes"] = most_bytes
        statement = f"""SELECT CASE WHEN row_number() OVER ids = 1 OR sum(octet_length(s.c0)) OVER ids <= %(most_bytes)s
                THEN s.c0 END, {", ".join(f"s.{name}" for name in NAMED[1:])}
            FROM ({statement}) AS s ({", ".join(NAMED)}) WINDOW ids AS (ORDER BY s.c1, s.c2) ORDER BY s.c1, s.c2"""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def _from_views(where: str, *, is_sample: bool) -> str:
    """Returns the FROM and WHERE clauses of views.

    A sample first picks cells, and then reads each one's first views in the uniform order: the condition knows cells
    only. OFFSET keeps the planner from mixing both. It does not know how few cells a function ran in, and searched the
    views of each of these once per group (3.6 of 3.7 s at a million views).
    """
    if not is_sample:
        return f"{FROM_VIEWS} WHERE {where}"
    return f"""FROM (SELECT c.* {FROM_CELLS} WHERE {where} OFFSET 0) AS c
        JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
        CROSS JOIN LATERAL (SELECT * FROM aggregate_pageview v WHERE v.project_id = %(project_id)s AND v.cell_id = c.id
                            AND fieldflame_sample_key(v.view_id) <= %(below)s OFFSET 0) AS v"""


def find_func_over(slice_: Slice) -> list[tuple[FuncRef, int]]:
    """Returns the functions of `func_over`, each with its µs."""
    if not slice_.func_over:
        return []
    code = load_symbols(slice_.project_id)
    return [(find_ref(slice_.project_id, func, code), over_us) for func, over_us in slice_.func_over]


def split_rows(rows: Rows, most_funcs: int | None = None) -> Iterator[Rows]:
    """Yields rows whose contributions are decoded at a time: each view may have thousands of functions.

    Raises `SliceTooLarge` if they have more than `most_funcs` together.
    """
    first = size = total = 0
    for at, row in enumerate(rows):
        row_funcs = count_funcs(bytes(row[0]))
        size, total = size + row_funcs, total + row_funcs
        if most_funcs is not None and total > most_funcs:
            detail = f"The slice's views ran more than {most_funcs} functions, counted in each view. {NARROW}"
            raise SliceTooLarge("from", detail)
        if at > first and (at - first >= DECODED_AT_ONCE or size > DECODED_FUNCS_AT_ONCE):
            yield rows[first:at]
            first, size = at, row_funcs
    if first < len(rows):
        yield rows[first:]
