"""Restoring a backup into an empty database: all of it or nothing, and compared row by row with what was dumped."""

import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from psycopg.conninfo import make_conninfo

from ops.backup.checksums import describe_difference, read_contents
from ops.backup.manifest import DUMP, KeptTable, Manifest, read_manifest
from ops.backup.programs import BackupError, find_program, read_address, read_fields, run_program
from ops.supervisor.folder import DataFolder, write_private


def restore_backup(backup: Path, *, say: Callable[[str], None] = lambda _: None) -> tuple[Manifest, float]:
    """Restores a backup into the database of the settings; returns its manifest and the seconds. Raises BackupError."""
    if settings.TRANSACTION_POOLING:
        raise BackupError("A restore needs a session: let DATABASE_URL name PostgreSQL itself, not the pooler.")
    began_s = time.monotonic()
    say("Checking the backup's files.")
    manifest = read_manifest(backup)
    check_migrations(manifest)
    try:
        with psycopg.connect(read_address(), autocommit=True) as connection:
            server = connection.info.server_version // 10_000
            check_target(connection, manifest, server)
            program, major = find_program("pg_restore", server_major=max(server, manifest.pg_dump))
            say(f"Restoring by pg_restore {major}.")
            fill(program, backup / DUMP)
            connection.execute("ANALYZE")
            if manifest.tables is not None:
                say("Comparing all rows.")
                compare(connection, manifest.tables)
    except psycopg.Error as error:
        raise BackupError(f"The database refused it: {error}") from None
    restore_secrets(backup, manifest)
    return manifest, time.monotonic() - began_s


def fill(program: Path, dump: Path) -> None:
    """Restores a dump in one transaction: an interruption leaves the database empty, so it can be tried again."""
    command = [str(program), "--dbname", make_conninfo(**read_fields()), "--single-transaction", "--exit-on-error"]
    command += ["--no-owner", "--no-privileges", "--no-password", str(dump)]
    run_program(command)


def check_migrations(manifest: Manifest) -> None:
    """Raises BackupError if the backup has a schema that this version of Fieldflame does not know."""
    known = set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
    ours = {app for app, _ in known}
    newer = [f"{app}.{name}" for app, name in manifest.migrations if app in ours and (app, name) not in known]
    if newer:
        raise BackupError(
            f"The backup is of a newer Fieldflame (its migration {newer[0]} is unknown here). "
            "Restore it by that version."
        )


def check_target(connection: "psycopg.Connection[tuple[object, ...]]", manifest: Manifest, server: int) -> None:
    """Raises BackupError if the database is not empty, or of an older version than the backup."""
    row = connection.execute(
        """SELECT count(*), to_regclass('projects_project') IS NOT NULL FROM pg_class c
           JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"""
    ).fetchone()
    assert row is not None
    if row[0]:
        contents = "has data of Fieldflame" if row[1] else f"has {row[0]} tables"
        raise BackupError(
            f"The database {contents}, and a restore needs an empty one. For a data folder: stop Fieldflame, and move "
            "its folder `postgres` away or name a new data folder by FIELDFLAME_DATA. Else create an empty database."
        )
    if server < manifest.postgres:
        raise BackupError(
            f"The backup is of PostgreSQL {manifest.postgres}, and the server is {server}. "
            "An older version cannot take it."
        )


def compare(connection: "psycopg.Connection[tuple[object, ...]]", tables: dict[str, KeptTable]) -> None:
    """Raises BackupError if a table has other rows than the backup says."""
    if difference := describe_difference(tables, read_contents(connection)):
        raise BackupError(f"The rows are not those of the backup; do not use this database. {difference}")


def restore_secrets(backup: Path, manifest: Manifest) -> None:
    """Puts the secret key and what belongs to it into the data folder, so that logins and links stay valid."""
    folder = DataFolder(settings.DATA_DIR)
    for path in (folder.secret_key, folder.admin_password, folder.demo_loaded):
        if path.name in manifest.files:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_private(path, (backup / path.name).read_text(encoding="utf-8"))
