"""PgBouncer in transaction mode before a test's server: each transaction of a client may have another session."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import psycopg

from ops.supervisor.running import find_free_port
from ops.supervisor.stores.access import appear_as
from ops.supervisor.stores.logins import MAP
from ops.supervisor.stores.postgres import USER
from tests.deploy.proxy import require_program
from tests.runner.waiting import wait_until

START_LIMIT_S = 120.0
STOP_LIMIT_S = 60.0
SERVER_USER = "nobody"  # PgBouncer does not run as root; this user may enter the folder of the server's socket
ADMISSION = f"{MAP} {SERVER_USER} {USER}\n"  # and the test's server lets it in as long as PgBouncer runs
# `server_round_robin` gives each transaction another session even if there is only one client.
CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
server_round_robin = 1
max_client_conn = 200
{user}
"""


def read_server(url: str) -> dict[str, Any]:
    """Returns host, port, user and password of the server of a database's address."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    fields = {
        "host": options.get("host") or parts.hostname,
        "port": options.get("port") or parts.port,
        "user": parts.username,
        "password": parts.password,
    }
    return {name: value for name, value in fields.items() if value}


@contextmanager
def admit_bouncer(database_url: str) -> Iterator[None]:
    """Lets PgBouncer's user log in to a test's server, which admits only the user that runs the tests, and root."""
    change_names(database_url, lambda text: text + ADMISSION)
    try:
        yield
    finally:
        change_names(database_url, lambda text: text.replace(ADMISSION, "", 1))


def change_names(database_url: str, change: Callable[[str], str]) -> None:
    """Changes the file of a server that says who is who, and lets it read the file again."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute("SHOW ident_file").fetchone()
        assert row is not None
        names = Path(row[0])
        names.write_text(change(names.read_text(encoding="utf-8")), encoding="utf-8")
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def run_bouncer(database_url: str) -> Iterator[str]:
    """Runs PgBouncer before the server of an address until the block ends; yields the address through it."""
    program, port, is_root = require_program("pgbouncer"), find_free_port(), os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="fieldflame-bouncer-"))
    fields = read_server(database_url)
    server = " ".join(f"{name}={value}" for name, value in fields.items())
    # As the server runs (ops/supervisor/stores/access.py): in a user namespace, or as a user of its own.
    host = str(fields["host"])
    is_in_namespace = is_root and host.startswith("/") and Path(host).stat().st_uid == 0
    is_demoted = is_root and not is_in_namespace
    user = f"user = {SERVER_USER}" if is_demoted else ""
    enter = appear_as(pwd.getpwnam(SERVER_USER)).enter if is_in_namespace else None
    configuration = folder / "pgbouncer.ini"
    configuration.write_text(CONFIGURATION.format(server=server, port=port, user=user), encoding="utf-8")
    name = urlsplit(database_url).path
    url = f"postgresql://{quote(str(read_server(database_url)['user']))}@127.0.0.1:{port}{name}"
    with admit_bouncer(database_url) if is_demoted else nullcontext():
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, str(configuration)],
                stdout=log,
                stderr=log,
                preexec_fn=enter,  # noqa: PLW1509  # it only changes the user
            )
        try:
            wait_until(
                lambda: is_answering(url),
                lambda: f"PgBouncer does not answer: {(folder / 'log').read_text(encoding='utf-8')}",
                is_alive=lambda: process.poll() is None,
            )
            yield url
        finally:
            process.terminate()
            process.wait(STOP_LIMIT_S)
            shutil.rmtree(folder, ignore_errors=True)


def is_answering(url: str) -> bool:
    try:
        with psycopg.connect(url, prepare_threshold=None) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True
