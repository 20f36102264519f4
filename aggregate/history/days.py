"""Writing a day of the history: its rows become files, the files are compared with the database and put in place."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from aggregate.fold.writes import HOTSPOT_SUMS
from aggregate.history.columns import (
    CALL_NODES,
    CELL_SUMS,
    CELLS,
    FUNCTIONS,
    HOTSPOTS,
    PLACE_OF_CELL,
    SCHEMA,
    TREE_SUMS,
    HistoryTable,
)
from aggregate.history.folder import HistoryError, HistoryFolder, Manifest, WrittenFile
from aggregate.history.parquet import CELL_ID, DayTables, open_tables
from aggregate.history.source import DaySnapshot, DaySource, PlaceSums
from aggregate.selectors.code.symbols import Pair, Symbols, load_symbols
from aggregate.selectors.functions.table import FunctionRow
from profcore.sums.calltree import CallTree, total_us

NODE_KEY_BYTES: Final = 8
NODE_COLUMNS: Final = {
    **{"release": "VARCHAR", "page": "VARCHAR", "node_key": "BIGINT", "parent_key": "BIGINT", "depth": "INTEGER"},
    **{
        "func_id": "INTEGER",
        "self_us": "BIGINT",
        "total_us": "BIGINT",
        "self_samples": "BIGINT",
        "hidden_us": "BIGINT",
    },
}
SPOT_COLUMNS: Final = {**CELL_ID, "func_id": "INTEGER", **dict.fromkeys(HOTSPOT_SUMS, "BIGINT")}
PLACE_COLUMNS: Final = {**CELL_ID, **CELLS.columns}
SELECT_CELLS: Final = f"""
SELECT {", ".join(PLACE_OF_CELL)}, max(fold_version) AS fold_version,
       {", ".join(f"sum({name}) AS {name}" for name in CELL_SUMS)}
FROM places GROUP BY {", ".join(PLACE_OF_CELL)}
"""
SELECT_HOTSPOTS: Final = f"""
SELECT s.*, f.function_id, f.label
FROM (SELECT {", ".join(f"c.{name}" for name in PLACE_OF_CELL)}, h.func_id,
             {", ".join(f"sum(h.{name}) AS {name}" for name in HOTSPOT_SUMS)}
      FROM spots h JOIN places c ON c.id = h.id
      GROUP BY {", ".join(f"c.{name}" for name in PLACE_OF_CELL)}, h.func_id) AS s
