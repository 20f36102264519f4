"""The rows that a history is made from: the cells, hotspots and call trees of one project's UTC day, at one moment."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from django.db import connection, connections
from django.db.backends.utils import CursorWrapper
from psycopg.pq import Format

from aggregate.fold.calltrees import StoredTreeSum
from aggregate.fold.writes import HOTSPOT_SUMS
from aggregate.history.columns import CELL_SUMS, CELLS, MARKER_COLUMNS
from aggregate.models import HOUR_GRAIN
from aggregate.sql import leave_out
from ingest.models import PENDING
from profcore.sums.calltree import CallTree
from profcore.times import bounds_of_day
from profcore.trace.dimensions import DIMENSIONS
from profcore.trace.funcs import FuncKey

PlaceSums = dict[tuple[str, str], tuple[int, ...]]  # sums by release and page

PLAIN_SUMS: Final = tuple(name for name in CELL_SUMS if name not in MARKER_COLUMNS)
# A number that changes if any sum of a cell does. It is added up cell by cell, so that it takes no memory.
DIGEST: Final = f"""(sum(('x' || left(md5(concat_ws(',', c.id, c.fold_version,
    {", ".join(f"c.{name}" for name in PLAIN_SUMS)}, c.marker_us::text)), 15))::bit(60)::bigint) %% 9007199254740881)"""
CELLS_OF_DAY: Final = """c.project_id = %(project_id)s AND c.merged_into IS NULL
    AND c.starts_at >= %(start)s AND c.starts_at < %(end)s"""
FROM_CELLS: Final = f"""FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
    WHERE {CELLS_OF_DAY} AND c.traces > 0"""
# Columns of the history that are no plain column of a cell.
EXPRESSIONS: Final = {
    **{"release": "g.release", "page": "g.page"},
    **{dimension.column: f"(%({dimension.plural})s::text[])[c.{dimension.column} + 1]" for dimension in DIMENSIONS},
    **{name: f"c.marker_us[{number}]" for number, name in enumerate(MARKER_COLUMNS, 1)},
}
VALUES_OF_CELL: Final = ", ".join(f"{EXPRESSIONS.get(name, f'c.{name}')} AS {name}" for name in CELLS.columns)
COPY_CELLS: Final = f"""COPY (SELECT c.id, {VALUES_OF_CELL} {FROM_CELLS})
    TO STDOUT (FORMAT csv, FORCE_QUOTE (release, page))"""
# LATERAL, with OFFSET to keep the planner from flattening it, as `aggregate.selectors.functions.hotspots` does.
SPOTS_OF_DAY: Final = f"""FROM (SELECT c.id, g.release, g.page {FROM_CELLS}) AS c CROSS JOIN LATERAL (
    SELECT * FROM aggregate_hotspot h WHERE h.project_id = %(project_id)s AND h.cell_id = c.id OFFSET 0) AS h"""
COPY_SPOTS: Final = f"""COPY (SELECT c.id, h.func_id, {", ".join(f"h.{name}" for name in HOTSPOT_SUMS)} {SPOTS_OF_DAY})
    TO STDOUT (FORMAT csv)"""
TREES_OF_GROUP: Final = f"""
SELECT t.blob, t.node_count FROM aggregate_daytreepiece t
WHERE t.project_id = %(project_id)s AND t.group_id = %(group_id)s AND t.day_at = %(start)s
UNION ALL
SELECT t.blob, t.node_count FROM aggregate_cell c
JOIN aggregate_calltreepiece t ON t.project_id = c.project_id AND t.cell_id = c.id
WHERE {CELLS_OF_DAY} AND c.group_id = %(group_id)s AND NOT c.is_rolled AND {leave_out("c")}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySource:
    """What the database has of a day: its cells and the first one's id, their traces, and a digest of all their sums.

    With `has_hours`, some hours are not merged into days yet.
    """

    day: date
    cells: int
    first_cell: int
    traces: int
    digest: int
    has_hours: bool


def list_day_sources(project_id: int, first: date | None, last: date) -> list[DaySource]:
    """Returns the days that have cells, in their order. One statement."""
    return _select_day_sources(connection.cursor(), project_id, first or date.min, last)


def list_pending_days(project_id: int) -> set[date]:
    """Returns the days of which traces are pending: new ones, or all traces of a cell that is refolded. One statement.

    Their sums are about to change, and those of a refolded cell are too low meanwhile.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT DISTINCT (r.view_started_at AT TIME ZONE 'UTC')::date FROM ingest_tracereceipt r
                WHERE r.project_id = %s AND r.state = {PENDING}""",
            [project_id],
        )
        return {day for (day,) in cursor}


