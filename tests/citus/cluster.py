"""Databases of one's own on the Citus cluster that `CITUS_URL` names: on its coordinator and on all of its workers."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db.backends.postgresql.creation import DatabaseCreation

URL_NAME: Final = "CITUS_URL"  # of a superuser of the coordinator; it knows its own address and that of each worker
ON_CITUS_NAME: Final = "FIELDFLAME_TEST_ON_CITUS"  # `./test citus`: all tests have their database there
ADDING: Final = 0x6369_7475  # "citu": a lock
NEEDS_CITUS: Final = pytest.mark.skipif(
    not os.environ.get(URL_NAME), reason=f"{URL_NAME} names no Citus cluster to test on (docs/scale.md)"
)


@dataclass(frozen=True, slots=True)
class Node:
    """A server of the cluster."""

    host: str
    port: int
    is_coordinator: bool


def url_of(name: str) -> str:
    """Returns the address of a database on the coordinator."""
    return urlsplit(os.environ[URL_NAME])._replace(path=f"/{name}").geturl()


def list_nodes() -> list[Node]:
    """Returns the servers of the cluster, the coordinator first."""
    with psycopg.connect(os.environ[URL_NAME]) as connection:
        nodes = connection.execute("SELECT nodename, nodeport, groupid = 0 FROM pg_dist_node ORDER BY groupid")
        return [Node(*row) for row in nodes]


def create_database(name: str) -> None:
    """Creates an empty database on all servers, which know each other there."""
    nodes = list_nodes()
    for node in nodes:
        _execute(node, "postgres", f'CREATE DATABASE "{name}"')
    prepare_database(name)


def prepare_database(name: str) -> None:
    """Creates the extension in a database that is on all servers, and makes them known to each other."""
    nodes = list_nodes()
    for node in nodes:
        _execute(node, name, "CREATE EXTENSION citus")
    coordinator, *workers = nodes
    adding = [f"SELECT citus_set_coordinator_host('{coordinator.host}', {coordinator.port})"]
    adding += [f"SELECT citus_add_node('{node.host}', {node.port})" for node in workers]
    # To add a node writes roles, which all databases share: two at a time fail.
    with psycopg.connect(url_of("postgres"), autocommit=True) as one_at_a_time:
        one_at_a_time.execute("SELECT pg_advisory_lock(%s)", [ADDING])
        _execute(coordinator, name, *adding)


def drop_database(name: str) -> None:
    """Drops a database on all servers, whoever is connected."""
    for node in list_nodes():
        _execute(node, "postgres", f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@contextmanager
def open_database() -> Iterator[str]:
    """Yields the address of an empty database, which is gone at the end."""
    name = f"fieldflame_{secrets.token_hex(6)}"
    create_database(name)
    try:
        yield url_of(name)
    finally:
        drop_database(name)


def execute_on_workers(name: str, statement: str) -> list[list[tuple[object, ...]]]:
    """Returns the rows of a statement on each worker."""
    answers = []
    for node in list_nodes()[1:]:
        with psycopg.connect(url_of(name), host=node.host, port=node.port) as connection:
            answers.append(connection.execute(statement).fetchall())
    return answers


def _execute(node: Node, name: str, *statements: str) -> None:
    with psycopg.connect(url_of(name), host=node.host, port=node.port, autocommit=True) as connection:
        connection.execute("SET citus.enable_create_database_propagation = off")
        for statement in statements:
            connection.execute(statement)


def create_test_databases_there(patch: pytest.MonkeyPatch) -> None:
    """Lets Django create its databases for tests on all servers, and drop them."""

    def create(creation: DatabaseCreation, verbosity: int, autoclobber: bool, keepdb: bool = False) -> str:
        name: str = creation._get_test_db_name()  # type: ignore[attr-defined]  # not in the stubs
        drop_database(name)
        create_database(name)
        return name

    def destroy(creation: DatabaseCreation, test_database_name: str, verbosity: int) -> None:
        creation.connection.close_pool()
        drop_database(test_database_name)

    patch.setattr(DatabaseCreation, "_create_test_db", create)
    patch.setattr(DatabaseCreation, "_destroy_test_db", destroy)


def is_on_citus() -> bool:
    """Tells whether all tests of this run have their database on Citus."""
    return bool(os.environ.get(ON_CITUS_NAME))


def citus_environment() -> dict[str, str]:
    """Returns what a run of tests on Citus has in its environment: few shards, since each test empties all of them."""
    return {
        "DATABASE_URL": url_of(f"fieldflame_{secrets.token_hex(6)}"),
        ON_CITUS_NAME: "1",
        "FIELDFLAME_CITUS_SHARDS": "4",
    }
