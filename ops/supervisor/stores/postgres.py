"""PostgreSQL as a child: its data folder is created once and completely, its server runs in the foreground.

The server listens only on a Unix socket, in a folder that only its user (and root) may enter. It lets in the user that
runs Fieldflame, without a password (ops/supervisor/stores/logins.py).
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder, make_private_folder
from ops.supervisor.messages import StartError, read_log_end, say
from ops.supervisor.proc import Process, end_processes, list_processes, works_in
from ops.supervisor.stores.access import ServerPlace, choose_place, chown_tree
from ops.supervisor.stores.binaries import choose_postgres, find_postgres
from ops.supervisor.stores.logins import renew_logins, write_logins

USER = "fieldflame"
DATABASE = "fieldflame"
PORT = 5432  # only a part of the socket's name
INITDB_LIMIT_S = 120
SERVER_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "max_wal_size": "2GB",  # many traces should not force checkpoints every few seconds
    "checkpoint_timeout": "10min",
    "log_checkpoints": "off",
    "client_connection_check_interval": "10s",  # a statement whose client is gone ends, even one that waits for a lock
    "jit": "off",  # queries here are short; compiling them costs more than it saves
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# A server that shares a small machine with all other parts: of 29 MB at its start, 17 are left.
LIGHT_SETTINGS = {
    "wal_buffers": "1MB",  # it would fill 4 MB at once, and small posts fill less between two commits
    "max_logical_replication_workers": "0",  # no one subscribes to another server here
}
# From version 18 on: three processes that read ahead took 9 MB, and its tables are mostly in the system's cache.
READING_SETTINGS = {"io_method": "sync"}
FIRST_WITH_IO_METHOD = 18
# A throw-away server for tests can do without these: its data need not survive a crash of the machine. It must survive
# a killed server, as the tests of crashes need: a commit has reached the kernel, so `synchronous_commit` stays on.
THROW_AWAY_SETTINGS = {"fsync": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A server that this program runs: its places, its start and its address."""

    place: ServerPlace
    major: int
    sockets: Path
    log: Path

    def connection_text(self, database: str) -> str:
        return f"host={quote_value(str(self.sockets))} port={PORT} user={USER} dbname={quote_value(database)}"

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self.sockets), safe='/')}&port={PORT}"

    def find_processes(self) -> Iterator[Process]:
        """Yields the server's processes: each is in a session of its own and has the data folder as its cwd."""
        return (process for process in list_processes() if works_in(process.pid, self.place.data))


