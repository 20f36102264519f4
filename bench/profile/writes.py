"""What PostgreSQL writes by table: rows and bytes of its write-ahead log, read by its own `pg_waldump`."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg

RECORD: Final = re.compile(r"rmgr: (\S+) +len \(rec/tot\): +\d+/ *(\d+),.*? desc: (\S+)(?:.*?ntuples: (\d+))?")
RELATION: Final = re.compile(r" rel \d+/\d+/(\d+)")
# Of each file: its table (a partition's is its parent's), and whether it holds rows, an index, or rows' long values.
FILES: Final = """
SELECT pg_relation_filenode(c.oid), coalesce(p.relname, t.relname),
       CASE WHEN l.oid IS NOT NULL THEN 'long values' WHEN i.indexrelid IS NOT NULL THEN 'indexes' ELSE 'rows' END
FROM pg_class c
LEFT JOIN pg_index i ON i.indexrelid = c.oid
JOIN pg_class h ON h.oid = coalesce(i.indrelid, c.oid)
LEFT JOIN pg_class l ON l.reltoastrelid = h.oid
JOIN pg_class t ON t.oid = coalesce(l.oid, h.oid)
LEFT JOIN pg_inherits b ON b.inhrelid = t.oid AND h.relkind <> 'p'
LEFT JOIN pg_class p ON p.oid = b.inhparent
WHERE c.relkind IN ('r', 'i', 't') AND pg_relation_filenode(c.oid) IS NOT NULL
"""
# Records of rows, by what they are called here.
KINDS: Final = {
    ("Heap", "INSERT"): "inserted",
    ("Heap", "INSERT+INIT"): "inserted",
    ("Heap2", "MULTI_INSERT"): "inserted",
    ("Heap2", "MULTI_INSERT+INIT"): "inserted",
    ("Heap", "UPDATE"): "updated",
    ("Heap", "UPDATE+INIT"): "updated",
    ("Heap", "HOT_UPDATE"): "updated in place",
    ("Heap", "LOCK"): "locked",
    ("Heap", "DELETE"): "deleted",
}
OTHER: Final = ("(other)", "rows")


@dataclass(slots=True)
class TableWrites:
    """The rows written to a table by kind, and the bytes of the log by part of the table."""

    table: str
    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS.values(), 0))
    wal_bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("rows", "indexes", "long values"), 0))

    @property
    def total_bytes(self) -> int:
        return sum(self.wal_bytes.values())


@contextmanager
def counted_writes(connection: psycopg.Connection) -> Iterator[list[TableWrites]]:
    """Yields a list that has what was written while the block ran, after the block; most bytes first."""
    writes: list[TableWrites] = []
    begin = _read_value(connection, "SELECT pg_current_wal_insert_lsn()::text")
    yield writes
    end = _read_value(connection, "SELECT pg_current_wal_flush_lsn()::text")
    program = Path(_read_value(connection, "SELECT setting FROM pg_config WHERE name = 'BINDIR'")) / "pg_waldump"
    folder = Path(_read_value(connection, "SELECT current_setting('data_directory')")) / "pg_wal"
    files = {str(number): (table, part) for number, table, part in connection.execute(FILES)}
    words = [str(program), "--path", str(folder), "--start", begin, "--end", end]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as dump:
        assert dump.stdout is not None
        assert dump.stderr is not None
        writes += sum_records(dump.stdout, files)
        fault = dump.stderr.read().strip()
    if dump.returncode != 0:
        raise RuntimeError(f"pg_waldump failed: {fault}")


def sum_records(lines: Iterable[str], files: Mapping[str, tuple[str, str]]) -> list[TableWrites]:
    """Returns what each table got by the text of `pg_waldump`; `files` has the table and part of each file number."""
    writes: dict[str, TableWrites] = {}
    for line in lines:
        record = RECORD.match(line)
        if record is None:
            continue
        manager, size, word, tuples = record.groups()
        relation = RELATION.search(line)
        table, part = files.get(relation[1], OTHER) if relation else OTHER
        wrote = writes.setdefault(table, TableWrites(table))
        wrote.wal_bytes[part] += int(size)
        kind = KINDS.get((manager, word))
        if kind is not None and part == "rows":
            wrote.rows[kind] += int(tuples or 1)
    return sorted(writes.values(), key=lambda each: -each.total_bytes)


def _read_value(connection: psycopg.Connection, query: str) -> str:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])
