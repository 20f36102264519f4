"""Writing and reading a history in tests: the command, and SQL over its files."""

from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
from django.core.management import call_command

from aggregate.history.columns import TABLES


def export(root: Path, *arguments: str, project: str = "shop") -> str:
    """Runs the command; returns what it says."""
    said = StringIO()
    call_command("export_cells", "--project", project, "--to", str(root), *arguments, stdout=said)
    return said.getvalue()


def ask(root: Path, statement: str) -> list[tuple[Any, ...]]:  # Any: rows as DuckDB types them
    """Returns the rows of a statement on the tables of a history, as docs/history.md opens them."""
    with duckdb.connect() as database:
        for table in TABLES:
            files = f"{root}/{table.name}/*/*/*.parquet"
            if any(root.glob(f"{table.name}/*/*/*.parquet")):
                database.execute(
                    f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet('{files}', hive_partitioning = true)"
                )
        return database.execute(statement).fetchall()


def list_contents(root: Path) -> dict[str, bytes]:
    """Returns the files of a history by path, without the lock and the times of manifests."""
    return {
        str(path.relative_to(root)): b"" if path.suffix == ".json" else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
