"""How long a request waits for the database before it is given up: its thread is free then, and the client is told.

psycopg itself waits for an answer for ever: behind a stopped server every request would wait until it runs again.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from prometheus_client import Counter, Histogram
from psycopg import OperationalError
from psycopg.abc import PQGen
from psycopg_pool import ConnectionPool

RV = TypeVar("RV")
CANCEL_LIMIT_S: Final = 1.0
LEAST_WAIT_S: Final = 0.01  # a pool takes no less
# `requests`: of Django's connections, in every process. `store`: of those on which web processes store posts.
POOLS: Final = ("requests", "store")
POOL_WAIT_SECONDS: Final = Histogram(
    "fieldflame_pool_wait_seconds",
    "Time that a thread waited for a database connection of its process, by pool (requests, store)",
    ["pool"],
    buckets=(0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0),
)
POOL_TIMEOUTS: Final = Counter(
    "fieldflame_pool_timeouts_total",
    "Waits for a database connection that were given up, by pool",
    ["pool"],
)
for _pool in POOLS:  # so that the first one of each is seen as a rise
    POOL_WAIT_SECONDS.labels(_pool)
    POOL_TIMEOUTS.labels(_pool)
# By itself a pool waits twice as long after each attempt, for five minutes, and then never tries again until someone
# asks: after an outage of two minutes, posts were refused for up to two more. An attempt costs less than a post.
RECONNECT_S: Final = 1.0


class DeadlineExceeded(OperationalError):
    """The database did not answer in time."""


@dataclass(slots=True)
class Deadline:
    """The seconds that a request may still wait for the database. Reading its body does not count.

    If it cancels, the statement that took too long is ended in the database too, which takes another connection.
    """

    left_s: float
    cancels: bool


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def with_deadline(seconds: float, *, cancels: bool = False) -> Iterator[None]:
    """Bounds the waits for the database inside it, all together. Elsewhere they have no bound of this kind."""
    token = _deadline.set(Deadline(seconds, cancels))
    try:
        yield
    finally:
        _deadline.reset(token)


def left_s() -> float | None:
    """Returns the seconds that may still be waited here, None for ever."""
    deadline = _deadline.get()
    return None if deadline is None else deadline.left_s


def spend(seconds: float) -> None:
    """Takes what was waited in another way out of the deadline."""
    deadline = _deadline.get()
    if deadline is not None:
        deadline.left_s -= seconds


def wait_until_deadline(get: Callable[..., RV], pool: str) -> RV:
    """Returns what `get(timeout=…)` returns within the deadline, or `get()` where there is none.

    The wait is counted for the pool. Raises `DeadlineExceeded`, or what `get` raises.
    """
    deadline = _deadline.get()
    started = time.monotonic()
    try:
        return get() if deadline is None else get(timeout=max(deadline.left_s, LEAST_WAIT_S))
    except OperationalError:
        POOL_TIMEOUTS.labels(pool).inc()
        if deadline is None:
            raise
        raise DeadlineExceeded("no connection in time") from None
    finally:
        waited_s = time.monotonic() - started
        POOL_WAIT_SECONDS.labels(pool).observe(waited_s)
        if deadline is not None:
            deadline.left_s -= waited_s


def release_connection() -> None:
    """Releases the thread's connection to the process's pool: at a request's end, and before something slow.

    The pool has far fewer connections than the web process has threads. Inside a transaction this does nothing.
    """
    database = connections[DEFAULT_DB_ALIAS]  # looked up once: the endpoint calls this several times for a post
    if database.connection is not None and not database.in_atomic_block:
        database.close_if_unusable_or_obsolete()


def idle_timeout() -> str:
    """Returns `idle_in_transaction_session_timeout` for a statement that takes a lock until its transaction ends.

    If the host of this process is cut off, or loses its power, PostgreSQL learns nothing of it: the connection stays
    open, for hours. So it ends the transaction itself once nothing has come for IDLE_TRANSACTION_S.
    """
    return f"{settings.IDLE_TRANSACTION_S}s"


def drop_silent_connection(error: Exception) -> bool:
    """Returns whether Django's error is `DeadlineExceeded`. If so, the thread's next statement takes another
    connection.
    """
    is_silent = isinstance(error.__cause__, DeadlineExceeded)
    if is_silent and not connection.in_atomic_block:
        connection.close()
    return is_silent


def connect_again(pool: "ConnectionPool[Any]") -> None:  # Any: a connection of whichever class
    """Lets a pool go on to try to connect, as it gave up an attempt."""
    if not pool.closed:
        pool.check()  # opens a connection if there is none


# Options of every pool of connections.
RECONNECTING: Final[dict[str, Any]] = {"reconnect_timeout": RECONNECT_S, "reconnect_failed": connect_again}


class DeadlineConnection(psycopg.Connection[Any]):  # Any: rows as the cursors type them
    """A connection whose waits obey `with_deadline`. One that was given up is closed: its answer may still come."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Waits for an answer as psycopg does. Raises `DeadlineExceeded`."""
        deadline = _deadline.get()
        if deadline is None:
            return super().wait(gen, interval, timeout)
        started = time.monotonic()
        bound = max(deadline.left_s, 0.0)
        try:
            return super().wait(gen, interval, bound if timeout is None else min(bound, timeout))
        except OperationalError:
            if time.monotonic() - started < bound:
                raise
            if deadline.cancels:
                with contextlib.suppress(psycopg.Error):
                    self.cancel_safe(timeout=CANCEL_LIMIT_S)
            self.pgconn.finish()
            raise DeadlineExceeded("the database did not answer in time") from None
        finally:
            deadline.left_s -= time.monotonic() - started
