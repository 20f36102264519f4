"""Making a backup: a dump of one snapshot while everything runs, with the sum of each table in the same snapshot."""

import os
import re
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import psycopg
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg.conninfo import make_conninfo

from ops.backup.checksums import read_contents
from ops.backup.manifest import DUMP, FORMAT, NAME, Manifest, describe_file
from ops.backup.programs import BackupError, find_program, read_address, read_fields, run_program
from ops.supervisor.folder import DataFolder

FOLDER_NAME: Final = re.compile(r"^fieldflame-\d{8}T\d{6}Z$")
LEFT_AFTER_S: Final = 86_400  # an unfinished backup of this age was left by a killed command
# gzip's fastest level: raw traces are compressed already, and higher ones take several times as long for a tenth.
COMPRESS: Final = "--compress=1"


def make_backup(
    parent: Path, *, with_sums: bool = True, say: Callable[[str], None] = lambda _: None
) -> tuple[Path, Manifest]:
    """Makes a backup in a folder of its own below `parent`; returns it with its manifest. Raises BackupError."""
    if settings.TRANSACTION_POOLING:
        raise BackupError("A backup needs a session: let DATABASE_URL name PostgreSQL itself, not the pooler.")
    began_at, began_s = datetime.now(UTC), time.monotonic()
    folder = parent / f"fieldflame-{began_at:%Y%m%dT%H%M%SZ}"
    partial = folder.with_name(f"{folder.name}.partial")
    make_private(parent, partial)
    try:
        with psycopg.connect(read_address()) as snapshot:
            snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            row = snapshot.execute("SELECT pg_export_snapshot()").fetchone()
            assert row is not None
            server = snapshot.info.server_version // 10_000
            program, major = find_program("pg_dump", server_major=server)
            migrations = sorted(MigrationRecorder(connection).applied_migrations())
            say(f"Dumping the database by pg_dump {major}.")
            dump(program, partial / DUMP, snapshot=str(row[0]))
            tables = None
            if with_sums:
                say("Reading the same rows for their sums.")
                tables = read_contents(snapshot)
        keep_secrets(partial)
        manifest = Manifest(
            format=FORMAT,
            made_at=began_at,
            postgres=server,
            pg_dump=major,
            migrations=migrations,
            files={path.name: describe_file(path) for path in sorted(partial.iterdir())},
            tables=tables,
            took_s=round(time.monotonic() - began_s, 1),
        )
        (partial / NAME).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        seal(partial)
        partial.rename(folder)
    except psycopg.Error as error:
        raise BackupError(f"The database refused it: {error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder, manifest


def make_private(parent: Path, partial: Path) -> None:
    """Creates the folder of a backup, which only its owner may enter: it has the secret key, and what pages sent."""
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in parent.glob("fieldflame-*.partial"):
            if time.time() - left.stat().st_mtime > LEFT_AFTER_S:
                shutil.rmtree(left)
        partial.mkdir(mode=0o700)
    except OSError as error:
        raise BackupError(f"{error.filename} cannot be made: {error.strerror}.") from None


def dump(program: Path, target: Path, *, snapshot: str) -> None:
    """Writes the dump of a snapshot."""
    command = [str(program), "--dbname", make_conninfo(**read_fields()), "--format=custom", COMPRESS, "--no-owner"]
    command += ["--no-privileges", "--no-password", f"--snapshot={snapshot}", f"--file={target}"]
    run_program(command)


def keep_secrets(partial: Path) -> None:
    """Copies what a data folder has next to the database: secret key, first password, and whether it has the demo."""
    folder = DataFolder(settings.DATA_DIR)
    for path in (folder.secret_key, folder.admin_password, folder.demo_loaded):
        if path.is_file():
            shutil.copyfile(path, partial / path.name)


def seal(partial: Path) -> None:
    """Lets only the owner read the files, and writes them to the disk."""
    for path in partial.iterdir():
        path.chmod(0o600)
        with path.open("rb") as file:
            os.fsync(file.fileno())


def list_backups(parent: Path) -> list[Path]:
    """Returns the backups below a folder, oldest first."""
    return sorted(path for path in parent.iterdir() if FOLDER_NAME.match(path.name) and (path / NAME).is_file())


def remove_older(parent: Path, keep: int) -> list[Path]:
    """Removes all backups except the newest `keep`; returns them."""
    older = list_backups(parent)[:-keep]
    for path in older:
        shutil.rmtree(path)
    return older
