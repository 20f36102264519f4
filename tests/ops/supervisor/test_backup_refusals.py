"""`./run backup` and `./run restore` where they cannot work: one or two sentences, and nothing is left."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from ops.backup import dumping, programs
from ops.backup.checksums import describe_difference
from ops.backup.dumping import list_backups, remove_older
from ops.backup.manifest import KeptTable, Manifest, read_manifest
from ops.backup.programs import BackupError, find_program
from ops.backup.restoring import check_migrations, check_target


def make_manifest(**changes: Any) -> Manifest:  # Any: the fields' values
    fields: dict[str, Any] = {
        "format": 1,
        "made_at": datetime(2026, 11, 23, tzinfo=UTC),
        "postgres": 18,
        "pg_dump": 18,
        "migrations": [],
        "files": {},
        "tables": None,
        "took_s": 1.0,
    }
    return Manifest(**fields | changes)


def test_the_servers_own_program_is_taken_else_the_next_newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for major in (15, 17, 18):
        (tmp_path / str(major)).mkdir()
        program = tmp_path / str(major) / "pg_dump"
        program.write_text(f"#!/bin/sh\necho pg_dump {major}.2\n")
        program.chmod(0o755)
    monkeypatch.setattr(programs, "find_wheel_folders", list)
    monkeypatch.setattr(programs, "find_machine_folders", lambda: sorted(tmp_path.iterdir()))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert find_program("pg_dump", server_major=15) == (tmp_path / "15" / "pg_dump", 15)
    assert find_program("pg_dump", server_major=16) == (tmp_path / "17" / "pg_dump", 17)
    with pytest.raises(BackupError, match=r"is PostgreSQL 99, .* postgresql-client-99"):
        find_program("pg_dump", server_major=99)


def test_a_backup_of_a_newer_schema_is_refused() -> None:
    check_migrations(make_manifest(migrations=[("ingest", "0001_initial"), ("gone_app", "0001_initial")]))
    with pytest.raises(BackupError, match=r"newer Fieldflame \(its migration ingest\.9999_later is unknown"):
        check_migrations(make_manifest(migrations=[("ingest", "9999_later")]))


def test_an_older_server_and_a_database_with_tables_are_refused() -> None:
    def connect(tables: int, *, is_ours: bool) -> "psycopg.Connection[tuple[object, ...]]":
        answer = SimpleNamespace(fetchone=lambda: (tables, is_ours))
        return cast("psycopg.Connection[tuple[object, ...]]", SimpleNamespace(execute=lambda _: answer))

    check_target(connect(0, is_ours=False), make_manifest(), 18)
    with pytest.raises(BackupError, match="The backup is of PostgreSQL 18, and the server is 17"):
        check_target(connect(0, is_ours=False), make_manifest(), 17)
    with pytest.raises(BackupError, match="has data of Fieldflame, and a restore needs an empty one"):
        check_target(connect(40, is_ours=True), make_manifest(), 18)
    with pytest.raises(BackupError, match="The database has 2 tables"):
        check_target(connect(2, is_ours=False), make_manifest(), 18)


def test_the_first_table_with_other_rows_is_named() -> None:
    kept = {"a": KeptTable(rows=3, total="7"), "b": KeptTable(rows=1, total="1")}
    assert describe_difference(kept, dict(kept)) == ""
    assert describe_difference(kept, {"a": KeptTable(rows=3, total="7")}) == "b is not the same: 1 rows but none."
    changed = kept | {"a": KeptTable(rows=3, total="8")}
    assert describe_difference(kept, changed) == "a is not the same: 3 rows, with other values."


def test_a_folder_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="is not a backup"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(BackupError, match="cannot be read"):
        read_manifest(tmp_path)


def test_a_pooler_by_transaction_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.TRANSACTION_POOLING = True
    for command in ("backup", "restore"):
        with pytest.raises(CommandError, match="let DATABASE_URL name PostgreSQL itself"):
            call_command(command, str(tmp_path))


@pytest.mark.django_db(transaction=True)
def test_a_backup_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path / "var"

    def fail(*_: object, **__: object) -> None:
        raise BackupError("pg_dump failed: no space left")

    monkeypatch.setattr(dumping, "dump", fail)
    with pytest.raises(CommandError, match="pg_dump failed: no space left"):
        call_command("backup", str(tmp_path / "backups"))
    assert list((tmp_path / "backups").iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_a_backup_that_is_told_to_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path / "var"
    monkeypatch.setattr(dumping, "dump", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            call_command("backup", str(tmp_path / "backups"))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ended.value.code, list((tmp_path / "backups").iterdir())) == (143, [])


def test_only_the_newest_backups_are_kept(tmp_path: Path) -> None:
    names = [f"fieldflame-2026112{day}T000000Z" for day in range(4)]
    for name in [*names, "fieldflame-other", "fieldflame-20261125T000000Z.partial"]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").touch()
    assert [path.name for path in remove_older(tmp_path, 2)] == names[:2]
    assert [path.name for path in list_backups(tmp_path)] == names[2:]
    assert (tmp_path / "fieldflame-other").exists()
