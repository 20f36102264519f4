"""The connections on which posts are stored: a few of each web process, besides the pool of its requests.

They are autonomous: no request's transaction uses them, their statements are prepared, and no one asks before each one
whether they are still alive. A connection that was lost, as after a restart of the database, is replaced.
"""

import logging
import struct
import threading
from collections.abc import Sequence
from typing import Final
from zlib import crc32

import psycopg
from django.conf import settings
from django.db import connection
from psycopg import RawCursor
from psycopg.errors import DuplicatePreparedStatement, FeatureNotSupported, InvalidSqlStatementName, error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus, Format
from psycopg_pool import ConnectionPool

from ingest.deadline import RECONNECTING, DeadlineConnection, DeadlineExceeded, wait_until_deadline

logger = logging.getLogger(__name__)

POOL_THREADS: Final = 1  # they only open connections, which is seldom
ARRAY_HEAD: Final = struct.Struct("!iiIii")
LENGTH: Final = struct.Struct("!i")
BYTEA: Final = 17  # its number among PostgreSQL's types

Param = str | Sequence[bytes]  # a value as text, or a `bytea[]`


class PoolConnection(DeadlineConnection):
    """A connection with the names of the statements that its server has prepared for it."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]  # handed on
        self.prepared = set[bytes]()


class StorePool:
    """The connections of this process on which posts are stored, and what it has learned of the server behind them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ConnectionPool[PoolConnection] | None = None
        self.plans_differ = False  # Citus was met: on which of its workers a statement runs depends on its values
        self.sessions_change = False  # a pooler was met that gives each transaction another session, unannounced

    def execute_with_retry(self, statement: str, params: Sequence[Param]) -> None:
        """Runs a statement that changes nothing if it runs twice, in a transaction of its own. It returns no rows.

        It does run twice if its connection was lost on the way. Raises `django.db.Error`.
        """
        # Given to libpq as they are: a cursor takes five times as long to see what kinds of values there are.
        sent = [param.encode() if isinstance(param, str) else _pack_array(param) for param in params]
        formats = [Format.TEXT if isinstance(param, str) else Format.BINARY for param in params]
        tries = settings.INGEST_STORE_CONNECTIONS + 1  # after a restart of the database all of them may be lost
        with connection.wrap_database_errors:
            for tries_left in reversed(range(tries)):
                pool = self.open()
                pooled = wait_until_deadline(pool.getconn, "store")
                try:
                    self._execute(pooled, statement, sent, formats)
                except DeadlineExceeded:
                    raise
                except psycopg.OperationalError:
                    if not tries_left or not pooled.closed:
                        raise
                else:
                    return
                finally:
                    pool.putconn(pooled)

    def _execute(
        self, pooled: PoolConnection, statement: str, params: Sequence[bytes], formats: Sequence[Format]
    ) -> None:
        """Runs a statement, prepared by the connection's first one where that is possible. Raises `psycopg.Error`.

        A name says which statement it is: behind a pooler, the session of another process may have prepared it.
        """
        text = statement.encode()
        name = b"store-%08x" % crc32(text)
        if not (self.sessions_change or settings.TRANSACTION_POOLING):
            try:
                if name not in pooled.prepared:
                    pooled.pgconn.send_prepare(name, text)
                    _wait_for_result(pooled)
                    pooled.prepared.add(name)
                try:
                    pooled.pgconn.send_query_prepared(name, params, param_formats=formats)
                    _wait_for_result(pooled)
                except FeatureNotSupported:
                    self.plans_differ = True  # connections that are opened later begin so
                    self._choose_planning(pooled)
                    pooled.pgconn.send_query_prepared(name, params, param_formats=formats)
                    _wait_for_result(pooled)
            except (InvalidSqlStatementName, DuplicatePreparedStatement):
                self.sessions_change = True
                logger.warning("A pooler changes sessions between transactions: set FIELDFLAME_TRANSACTION_POOLING=1.")
            else:
                return
        pooled.pgconn.send_query_params(text, params, param_formats=formats)
        _wait_for_result(pooled)

    def _choose_planning(self, pooled: PoolConnection) -> None:
        """Lets the server plan a prepared statement once: planning took longer than storing a trace. Citus cannot."""
        mode = "force_custom_plan" if self.plans_differ else "force_generic_plan"
        pooled.execute("SELECT set_config('plan_cache_mode', %s, false)", [mode])

    def open(self) -> ConnectionPool[PoolConnection]:
        """Returns the connections, opened when they are needed first."""
        with self._lock:
            if self._pool is None:
                options = {
                    name: value
                    for name, value in connection.get_connection_params().items()
                    if name not in ("context", "cursor_factory", "prepare_threshold")
                }
                self._pool = ConnectionPool(
                    kwargs={**options, "autocommit": True, "prepare_threshold": None},
                    connection_class=PoolConnection,
                    configure=None if settings.TRANSACTION_POOLING else self._choose_planning,
                    min_size=1,
                    max_size=settings.INGEST_STORE_CONNECTIONS,
                    timeout=settings.INGEST_DATABASE_WAIT_MS / 1_000,
                    max_idle=settings.DB_POOL_IDLE_S,
                    num_workers=POOL_THREADS,
                    open=True,
                    name="fieldflame-store",
                    **RECONNECTING,
                )
            return self._pool

    def close(self) -> None:
        """Closes the connections. The next statement opens new ones."""
        with self._lock:
            closed, self._pool = self._pool, None
        if closed is not None:
            closed.close()


STORE_POOL: Final = StorePool()


def execute_in_transaction(statement: str, params: Sequence[Param]) -> None:
    """Runs a statement with `$1`, `$2` … in this thread's transaction. Raises `django.db.Error`."""
    with connection.wrap_database_errors, RawCursor(connection.connection) as cursor:
        cursor.execute(statement, [param if isinstance(param, str) else list(param) for param in params])


def _wait_for_result(pooled: PoolConnection) -> None:
    """Waits for the end of what was sent. Raises `psycopg.Error`."""
    for result in pooled.wait(execute(pooled.pgconn)):
        if result.status != ExecStatus.COMMAND_OK:
            raise error_from_result(result)


def _pack_array(values: Sequence[bytes]) -> bytes:
    """Returns a `bytea[]` in PostgreSQL's binary form."""
    head = ARRAY_HEAD.pack(1, 0, BYTEA, len(values), 1)  # one dimension, no null, from 1
    return head + b"".join([part for value in values for part in (LENGTH.pack(len(value)), value)])
