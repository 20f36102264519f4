"""The same rows in two databases, on plain PostgreSQL and on Citus; the process asks one, and then the other."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psycopg
from django.db import connection

from ingest.storage.store_pool import STORE_POOL
from ops.citus.placement import list_places
from tests.aggregate.posting import database_url
from tests.runner.caches import clear_caches

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT_S: Final = 900
# What migrations make in every database.
MADE: Final = ("auth_permission", "django_content_type")
RAW_PARTITIONS: Final = """
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'ingest_rawtrace'::regclass ORDER BY 1
"""


def manage(url: str, *arguments: str) -> None:
    """Runs `manage.py WORDS` with a database."""
    environment = {**os.environ, "DATABASE_URL": url, "FIELDFLAME_CITUS_SHARDS": "4"}
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr


def copy_database(url: str) -> None:
    """Makes the schema in an empty database of a cluster, distributes it, and copies the rows of this test's there."""
    manage(url, "migrate", "--verbosity", "0")
    manage(url, "distribute")
    with psycopg.connect(database_url()) as here, psycopg.connect(url, autocommit=True) as there:
        known = {name for name, _ in there.execute(RAW_PARTITIONS)}
        for name, bound in here.execute(RAW_PARTITIONS).fetchall():
            if name not in known:
                there.execute(f"CREATE TABLE {name} PARTITION OF ingest_rawtrace {bound}")
        waiting = [table for table in list_places() if table not in MADE]
        while waiting:
            later = [table for table in waiting if not _copy_table(here, there, table)]
            assert len(later) < len(waiting), f"these tables could not be copied: {later}"
            waiting = later


def _copy_table(here: psycopg.Connection, there: psycopg.Connection, table: str) -> bool:
    """Copies a table; tells whether the rows that its own refer to were there."""
    rows = here.execute(f"SELECT count(*) FROM {table}").fetchone()
    if rows == (0,):
        return True
    names = [column.name for column in here.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]
    columns = ", ".join(f'"{name}"' for name in names)
    try:
        with (
            here.cursor() as reading,
            there.cursor() as writing,
            reading.copy(f"COPY (SELECT {columns} FROM {table}) TO STDOUT") as source,
            writing.copy(f"COPY {table} ({columns}) FROM STDIN") as target,
        ):
            for piece in source:
                target.write(piece)
    except psycopg.errors.ForeignKeyViolation:
        return False
    if "id" in names:  # the next row of a table that numbers its rows
        there.execute(
            f"SELECT setval(s, (SELECT max(id) FROM {table})) FROM pg_get_serial_sequence('{table}', 'id') AS s"
            " WHERE s IS NOT NULL"
        )
    return True


@contextmanager
def asking(url: str) -> Iterator[None]:
    """Lets the process ask another database meanwhile; it caches nothing of the one before."""
    settings, address = connection.settings_dict, urlsplit(url)
    before = {name: settings[name] for name in ("NAME", "HOST", "PORT", "USER", "PASSWORD")}
    other = {
        "NAME": address.path.strip("/"),
        "HOST": address.hostname or "",
        "PORT": str(address.port or ""),
        "USER": address.username or "",
        "PASSWORD": address.password or "",
    }
    try:
        _ask(other)
        yield
    finally:
        _ask(before)


def _ask(settings: Mapping[str, object]) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # of our own backend
    STORE_POOL.close()
    connection.settings_dict.update(settings)
    clear_caches()
