"""Hotspots in the database: each fold appends a piece to its cells', and if a cell has many, its newest are merged.

A piece is one row with an array per sum, so a fold writes one row per cell instead of one per func. The sums of a func
in a cell are the sums over the cell's pieces. Statements read them from the view `aggregate_hotspot`, which has a row
per piece and func. For a few funcs of many cells, `spots_of_funcs` is ten times as fast. Pieces grow geometrically from
new to old, as those of call trees do.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.conf import settings
from django.db import connection

from aggregate.fold.calltrees import pick_mergeable, pick_newest
from aggregate.fold.stripes import next_piece
from aggregate.fold.writes import HOTSPOT_SUMS, CellDelta
from aggregate.sql import array_text

# An array of zeros is null, and few funcs have such time.
OFTEN_ZERO: Final = ("hidden_us", "hidden_total_us", "uncertain_us")
NAMES: Final = ", ".join(HOTSPOT_SUMS)
ARRAYS: Final = ", ".join(f"{name}::bigint[]" for name in HOTSPOT_SUMS)
TEXTS: Final = ", ".join(["%b::text[]"] * (1 + len(HOTSPOT_SUMS)))
COLUMNS: Final = f"project_id, cell_id, id, func_ids, {NAMES}"


def rows_of_pieces(pieces: str) -> str:
    """Returns the statement for the rows of pieces: cell, func and sums. `pieces` is a table or CTE."""
    filled = ", ".join(
        f"COALESCE(s.{name}, 0) AS {name}" if name in OFTEN_ZERO else f"s.{name}" for name in HOTSPOT_SUMS
    )
    spread = ", ".join(f"unnest(p.{name}) AS {name}" for name in HOTSPOT_SUMS)
    return f"""SELECT s.cell_id, s.func_id, {filled}
        FROM (SELECT p.cell_id, unnest(p.func_ids) AS func_id, {spread} FROM {pieces} p) AS s"""


def pieces_of_rows(rows: str, *, keeps_zeros: bool = True) -> str:
    """Returns the statement for one piece per cell, of rows as `rows_of_pieces` gives them, summed up by func."""
    arrays = ", ".join(
        f"CASE WHEN bool_or(s.{name} <> 0) THEN array_agg(s.{name}) END AS {name}"
        if name in OFTEN_ZERO
        else f"array_agg(s.{name}) AS {name}"
        for name in HOTSPOT_SUMS
    )
    sums = ", ".join(f"sum(r.{name})::bigint AS {name}" for name in HOTSPOT_SUMS)
    having = "" if keeps_zeros else f"HAVING {' OR '.join(f'sum(r.{name}) <> 0' for name in HOTSPOT_SUMS)}"
    return f"""SELECT s.cell_id, array_agg(s.func_id) AS func_ids, {arrays}
        FROM (SELECT r.cell_id, r.func_id, {sums} FROM ({rows}) AS r GROUP BY 1, 2 {having} ORDER BY 1, 2) AS s
        GROUP BY s.cell_id"""


def spots_of_funcs(funcs: str, *, project: str, cell: str, names: Sequence[str] = ()) -> str:
    """Returns the statement for the rows of a few funcs in one cell: `func_id` and the sums `names`.

    `funcs`, `project` and `cell` are expressions; `funcs` is an array. A func has a row per piece.
    """
    sums = "".join(f", COALESCE(piece.{name}[a.place], 0) AS {name}" for name in names)
    return f"""SELECT a.func_id{sums} FROM aggregate_hotspotpiece piece
        CROSS JOIN LATERAL unnest(piece.func_ids) WITH ORDINALITY AS a (func_id, place)
        WHERE piece.project_id = {project} AND piece.cell_id = {cell} AND piece.func_ids && {funcs}
          AND a.func_id = ANY({funcs})"""


APPEND: Final = f"""
INSERT INTO aggregate_hotspotpiece ({COLUMNS})
SELECT %s, cell_id, id, func_ids::int[], {ARRAYS}
FROM unnest(%b::int[], %b::int[], {TEXTS}) AS d (cell_id, id, func_ids, {NAMES})
"""
TAKEN: Final = """DELETE FROM aggregate_hotspotpiece p USING unnest(%b::int[], %b::int[]) AS k (cell_id, id)
    WHERE p.project_id = %s AND p.cell_id = k.cell_id AND p.id = k.id RETURNING p.*"""
APPEND_MERGED: Final = f"""
WITH taken AS ({TAKEN}),
new AS (SELECT * FROM unnest(%b::int[], %b::int[], {TEXTS}) AS d (cell_id, id, func_ids, {NAMES})),
pieces AS (SELECT cell_id, func_ids, {NAMES} FROM taken
           UNION ALL SELECT cell_id, func_ids::int[], {ARRAYS} FROM new)
