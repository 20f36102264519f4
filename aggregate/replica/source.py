"""Where this thread's statements go: to the database, or for the length of a block to the replica.

A block changes what Django finds as its default connection. So every statement of an answer reads the same server, also
those of Django's models: the facts that decide whether an answer has changed, and the answer, never come from two.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections

from ingest.deadline import with_deadline

REPLICA: Final = "replica"
CONNECT_WAIT_S: Final = 2.0  # then the database answers; a pool would wait for a replica that is cut off

_database: ContextVar[Any] = ContextVar("database", default=None)  # Any: Django's connection, set within a block


def has_replica() -> bool:
    """Returns whether a replica is set."""
    return REPLICA in connections.settings


@contextmanager
def at_replica() -> Iterator[None]:
    """Sends the statements of this thread to the replica."""
    database = connections[DEFAULT_DB_ALIAS]
    token = _database.set(database)
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = database
        _database.reset(token)


def open_replica() -> None:
    """Connects this thread to the replica. Raises `django.db.Error` if that takes longer than CONNECT_WAIT_S."""
    with with_deadline(CONNECT_WAIT_S):
        connections[REPLICA].ensure_connection()


@contextmanager
def at_database() -> Iterator[None]:
    """Sends the statements of this thread to the database itself, also within `at_replica`."""
    database = _database.get()
    if database is None:
        yield
        return
    replica = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = database
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = replica


def drop_replica_connection() -> None:
    """Closes this thread's connection to the replica after an error: the next block takes another one."""
    connections[REPLICA].close()
