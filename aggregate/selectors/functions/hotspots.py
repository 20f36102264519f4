"""Where the sums of a slice's funcs are read from, and the keys of funcs."""

from collections.abc import Sequence
from typing import Final

from aggregate.fold.writes import HOTSPOT_SUMS
from aggregate.selectors.slice.binary import open_binary
from aggregate.selectors.slice.slices import DAY_OF_CELL, Slice, where_rolled
from aggregate.sql import array_text
from profcore.trace.funcs import FuncKey

# LATERAL, with OFFSET to keep the planner from flattening it: the planner does not know how few cells are not rolled
# yet, and would read all hotspots of the project (2 of 2.1 s at a million views).
FEW_CELLS: Final = """CROSS JOIN LATERAL (SELECT h.* FROM aggregate_hotspot h
    WHERE h.project_id = %(project_id)s AND h.cell_id = p.id OFFSET 0) AS h"""


def from_hotspots(slice_: Slice, *, by_release: bool) -> str:
    """Returns the FROM clause of a slice's hotspots: from the roll-up where it can be used, the rest from cells."""
    rolled = where_rolled(slice_)
    if rolled is None:
        return f"FROM picked p {FEW_CELLS}"
    sums = ", ".join(f"h.{name}" for name in HOTSPOT_SUMS)
    of_day, of_cell = ("g.release,", "p.release,") if by_release else ("", "")
    if slice_.ranges:  # perhaps a few days of several years: each is read by its key
        days = f"""(SELECT DISTINCT p.group_id, {of_cell} {DAY_OF_CELL} AS day_at FROM picked p WHERE {rolled[1]}) AS g
            JOIN aggregate_dayhotspot h ON h.project_id = %(project_id)s AND h.group_id = g.group_id
                 AND h.day_at = g.day_at"""
    else:
        days = f"""ingest_group g JOIN aggregate_dayhotspot h ON h.project_id = g.project_id AND h.group_id = g.id
            WHERE {rolled[0]}"""
    return f"""FROM (SELECT h.func_id, {of_day} {sums} FROM {days}
                     UNION ALL SELECT h.func_id, {of_cell} {sums} FROM picked p {FEW_CELLS}
                     WHERE NOT ({rolled[1]})) AS h"""


def load_keys(project_id: int, func_ids: Sequence[int]) -> dict[int, FuncKey]:
    """Returns the keys of funcs by id."""
    with open_binary() as cursor:
        cursor.execute(
            "SELECT id, uri, line, col, name FROM aggregate_func WHERE project_id = %s AND id = ANY(%s::int[])",
            [project_id, array_text(func_ids)],
        )
        rows = cursor.fetchall()
    return {func_id: FuncKey(uri, line, column, name) for func_id, uri, line, column, name in rows}