def quote_value(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def set_up_postgres(folder: DataFolder, *, is_root: bool, is_throw_away: bool = False) -> Postgres:
    """Chooses programs and a way to run them, and creates the data folder if there is none. Raises StartError."""
    binaries = choose_postgres(folder.postgres, find_postgres())
    place = choose_place(bin_folder=binaries.bin_folder, data=folder.postgres, digest=folder.digest, is_root=is_root)
    if is_root and place.run_as.uid != os.geteuid() and not is_throw_away:
        say(
            f"PostgreSQL runs as {place.run_as.description}. Any other process of that user can read and change its "
            "data. Start ./run as an account of its own."
        )
    sockets = folder.socket_folder("postgres")
    if place.data != folder.postgres:
        sockets = place.data.with_name("sockets")
    make_private_folder(sockets, place.run_as.uid, place.run_as.gid)
    if sockets.parent == folder.path / "sockets":
        sockets.parent.chmod(0o711)
    postgres = Postgres(
        place=place,
        major=binaries.major,
        sockets=sockets,
        log=folder.logs / "postgres.log",
    )
    if not place.data.exists():
        make_data_folder(postgres, is_throw_away=is_throw_away)
    chown_tree(place.data, place.run_as)
    if not is_root and place.data.stat().st_uid != place.run_as.uid:
        raise StartError(f"{place.data} belongs to another user; start as that user, or give another folder by --data.")
    renew_logins(place.data, place.run_as, USER)
    return postgres


def make_data_folder(postgres: Postgres, *, is_throw_away: bool) -> None:
    """Runs initdb in another folder and renames it when complete, so that an interruption leaves no half folder."""
    data, run_as = postgres.place.data, postgres.place.run_as
    for half in data.parent.glob(f"{data.name}.new*"):
        shutil.rmtree(half)
    new = data.with_name(f"{data.name}.new")
    make_private_folder(new, run_as.uid, run_as.gid)
    command = [str(postgres.place.bin_folder / "initdb"), "--pgdata", str(new), "--username", USER]
    command += ["--auth-local=peer", "--auth-host=reject", "--encoding=UTF8", "--locale=C", "--no-instructions"]
    command += ["--no-sync"] if is_throw_away else []
    try:
        done = subprocess.run(
            command,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=INITDB_LIMIT_S,
            preexec_fn=run_as.enter,  # the supervisor has one thread
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise StartError(f"PostgreSQL's initdb did not finish within {INITDB_LIMIT_S} s.") from None
    if done.returncode != 0:
        reason = (done.stderr.strip() or done.stdout.strip()).replace("\n", "\n    ")
        raise StartError(f"PostgreSQL's initdb failed, as {run_as.description}:\n    {reason}")
    write_logins(new, run_as, USER)
    new.rename(data)


def make_postgres_child(postgres: Postgres, environment: Mapping[str, str], *, is_throw_away: bool = False) -> Child:
    settings = SERVER_SETTINGS | LIGHT_SETTINGS | (THROW_AWAY_SETTINGS if is_throw_away else {})
    if postgres.major >= FIRST_WITH_IO_METHOD:
        settings |= READING_SETTINGS
    command = [str(postgres.place.bin_folder / "postgres"), "-D", str(postgres.place.data), "-p", str(PORT)]
    command += ["-k", str(postgres.sockets)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    return Child(
        name="postgres",
        title=f"PostgreSQL {postgres.major}",
        command=command,
        environment={**environment, "LC_ALL": "C"},
        log=postgres.log,
        cwd=Path("/"),
        stop_signal=signal.SIGINT,  # its "fast" shutdown: sessions end, data is written
        stop_limit_s=60.0,
        enter=postgres.place.run_as.enter,
        before_start=lambda: clear_stale_server(postgres),
        clear_strays=lambda: clear_server(postgres),
    )


def clear_server(postgres: Postgres) -> None:
    """Waits for the processes of a dead postmaster (they notice and exit), then ends those that are left."""
    end_processes(postgres.find_processes, gentle=None, gentle_limit_s=5.0)


def clear_stale_server(postgres: Postgres) -> None:
    """Ends a server that still runs in this data folder, and removes its pid file.

    The caller holds the folder's lock, so such a server is an orphan. The pid file must be removed, because PostgreSQL
    refuses to start while *any* process has that id, and in a container a small id is soon used again. This is done
    only on Linux, where `/proc` says whether a server works in the folder; elsewhere PostgreSQL's own check applies.
    """
    if sys.platform != "linux":
        return
    if not end_processes(postgres.find_processes, gentle=signal.SIGINT, gentle_limit_s=30.0):
        raise StartError(f"Another PostgreSQL server runs in {postgres.place.data} and does not stop.")
    (postgres.place.data / "postmaster.pid").unlink(missing_ok=True)
    for rest in postgres.sockets.glob(".s.PGSQL.*"):
        rest.unlink(missing_ok=True)


def wait_for_postgres(
    postgres: Postgres, child: Child, tick: Callable[[], None], note_answer: Callable[[], None] = lambda: None
) -> None:
    """Waits until the server lets us in, and creates the database. Raises StartError if it ends, or if `tick` does.

    After a kill -9 it first replays its log, and answers meanwhile that it starts up.
    """
    while True:
        try:
            with psycopg.connect(
                postgres.connection_text("postgres"), autocommit=True, connect_timeout=5
            ) as connection:
                make_database(connection)
            return
        except psycopg.OperationalError as error:
            if "authentication failed" in str(error):
                raise StartError(
                    f"PostgreSQL does not let this user in, by the rules in {postgres.place.data}: "
                    "pg_hba.conf or pg_ident.conf was changed. Empty both to get new ones."
                ) from None
            if not child.is_running():
                raise StartError(
                    f"PostgreSQL {postgres.major} did not start; the end of {postgres.log}:{read_log_end(postgres.log)}"
                ) from None
            if "the database system is" in str(error):
                note_answer()
        tick()
        time.sleep(0.05)


def make_database(connection: psycopg.Connection) -> None:
    """Creates the database if it is missing, as after a start that was interrupted right after initdb."""
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone() is None:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def check_postgres_url(url: str) -> str:
    """Connects to the server that DATABASE_URL names and returns its version. Raises StartError with one sentence."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            return str(connection.info.parameter_status("server_version"))
    except (psycopg.Error, UnicodeError) as error:
        lines = str(error).strip().splitlines() or ["no reason given"]
        raise StartError(f"The PostgreSQL server that DATABASE_URL names cannot be used: {lines[-1].strip()}") from None