def _select_day_sources(cursor: CursorWrapper, project_id: int, first_day: date, last_day: date) -> list[DaySource]:
    with cursor:
        cursor.execute(
            f"""SELECT (c.starts_at AT TIME ZONE 'UTC')::date, count(*), min(c.id), sum(c.traces)::bigint,
                       {DIGEST}::bigint, bool_or(c.grain = {HOUR_GRAIN})
                FROM aggregate_cell c WHERE {CELLS_OF_DAY} GROUP BY 1 ORDER BY 1""",
            {"project_id": project_id, "start": bounds_of_day(first_day)[0], "end": bounds_of_day(last_day)[1]},
        )
        return [
            DaySource(day=day, cells=cells, first_cell=first, traces=traces, digest=digest, has_hours=has_hours)
            for day, cells, first, traces, digest, has_hours in cursor.fetchall()
        ]


class DaySnapshot:
    """Reads one day, in one transaction that sees one moment."""

    def __init__(self, project_id: int, day: date, database: Any) -> None:  # Any: a connection of Django's own class
        self._database = database
        self._project_id = project_id
        self._day = day
        start, end = bounds_of_day(day)
        self._params: dict[str, Any] = {  # Any: parameters of a statement
            "project_id": project_id,
            "start": start,
            "end": end,
            **{dimension.plural: list(dimension.values) for dimension in DIMENSIONS},
        }

    def source(self) -> DaySource | None:
        """Returns what the database has of the day, None if it has no cells of it."""
        sources = _select_day_sources(self._database.cursor(), self._project_id, self._day, self._day)
        return sources[0] if sources else None

    def keep_cells_days(self) -> int | None:
        """Returns the project's own retention of cells, None if it has the server's."""
        rows = self._select("SELECT keep_cells_days FROM projects_project WHERE id = %(project_id)s")
        return rows[0][0] if rows else None

    def copy_cells(self, path: Path) -> None:
        """Writes the cells as CSV: the cell's id, its place, its sums. Markers are empty if no sample had one."""
        self._copy(COPY_CELLS, path)

    def copy_hotspots(self, path: Path) -> None:
        """Writes the hotspots as CSV: the cell's id, the func's id, the sums. A func may be in a cell several times."""
        self._copy(COPY_SPOTS, path)

    def sum_cells(self) -> PlaceSums:
        """Returns the sums of the cells by release and page, in the order of `CELL_SUMS`."""
        markers = (f"COALESCE(sum(c.marker_us[{n}]), 0)::bigint" for n in range(1, len(MARKER_COLUMNS) + 1))
        sums = ", ".join([*(f"sum(c.{name})::bigint" for name in PLAIN_SUMS), *markers])
        return _by_place(self._select(f"SELECT g.release, g.page, {sums} {FROM_CELLS} GROUP BY 1, 2"))

    def sum_hotspots(self) -> PlaceSums:
        """Returns the sums of the hotspots by release and page, in the order of `HOTSPOT_SUMS`."""
        sums = ", ".join(f"sum(h.{name})::bigint" for name in HOTSPOT_SUMS)
        return _by_place(self._select(f"SELECT c.release, c.page, {sums} {SPOTS_OF_DAY} GROUP BY 1, 2"))

    def iter_trees(self) -> Iterator[tuple[str, str, CallTree]]:
        """Yields the release, the page and the call tree of each group, one group at a time."""
        groups = self._select(f"SELECT DISTINCT g.release, g.page, g.id {FROM_CELLS} ORDER BY 1, 2")
        for release, page, group_id in groups:
            trees = StoredTreeSum()
            with self._database.cursor() as cursor:
                cursor.cursor.format = Format.BINARY
                cursor.execute(TREES_OF_GROUP, {**self._params, "group_id": group_id})
                for blob, nodes in cursor:
                    trees.add(bytes(blob), nodes)
            yield release, page, trees.tree()

    def load_funcs(self, func_ids: Sequence[int]) -> dict[int, tuple[bytes, FuncKey]]:
        """Returns the digests and keys of funcs by id."""
        rows = self._select(
            """SELECT id, digest, uri, line, col, name FROM aggregate_func
               WHERE project_id = %(project_id)s AND id = ANY(%(func_ids)s::int[])""",
            func_ids=list(func_ids),
        )
        return {func_id: (bytes(digest), FuncKey(*key)) for func_id, digest, *key in rows}

    def _select(self, statement: str, **params: object) -> list[Any]:  # Any: rows as the driver types them
        with self._database.cursor() as cursor:
            cursor.execute(statement, {**self._params, **params})
            return list(cursor.fetchall())

    def _copy(self, statement: str, path: Path) -> None:
        cursor: CursorWrapper = self._database.cursor()
        with path.open("wb") as file, cursor, cursor.copy(statement, self._params) as copy:
            for piece in copy:
                file.write(piece)


def _by_place(rows: Sequence[tuple[Any, ...]]) -> PlaceSums:  # Any: as above
    return {(release, page): tuple(sums) for release, page, *sums in rows}


@contextmanager
def open_snapshot(project_id: int, day: date) -> Iterator[DaySnapshot]:
    """Yields a snapshot of a day, on a connection of its own: its transaction sees one moment and writes nothing."""
    database = connections.create_connection(connection.alias)
    try:
        database.set_autocommit(False)
        with database.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield DaySnapshot(project_id, day, database)
        database.rollback()
    finally:
        database.close()
