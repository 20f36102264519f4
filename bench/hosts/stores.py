"""The stores of a site on hosts: PostgreSQL with a standby, PgBouncer in transaction mode, and Valkey."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import psycopg
import redis

from bench.hosts.network import NETWORK, NOBODY, Host, NoHosts, Service, find_program
from config.up.stores.access import copy_binaries
from config.up.stores.binaries import find_postgres, find_valkey
from config.up.stores.postgres import DATABASE, SERVER_SETTINGS, USER

T = TypeVar("T")
START_LIMIT_S: Final = 180.0
STANDBY: Final = "replica"
PLAIN: Final = {"PATH": "/usr/sbin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
# Of a network that nobody else is on.
RULES: Final = f"local all all trust\nhost all all {NETWORK}.0/24 trust\nhost replication all {NETWORK}.0/24 trust\n"
BOUNCER: Final = """
[databases]
* = host={database} port=5432 user={user}
[pgbouncer]
listen_addr = *
listen_port = 6432
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 60
max_client_conn = 500
tcp_keepidle = 10
tcp_keepintvl = 5
tcp_keepcnt = 3
tcp_user_timeout = 25000
user = nobody
"""


@dataclass(frozen=True, slots=True)
class PostgresPrograms:
    """Where the user `nobody` finds PostgreSQL's programs, and where it may write."""

    bin_folder: Path
    folder: Path


def lay_out_postgres(folder: Path) -> PostgresPrograms:
    """Copies PostgreSQL's programs to where every user may read them: it does not run as root."""
    programs, data = folder / "postgres", folder / "data"
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    return PostgresPrograms(copy_binaries(find_postgres()[0].bin_folder, programs), data)


def start_primary(host: Host, programs: PostgresPrograms, environment: Mapping[str, str]) -> Service:
    """Starts a new PostgreSQL, and waits until it answers."""
    data = programs.folder / "primary"
    initdb = [str(programs.bin_folder / "initdb"), "--pgdata", str(data), "--username", USER, "--auth=trust"]
    host.run("initdb", [*initdb, "--encoding=UTF8", "--locale=C", "--no-sync"], PLAIN, as_nobody=True)
    (data / "pg_hba.conf").write_text(RULES, encoding="ascii")
    service = open_postgres(host, programs, data, environment)
    with wait_for(lambda: connect(host, "postgres"), psycopg.OperationalError, "PostgreSQL") as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
    return service


def start_standby(host: Host, primary: Host, programs: PostgresPrograms) -> Service:
    """Starts a copy of PostgreSQL that follows it, and waits until it answers."""
    data = programs.folder / "standby"
    source = f"host={primary.address} user={USER} application_name={STANDBY}"
    copy = [str(programs.bin_folder / "pg_basebackup"), "--dbname", source, "--pgdata", str(data)]
    copy += ["--write-recovery-conf", "--create-slot", "--slot", STANDBY, "--checkpoint=fast", "--no-sync"]
    host.run("copy", copy, PLAIN, as_nobody=True)
    service = open_postgres(host, programs, data, {})
    wait_for(lambda: connect(host, DATABASE), psycopg.OperationalError, "the standby").close()
    return service


def open_postgres(host: Host, programs: PostgresPrograms, data: Path, environment: Mapping[str, str]) -> Service:
    command = [str(programs.bin_folder / "postgres"), "-D", str(data), "-k", str(data)]
    for name, value in {**SERVER_SETTINGS, "listen_addresses": "*"}.items():
        command += ["-c", f"{name}={value}"]
    return host.open("postgres", command, {**PLAIN, **environment}, as_nobody=True)


def connect(host: Host, database: str) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(
        f"host={host.address} user={USER} dbname={database} connect_timeout=5", autocommit=True, prepare_threshold=None
    )


def start_bouncer(host: Host, primary: Host, folder: Path) -> Service:
    """Starts PgBouncer before a PostgreSQL, and waits until it answers."""
    program = find_program("pgbouncer")
    if program is None:
        raise NoHosts("PgBouncer is not installed on this machine")
    configuration = folder / "pgbouncer.ini"
    configuration.write_text(BOUNCER.format(database=primary.address, user=USER), encoding="ascii")
    configuration.chmod(0o644)
    service = host.open("pgbouncer", [program, str(configuration)], PLAIN)
    url = f"{make_pooled_url(host)}?connect_timeout=5"
    wait_for(lambda: psycopg.connect(url), psycopg.OperationalError, "PgBouncer").close()
    return service


def make_url(host: Host) -> str:
    return f"postgresql://{USER}@{host.address}:5432/{DATABASE}"


def make_pooled_url(host: Host) -> str:
    return f"postgresql://{USER}@{host.address}:6432/{DATABASE}"


def start_valkey(host: Host, folder: Path, environment: Mapping[str, str]) -> Service:
    """Starts Valkey, and waits until it answers."""
    data = folder / "valkey"
    data.mkdir()
    command = [str(find_valkey()), "--bind", "*", "--protected-mode", "no", "--dir", str(data)]
    command += ["--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction"]
    service = host.open("valkey", command, {**PLAIN, **environment})
    with redis.Redis(host=host.address, socket_timeout=5) as client:
        wait_for(client.ping, redis.RedisError, "Valkey")
    return service


def wait_for(ask: Callable[[], T], not_yet: type[Exception], name: str) -> T:
    """Returns the first answer. Raises `TimeoutError`."""
    deadline_s = time.monotonic() + START_LIMIT_S
    while True:
        try:
            return ask()
        except not_yet as error:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{name} does not answer: {error}") from error
            time.sleep(0.05)
