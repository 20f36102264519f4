"""Each migration after the first is read by squawk, a linter for PostgreSQL, and by rules of our own."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations import RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

pytestmark = pytest.mark.django_db(transaction=True)  # CONCURRENTLY is not even written inside one

OURS: Final = ("projects", "ingest", "aggregate", "alerts")
# Taste: `int` for ids that are counted per project, and Django's varchar. And `migrate` sets the limits itself.
LEFT_OUT: Final = (
    *("prefer-bigint-over-int", "prefer-bigint-over-smallint", "prefer-text-field", "prefer-identity"),
    *("require-lock-timeout", "require-statement-timeout"),
)
MOVING: Final = re.compile(r"^\s*(WITH|UPDATE|DELETE|TRUNCATE|INSERT\s+INTO)\b", re.IGNORECASE | re.MULTILINE)
SQUAWK: Final = Path(sys.executable).with_name("squawk")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("migrations")


def list_migrations() -> list[tuple[str, str]]:
    """Returns our migrations after the first, each as (app, name). The first creates tables that nobody uses yet."""
    migrations = MigrationLoader(connection).disk_migrations
    return sorted(key for key, migration in migrations.items() if key[0] in OURS and not migration.initial)


def lint(*files: Path) -> set[tuple[str, str]]:
    """Returns squawk's findings, each as (name of the file, rule)."""
    command = [str(SQUAWK), "--reporter", "json", "--pg-version", "15.0", "--exclude", ",".join(LEFT_OUT)]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {(Path(fault["file"]).stem, fault["rule_name"]) for fault in json.loads(done.stdout)}


def list_operations(operations: Sequence[Operation]) -> Iterator[Operation]:
    for operation in operations:
        yield operation
        if isinstance(operation, SeparateDatabaseAndState):
            yield from list_operations(operation.database_operations)


def moves_rows(operations: Sequence[Operation]) -> bool:
    """Tells whether a migration changes rows, which would hold up who uses them."""
    return any(
        isinstance(operation, RunPython)
        or (isinstance(operation, RunSQL) and isinstance(operation.sql, str) and MOVING.search(operation.sql))
        for operation in list_operations(operations)
    )


def test_no_new_migration_blocks_or_breaks_what_runs(folder: Path) -> None:
    loader, files = MigrationLoader(connection, replace_migrations=False), []
    for app, name in list_migrations():
        migration = loader.disk_migrations[app, name]
        files.append(folder / f"{app}.{name}.sql")
        frame = ("BEGIN;\n", "\nCOMMIT;\n") if migration.atomic else ("", "\n")
        files[-1].write_text("\n".join(loader.collect_sql([(migration, False)])).join(frame))
    moving = {
        (f"{app}.{name}", "moves-rows")
        for app, name in list_migrations()
        if moves_rows(loader.disk_migrations[app, name].operations)
    }
    assert (lint(*files) if files else set()) | moving == set()  # docs/schema-changes.md says what to write instead


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("ALTER TABLE ingest_tracereceipt DROP COLUMN seq;", "ban-drop-column"),
        ("ALTER TABLE ingest_tracereceipt RENAME COLUMN seq TO number;", "renaming-column"),
        ("ALTER TABLE ingest_tracereceipt ADD COLUMN kind int NOT NULL;", "adding-required-field"),
        ("ALTER TABLE ingest_tracereceipt ALTER COLUMN seq TYPE bigint;", "changing-column-type"),
        ("CREATE INDEX i ON ingest_tracereceipt (seq);", "require-concurrent-index-creation"),
        ("ALTER TABLE ingest_tracereceipt ADD CONSTRAINT c CHECK (seq > 0);", "constraint-missing-not-valid"),
    ],
)
def test_the_linter_finds(sql: str, rule: str, folder: Path) -> None:
    file = folder / "tried.sql"
    file.write_text(f"BEGIN;\n{sql}\nCOMMIT;\n")
    assert ("tried", rule) in lint(file)


def test_a_step_that_moves_rows_is_found() -> None:
    moving = RunSQL("UPDATE ingest_tracereceipt SET seq = 0")
    assert moves_rows([SeparateDatabaseAndState(database_operations=[moving])])
    assert moves_rows([RunPython(RunPython.noop)])
    assert not moves_rows([RunSQL("CREATE VIEW v AS SELECT 1")])


def test_models_and_migrations_agree() -> None:
    assert {config.label for config in apps.get_app_configs() if config.label in OURS} == set(OURS)
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