JOIN functions f ON f.release = s.release AND f.func_id = s.func_id
"""
SELECT_NODES: Final = """
SELECT n.*, f.function_id, f.label FROM nodes n JOIN functions f ON f.release = n.release AND f.func_id = n.func_id
"""
SELECT_FUNCTIONS: Final = "SELECT * FROM functions"


@dataclass(slots=True, kw_only=True)
class _Expected:
    """The sums that the files of a day must have."""

    cells: PlaceSums
    hotspots: PlaceSums
    call_nodes: PlaceSums = field(default_factory=dict)
    nodes: int = 0
    functions: int = 0
    texts: int = 0


def write_day(folder: HistoryFolder, snapshot: DaySnapshot, source: DaySource, project_id: int) -> Manifest:
    """Writes a day that has traces, and returns its manifest. Raises `HistoryError` if a file is not as it must be.

    Then the day's files are as they were before.
    """
    place = folder.writing / source.day.isoformat()
    tables = open_tables(place)
    try:
        expected = _load(tables, snapshot, load_symbols(project_id, as_stored=True))
        files = {
            table: tables.write(table, select)
            for table, select in (
                (CELLS, SELECT_CELLS),
                (HOTSPOTS, SELECT_HOTSPOTS),
                (CALL_NODES, SELECT_NODES),
                (FUNCTIONS, SELECT_FUNCTIONS),
            )
        }
        written = _compare(tables, files, expected)
        manifest = Manifest(
            schema=SCHEMA,
            project_id=project_id,
            day=source.day.isoformat(),
            cells=source.cells,
            first_cell=source.first_cell,
            digest=source.digest,
            written_at=datetime.now(UTC).isoformat(timespec="seconds"),
            files={table.name: file for table, file in written.items()},
        )
        folder.put(source.day, files, manifest)
        return manifest
    finally:
        tables.close()
        shutil.rmtree(place)


def _load(tables: DayTables, snapshot: DaySnapshot, code: Symbols) -> _Expected:
    """Loads all rows of a day, and returns what other statements say of their sums."""
    expected = _Expected(cells=snapshot.sum_cells(), hotspots=snapshot.sum_hotspots())
    snapshot.copy_cells(tables.csv_path("places"))
    tables.load("places", PLACE_COLUMNS)
    snapshot.copy_hotspots(tables.csv_path("spots"))
    tables.load("spots", SPOT_COLUMNS)
    tables.write_csv("nodes", _iter_nodes(snapshot, expected))
    tables.load("nodes", NODE_COLUMNS)
    tables.write_csv("functions", _iter_functions(tables, snapshot, code, expected))
    tables.load("functions", FUNCTIONS.columns)
    return expected


def _iter_nodes(snapshot: DaySnapshot, expected: _Expected) -> Iterator[Sequence[str | int | None]]:
    """Yields the call nodes of all groups, and notes their sums."""
    for release, page, tree in snapshot.iter_trees():
        if not len(tree):
            continue
        expected.call_nodes[release, page] = tuple(sum(getattr(tree, name)) for name in TREE_SUMS)
        expected.nodes += len(tree)
        digests = {func_id: digest for func_id, (digest, _) in snapshot.load_funcs(sorted(set(tree.func))).items()}
        keys, parents, depths = key_nodes(tree, digests)
        sums = (tree.func, tree.self_us, total_us(tree), tree.self_samples, tree.hidden_us)
        for row in zip(keys, parents, depths, *sums, strict=True):
            yield release, page, *row


def key_nodes(tree: CallTree, digests: Mapping[int, bytes]) -> tuple[list[int], list[int | None], list[int]]:
    """Returns the key, the parent's key and the depth of each node. Roots have no parent, and depth 0.

    A key is a digest of the path of functions from the root, of 64 bits: the same in every page, release and day.
    """
    paths: list[bytes] = []
    parents: list[int | None] = []
    depths: list[int] = []
    for prefix, func in zip(tree.prefix, tree.func, strict=True):
        above = paths[prefix] if prefix >= 0 else b""
        paths.append(hashlib.blake2b(above + digests[func], digest_size=NODE_KEY_BYTES).digest())
        parents.append(_as_key(above) if above else None)
        depths.append(depths[prefix] + 1 if prefix >= 0 else 0)
    return [_as_key(path) for path in paths], parents, depths


def _as_key(path: bytes) -> int:
    return int.from_bytes(path, "big", signed=True)


def _iter_functions(
    tables: DayTables, snapshot: DaySnapshot, code: Symbols, expected: _Expected
) -> Iterator[Sequence[str | int | None]]:
    """Yields the functions of all hotspots by release, and notes their number and a digest of their texts."""
    for pairs in tables.iter_pairs():
        keys = snapshot.load_funcs(sorted({func_id for _, func_id in pairs}))
        if code.labels is not None:
            code.labels.load(pairs)
        for pair in pairs:
            row = _describe(code, pair, FunctionRow(id=pair[1], **keys[pair[1]][1]._asdict()))
            expected.functions += 1
            expected.texts ^= _digest_row(row)
            yield row


def _describe(code: Symbols, pair: Pair, func: FunctionRow) -> tuple[str | int | None, ...]:
    """Returns a function's row, in the order of the columns."""
    release, func_id = pair
    mapped = code.label(release, func_id)
    row = FunctionRow(id=func.id, name=func.name, uri=func.uri, line=func.line, column=func.column, mapped=mapped)
    identity = code.labels.id_of(release, func_id) if code.labels is not None else func_id
    original = mapped.original if mapped else None
    return (
        *(release, func_id, str(identity), row.label, func.name, func.uri, func.line, func.column),
        *((original.name, original.source, original.line, original.column) if original else (None,) * 4),
        *(code.package_of(func.key, mapped), code.categorize(func.key, mapped)),
    )


def _digest_row(row: Sequence[str | int | None]) -> int:
    return int.from_bytes(hashlib.blake2b(repr(tuple(row)).encode(), digest_size=16).digest(), "big")


def _compare(
    tables: DayTables, files: Mapping[HistoryTable, Path], expected: _Expected
) -> dict[HistoryTable, WrittenFile]:
    """Reads the written files back, and returns what they are. Raises `HistoryError` for the first wrong one."""
    written: dict[HistoryTable, WrittenFile] = {}
    for table, path in files.items():
        rows, sums = tables.sum_file(table, path)
        written[table] = WrittenFile(size_bytes=path.stat().st_size, rows=rows, sums=sums)
    wanted = {CELLS: expected.cells, HOTSPOTS: expected.hotspots, CALL_NODES: expected.call_nodes}
    for table, sums_by_place in wanted.items():
        if tables.sum_places(table, files[table]) != sums_by_place:
            raise HistoryError(f"the file of {table.name} has other sums than the database; nothing was replaced.")
    texts = 0
    for row in tables.iter_texts(files[FUNCTIONS]):
        texts ^= _digest_row(row)
    counts = {CALL_NODES: expected.nodes, FUNCTIONS: expected.functions}
    wrong = next((table for table, rows in counts.items() if written[table].rows != rows), None)
    if wrong is None and texts != expected.texts:
        wrong = FUNCTIONS
    if wrong is not None:
        raise HistoryError(f"the file of {wrong.name} has other rows than were written; nothing was replaced.")
    return written
