"""A PostgreSQL with a standby that follows it, in a fresh folder."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg

from ops.supervisor.children import Child
from ops.supervisor.folder import make_private_folder
from ops.supervisor.stores.access import chown_tree
from ops.supervisor.stores.logins import MAP
from ops.supervisor.stores.postgres import DATABASE, USER, Postgres, make_postgres_child, set_up_postgres
from tests.runner.servers import Stores, run_stores

LIMIT_S = 240.0


@dataclass(frozen=True, slots=True)
class Pair:
    """The database with its other stores, and the standby."""

    stores: Stores
    standby: Child
    standby_url: str

    @property
    def database_url(self) -> str:
        return self.stores.addresses["DATABASE_URL"]


@contextmanager
def run_pair() -> Iterator[Pair]:
    """Runs the two until the block ends."""
    with run_stores() as stores:
        folder = stores.supervisor.folder
        postgres = set_up_postgres(folder, is_root=os.geteuid() == 0, is_throw_away=True)
        path = Path(tempfile.mkdtemp(prefix="fieldflame-standby-"))
        path.chmod(0o711)
        let_servers_in(postgres)
        standby = make_standby(postgres, path)
        child = make_postgres_child(standby, os.environ, is_throw_away=True)
        try:
            child.start()
            wait_for_rows(standby.url, "SELECT pg_is_in_recovery()", True)
            wait_for_rows(postgres.url, "SELECT state FROM pg_stat_replication", "streaming")
            yield Pair(stores, child, standby.url)
        finally:
            child.stop(lambda: False)
            shutil.rmtree(path, ignore_errors=True)


def let_servers_in(postgres: Postgres) -> None:
    """Lets the user that servers run as log in: a standby comes as that user, and not as who started it."""
    name = pwd.getpwuid(postgres.place.run_as.uid).pw_name
    with (postgres.place.data / "pg_ident.conf").open("a", encoding="utf-8") as file:
        file.write(f'{MAP} "{name}" {USER}\n')
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")


def make_standby(postgres: Postgres, path: Path) -> Postgres:
    """Copies a running server's data, with what lets the copy follow it."""
    data, sockets = path / "data", path / "sockets"
    run_as = postgres.place.run_as
    make_private_folder(sockets, run_as.uid, run_as.gid)
    command = [str(postgres.place.bin_folder / "pg_basebackup"), "--dbname", postgres.connection_text(DATABASE)]
    command += ["--pgdata", str(data), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    done = subprocess.run(command, check=False, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    chown_tree(data, run_as)
    return replace(postgres, place=replace(postgres.place, data=data), sockets=sockets, log=path / "log")


def wait_for_rows(url: str, query: str, wanted: Any) -> None:  # Any: whatever the query gives
    """Waits until a query to a server gives one value. Raises `TimeoutError`."""
    deadline_s = time.monotonic() + LIMIT_S
    seen: Any = "no answer"
    while time.monotonic() < deadline_s:
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                row = connection.execute(query.encode()).fetchone()
                seen = row and row[0]
        except psycopg.Error as error:
            seen = error
        if seen == wanted:
            return
        time.sleep(0.05)
    raise TimeoutError(f"{query} gave {seen}, and not {wanted}")
