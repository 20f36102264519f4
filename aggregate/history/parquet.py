"""DuckDB, which sorts a day's rows and writes them as Parquet. It is optional: only `export_cells` needs it.

Rows come as CSV files. DuckDB joins, sums and sorts them within a bound of memory, beyond which it uses the disk.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from aggregate.history.columns import SCHEMA, HistoryTable
from aggregate.history.folder import HistoryError

# Readers skip row groups by the least and the greatest value of each column: files are sorted by page, so a question
# about a page reads few. It is ten blocks of DuckDB, 2,048 rows each.
ROW_GROUP_ROWS: Final = 20_480
PAIRS_AT_ONCE: Final = 5_000
MAX_LINE_BYTES: Final = 64 * 1024 * 1024  # names and addresses are at most some kB; DuckDB's own limit is 2 MB
MISSING: Final = "the package duckdb is not installed; ./run history installs it (docs/history.md)."
CELL_ID: Final = {"id": "INTEGER"}


def is_installed() -> bool:
    """Returns whether DuckDB is there. It is not loaded: that takes 30 MB."""
    return find_spec("duckdb") is not None


class DayTables:
    """A day's rows in DuckDB, in a folder of their own, which is empty before."""

    def __init__(self, folder: Path) -> None:
        import duckdb

        self.folder = folder
        self._database = duckdb.connect(
            config={
                "threads": 1,  # next to a server: the command takes one core
                "memory_limit": f"{settings.HISTORY_MEMORY_BYTES // 1024}KiB",
                "temp_directory": str(folder / "spilled"),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )

    def close(self) -> None:
        """Forgets all rows."""
        self._database.close()

    def load(self, name: str, columns: Mapping[str, str]) -> None:
        """Reads the CSV file of a name as a table. Text is in quotes, and nothing between two commas is null."""
        self._database.execute(
            f"""CREATE TABLE {name} AS SELECT * FROM read_csv($path, header = false, auto_detect = false,
                    columns = {dict(columns)!r}, delim = ',', quote = '"', escape = '"', nullstr = '', new_line = '\\n',
                    allow_quoted_nulls = false, parallel = false, max_line_size = {MAX_LINE_BYTES})""",
            {"path": str(self.csv_path(name))},
        )
        self.csv_path(name).unlink()

    def csv_path(self, name: str) -> Path:
        """Returns the path of the CSV file of a name."""
        return self.folder / f"{name}.csv"

    def write_csv(self, name: str, rows: Iterable[Sequence[str | int | None]]) -> None:
        """Writes rows to the CSV file of a name."""
        with self.csv_path(name).open("w", encoding="utf-8", newline="") as file:
            for row in rows:
                file.write(",".join(map(_quote, row)) + "\n")

    def iter_pairs(self) -> Iterator[list[tuple[str, int]]]:
        """Yields the release and func id of all hotspots, in lists of at most `PAIRS_AT_ONCE`."""
        result = self._database.cursor().execute(
            """SELECT DISTINCT c.release, h.func_id FROM spots h JOIN places c ON c.id = h.id ORDER BY 1, 2"""
        )
        while pairs := result.fetchmany(PAIRS_AT_ONCE):
            yield pairs

    def write(self, table: HistoryTable, select: str) -> Path:
        """Writes the rows of a statement as Parquet in the table's order; returns the path."""
        path = self.folder / table.file_name
        columns = ", ".join(f"{name}::{kind} AS {name}" for name, kind in table.columns.items())
        self._database.execute(
            f"""COPY (SELECT {columns} FROM ({select}) ORDER BY {", ".join(table.order)}) TO '{_escape(path)}'
                (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP_ROWS},
                 KV_METADATA {{fieldflame_table: '{table.name}', fieldflame_schema: '{SCHEMA}'}})"""
        )
        return path

    def sum_file(self, table: HistoryTable, path: Path) -> tuple[int, dict[str, int]]:
        """Returns the number of rows of a written file, and its sums by column."""
        sums = "".join(f", COALESCE(sum({name}), 0)::BIGINT" for name in table.sums)
        rows, *values = self._read(f"SELECT count(*){sums} FROM read_parquet($path)", path)[0]
        return rows, dict(zip(table.sums, values, strict=True))

    def sum_places(self, table: HistoryTable, path: Path) -> dict[tuple[str, str], tuple[int, ...]]:
        """Returns the sums of a written file by release and page."""
        sums = ", ".join(f"COALESCE(sum({name}), 0)::BIGINT" for name in table.sums)
        rows = self._read(f"SELECT release, page, {sums} FROM read_parquet($path) GROUP BY 1, 2", path)
        return {(release, page): tuple(values) for release, page, *values in rows}

    def iter_texts(self, path: Path) -> Iterator[tuple[Any, ...]]:  # Any: rows as DuckDB types them
        """Yields the rows of a written file of functions, in their order."""
        result = self._database.cursor().execute(
            "SELECT * FROM read_parquet($path) ORDER BY release, func_id", {"path": str(path)}
        )
        while rows := result.fetchmany(PAIRS_AT_ONCE):
            yield from rows

    def _read(self, statement: str, path: Path) -> list[Any]:  # Any: as above
        return self._database.execute(statement, {"path": str(path)}).fetchall()


def _quote(value: str | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else '"' + value.replace('"', '""') + '"'


def _escape(path: Path) -> str:
    return str(path).replace("'", "''")


def open_tables(folder: Path) -> DayTables:
    """Returns tables for a day. Raises `HistoryError` if DuckDB is not there."""
    if not is_installed():
        raise HistoryError(MISSING)
    folder.mkdir(parents=True)
    return DayTables(folder)