INSERT INTO aggregate_hotspotpiece ({COLUMNS})
SELECT %s, s.cell_id, new.id, s.func_ids, {", ".join(f"s.{name}" for name in HOTSPOT_SUMS)}
FROM ({pieces_of_rows(rows_of_pieces("pieces"))}) AS s JOIN new USING (cell_id) ORDER BY s.cell_id
"""


def add_to_hotspots(project_id: int, deltas: Sequence[tuple[int, CellDelta]], stripe: int | None = None) -> None:
    """Adds to hotspots' sums, as a piece of each cell. `deltas` are sorted by cell; call under the groups' locks.

    With a stripe, whose lock is held, others may append too. Then one of them merges a cell's pieces at a time.
    """
    deltas = [(cell_id, delta) for cell_id, delta in deltas if delta.hotspots]
    if not deltas:
        return
    known = _load_sizes(project_id, [cell_id for cell_id, _ in deltas])
    full = [(cell_id,) for cell_id, pieces in known.items() if len(pieces) >= settings.HOTSPOT_MAX_PIECES]
    ours = pick_mergeable(project_id, "aggregate_hotspotpiece", full, stripe)
    plain: list[tuple[Any, ...]] = []
    merged: list[tuple[Any, ...]] = []
    stale: list[tuple[int, int]] = []
    for cell_id, delta in deltas:
        pieces = known.get(cell_id, [])
        row = (cell_id, next_piece((piece for piece, _ in pieces), stripe), *_array_texts(delta))
        if (cell_id,) not in ours:
            plain.append(row)
        else:
            merged.append(row)
            stale.extend((cell_id, piece) for piece in pick_newest(pieces, len(delta.hotspots)))
    with connection.cursor() as cursor:
        if plain:
            cursor.execute(APPEND, [project_id, *_columns(plain)])
        if merged:
            cursor.execute(APPEND_MERGED, [*_columns(stale), project_id, *_columns(merged), project_id])


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _array_texts(delta: CellDelta) -> list[str | None]:
    """Returns the func ids in ascending order, and the arrays of sums, as PostgreSQL writes arrays.

    One parameter has an array for each cell, and an array of arrays would have to be rectangular.
    """
    funcs = sorted(delta.hotspots)
    texts: list[str | None] = [array_text(funcs)]
    for name, column in zip(HOTSPOT_SUMS, zip(*map(delta.hotspots.__getitem__, funcs), strict=True), strict=True):
        texts.append(array_text(column) if name not in OFTEN_ZERO or any(column) else None)
    return texts


def _load_sizes(project_id: int, cell_ids: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Returns the (id, number of funcs) of each cell's pieces, oldest first."""
    sizes: dict[int, list[tuple[int, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT cell_id, id, cardinality(func_ids) FROM aggregate_hotspotpiece
               WHERE project_id = %s AND cell_id = ANY(%b::int[]) ORDER BY cell_id, id""",
            [project_id, list(cell_ids)],
        )
        for cell_id, piece, funcs in cursor:
            sizes.setdefault(cell_id, []).append((piece, funcs))
    return sizes


def compact_hotspots(project_id: int, cell_ids: Sequence[int]) -> None:
    """Merges all pieces of each cell that has several. Sums stay; call under the groups' locks."""
    _replace_pieces(
        project_id,
        [(cell_id, cell_id) for cell_id, pieces in _load_sizes(project_id, cell_ids).items() if len(pieces) > 1],
        keeps_zeros=True,
    )


def clear_empty_hotspots(project_id: int, cell_id: int) -> None:
    """Deletes the hotspots of a cell whose sums are all zero, after sums were taken back."""
    _replace_pieces(project_id, [(cell_id, cell_id)], keeps_zeros=False)


def move_hotspots(project_id: int, moves: Sequence[tuple[int, int]]) -> None:
    """Adds the hotspots of cells to those of others; `moves` are (cell, target). Under the groups' locks."""
    _replace_pieces(project_id, moves, keeps_zeros=True)


def _replace_pieces(project_id: int, moves: Sequence[tuple[int, int]], *, keeps_zeros: bool) -> None:
    """Replaces all pieces of cells by one piece in each target, behind those that the target has otherwise."""
    if not moves:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH taken AS (
                DELETE FROM aggregate_hotspotpiece p USING unnest(%b::int[], %b::int[]) AS m (cell, target)
                WHERE p.project_id = %s AND p.cell_id = m.cell RETURNING m.target AS cell_id, p.func_ids,
                    {", ".join(f"p.{name}" for name in HOTSPOT_SUMS)})
            INSERT INTO aggregate_hotspotpiece ({COLUMNS})
            SELECT %s, s.cell_id, 1 + COALESCE((SELECT max(o.id) FROM aggregate_hotspotpiece o
                       WHERE o.project_id = %s AND o.cell_id = s.cell_id), 0),
                   s.func_ids, {", ".join(f"s.{name}" for name in HOTSPOT_SUMS)}
            FROM ({pieces_of_rows(rows_of_pieces("taken"), keeps_zeros=keeps_zeros)}) AS s ORDER BY s.cell_id""",
            [*_columns(moves), project_id, project_id, project_id],
        )
