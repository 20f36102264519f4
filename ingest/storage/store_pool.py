"""The connections on which posts are stored: a few of each web process, besides the pool of its requests.

They are autonomous: no request's transaction uses them, their statements are prepared, and nobody asks before each one
whether they are still alive. A connection that was lost, as after a restart of the database, is replaced.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import DuplicatePreparedStatement, FeatureNotSupported, InvalidSqlStatementName, error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, Format
from psycopg_pool import ConnectionPool

from ingest.deadline import RECONNECTING, DeadlineConnection, DeadlineExceeded, wait_until_deadline

logger = logging.getLogger(__name__)

POOL_THREADS: Final = 1  # they only open connections, which is seldom


class PoolConnection(DeadlineConnection):
    """A connection with the names of the statements that its server has prepared for it."""

    def __init__(self, *args: object, **words: object) -> None:
        super().__init__(*args, **words)  # type: ignore[arg-type]  # handed on
        self.prepared = set[bytes]()


_lock = threading.Lock()
_pool: ConnectionPool[PoolConnection] | None = None
_plans_differ = False  # Citus was met: on which of its workers a statement runs depends on its values
_sessions_change = False  # a pooler was met that gives each transaction another session, and nobody said so


@dataclass(frozen=True, slots=True)
class PoolStatement:
    """A statement with `$1`, `$2` …, which returns no rows. `formats` says of each parameter whether it is binary.

    It is given to libpq as it is: a cursor takes five times as long to see what kinds of values there are.
    """

    name: bytes
    text: bytes
    formats: Sequence[Format]


def execute_with_retry(statement: PoolStatement, params: Sequence[bytes]) -> None:
    """Runs a statement that changes nothing if it runs twice, in a transaction of its own.

    It does run twice if its connection was lost on the way. Raises `django.db.Error`.
    """
    with connection.wrap_database_errors:
        for _ in range(settings.INGEST_STORE_CONNECTIONS):  # after a restart of the database all of them may be lost
            if _run(statement, params):
                return
        _run(statement, params, is_last=True)


def _run(statement: PoolStatement, params: Sequence[bytes], *, is_last: bool = False) -> bool:
    """Runs a statement; returns False if its connection was lost, unless it is the last try. Raises `psycopg.Error`."""
    pool = _open_pool()
    pooled = wait_until_deadline(pool.getconn, "store")
    try:
        _execute(pooled, statement, params)
    except DeadlineExceeded:
        raise
    except psycopg.OperationalError:
        if is_last or not pooled.closed:
            raise
        return False
    finally:
        pool.putconn(pooled)
    return True


def _execute(pooled: PoolConnection, statement: PoolStatement, params: Sequence[bytes]) -> None:
    """Runs a statement, prepared by the connection's first one where that is possible. Raises `psycopg.Error`."""
    global _sessions_change
    if not (_sessions_change or settings.TRANSACTION_POOLING):
        try:
            _execute_prepared(pooled, statement, params)
        except (InvalidSqlStatementName, DuplicatePreparedStatement):
            _sessions_change = True
            logger.warning("A pooler changes sessions between transactions: set FIELDFLAME_TRANSACTION_POOLING=1.")
        else:
            return
    pooled.pgconn.send_query_params(statement.text, params, param_formats=statement.formats)
    _wait_for_result(pooled)


def _execute_prepared(pooled: PoolConnection, statement: PoolStatement, params: Sequence[bytes]) -> None:
    global _plans_differ
    if statement.name not in pooled.prepared:
        pooled.pgconn.send_prepare(statement.name, statement.text)
        _wait_for_result(pooled)
        pooled.prepared.add(statement.name)
    try:
        pooled.pgconn.send_query_prepared(statement.name, params, param_formats=statement.formats)
        _wait_for_result(pooled)
    except FeatureNotSupported:
        _plans_differ = True  # connections that are opened later begin so
        _choose_planning(pooled)
        pooled.pgconn.send_query_prepared(statement.name, params, param_formats=statement.formats)
        _wait_for_result(pooled)


def _wait_for_result(pooled: PoolConnection) -> None:
    """Waits for the end of what was sent. Raises `psycopg.Error`."""
    for result in pooled.wait(execute(pooled.pgconn)):
        if result.status != ExecStatus.COMMAND_OK:
            raise error_from_result(result)


def _open_pool() -> ConnectionPool[PoolConnection]:
    """Returns this process's connections, opened when they are needed first."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                _pool = _make_pool()
    return _pool


def _make_pool() -> ConnectionPool[PoolConnection]:
    options = {
        name: value
        for name, value in connection.get_connection_params().items()
        if name not in ("context", "cursor_factory", "prepare_threshold")
    }
    return ConnectionPool(
        kwargs={**options, "autocommit": True, "prepare_threshold": None},
        connection_class=PoolConnection,
        configure=None if settings.TRANSACTION_POOLING else _choose_planning,
        min_size=1,
        max_size=settings.INGEST_STORE_CONNECTIONS,
        timeout=settings.INGEST_DATABASE_WAIT_MS / 1_000,
        max_idle=settings.DB_POOL_IDLE_S,
        num_workers=POOL_THREADS,
        open=True,
        name="fieldflame-store",
        **RECONNECTING,
    )


def _choose_planning(pooled: PoolConnection) -> None:
    """Lets the server plan a prepared statement once: planning took it longer than storing a trace. Citus cannot."""
    pooled.execute(f"SET plan_cache_mode = {'force_custom_plan' if _plans_differ else 'force_generic_plan'}")


def close_store_pool() -> None:
    """Closes this process's connections. The next statement opens new ones."""
    global _pool
    with _lock:
        closed, _pool = _pool, None
    if closed is not None:
        closed.close()
