"""The columns of the history: documented, in plain types, and in every file, in their order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from django.conf import settings

from aggregate.history.columns import SCHEMA, TABLES
from aggregate.maintenance.merging import merge_old_hours
from projects.creation import create_project
from tests.aggregate.history.files import export
from tests.aggregate.old_views import NOW, old_views
from tests.aggregate.posting import fold_all, post
from tests.architecture.tree import imports_of, list_modules

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "history.md"


def test_every_column_is_documented_and_no_other_one() -> None:
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", DOCUMENT.read_text(encoding="utf-8"), re.M | re.S))
    for table in TABLES:
        named = [name for row in re.findall(r"^\| (`.*?) \|", sections[table.name], re.M) for name in row.split(", ")]
        assert sorted(name.strip("`") for name in named) == sorted(table.columns)


def test_only_the_command_uses_it_and_only_inside_loads_duckdb() -> None:
    users = {
        module
        for module in list_modules()
        if not module.startswith(("aggregate.history", "tests."))
        and any(target.startswith("aggregate.history") for target in imports_of(module))
    }
    assert {module.rpartition(".")[0] for module in users} == {"aggregate.management.commands"}
    script = "import sys, aggregate.history.parquet; sys.exit('duckdb' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], cwd=settings.BASE_DIR, check=False, env=environment())
    assert run.returncode == 0


def environment() -> dict[str, str]:
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}


@pytest.mark.django_db(transaction=True)
def test_files_have_these_columns_sorted_and_compressed(tmp_path: Path) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *old_views())
    fold_all()
    merge_old_hours(NOW)
    export(tmp_path)
    with duckdb.connect() as database:
        for table in TABLES:
            (path,) = map(str, tmp_path.glob(f"{table.name}/*/*/*.parquet"))
            schema = database.execute("SELECT name, type FROM parquet_schema(?) OFFSET 1", [path]).fetchall()
            assert [name for name, _ in schema] == list(table.columns)
            assert {kind for _, kind in schema} <= {"BYTE_ARRAY", "INT32", "INT64"}
            columns = ", ".join(table.order)
            rows = database.execute(f"SELECT {columns} FROM read_parquet(?)", [path]).fetchall()
            assert rows == sorted(rows)
            packed = database.execute("SELECT DISTINCT compression FROM parquet_metadata(?)", [path]).fetchall()
            assert packed == [("ZSTD",)]
            pairs = database.execute("SELECT key, value FROM parquet_kv_metadata(?)", [path]).fetchall()
            assert (b"fieldflame_schema", str(SCHEMA).encode()) in pairs
