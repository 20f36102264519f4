"""How far the replica is behind, without trusting clocks, and without writing anything.

`pg_last_xact_replay_timestamp` says how old the last replayed commit is: minutes, if nothing is written. Here each look
notes how far the database's log reaches. Once the replica has replayed as much, it has everything that was committed
before that look. So the age of the newest such look is its lag, at most.
"""

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from aggregate.replica.source import REPLICA
from ingest.deadline import DeadlineConnection, with_deadline

logger = logging.getLogger(__name__)

LOOK_S: Final = 0.5  # so exact is a lag; two statements that read no table
LOOK_LIMIT_S: Final = 2.0  # then the server counts as away
CONNECT_LIMIT_S: Final = 2  # libpq takes no less
IDLE_S: Final = 60.0  # without a read for this time, the looks stop
END: Final = "SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint"
# Not replayed, but received, it could not be read yet. A server that is no standby follows no one.
REPLAYED: Final = """
SELECT CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint END
"""
UNUSED_FIELDS: Final = ("context", "cursor_factory", "prepare_threshold")  # Django's own


@dataclass(slots=True)
class LagRecord:
    """What looks have seen: how far the log reached, by when it was asked, and when the replica had all of it."""

    ends: deque[tuple[float, int]]
    caught_up_s: float | None = None

    @classmethod
    def empty(cls, kept: int) -> "LagRecord":
        return cls(deque(maxlen=kept))

    def note_end(self, measured_s: float, end: int) -> None:
        """Notes the end of the log. Everything that was committed before `measured_s` is within it."""
        self.ends.append((measured_s, end))

    def note_replayed(self, replayed: int | None) -> None:
        """Notes how far the replica is; None if it is no standby."""
        if replayed is None:
            self.caught_up_s = None
            return
        while self.ends and self.ends[0][1] <= replayed:
            self.caught_up_s = self.ends.popleft()[0]

    def lag_s(self, now_s: float) -> float | None:
        """Returns how far the replica is behind, at most; None if it is not known."""
        return None if self.caught_up_s is None else now_s - self.caught_up_s


class ReplicaWatch:
    """Looks at the database and the replica in a thread, while it is read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked_s = 0.0
        self._record = LagRecord.empty(1)
        self._is_away = True
        self._has_looked = threading.Event()

    def find_lag_s(self) -> float | None:
        """Returns how far the replica is behind, at most; None if it does not answer, or that is not known yet.

        Never waits. The first call begins to look.
        """
        self._asked_s = time.monotonic()
        if self._thread is None or not self._thread.is_alive():
            self._start()
        return None if self._is_away else self._record.lag_s(time.monotonic())

    @property
    def is_away(self) -> bool:
        """Whether the last look got no answer."""
        return self._is_away and self._has_looked.is_set()

    def note_fault(self) -> None:
        """Notes that a read of the replica failed: it is not read before the next look that succeeds."""
        self._is_away = True

    def _start(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._record = LagRecord.empty(int(settings.REPLICA_MAX_LAG_S / LOOK_S) + 2)
                self._is_away = True
                self._has_looked.clear()
                self._thread = threading.Thread(target=self._work, name="replica-watch", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        looks = (LagLook(DEFAULT_DB_ALIAS, END), LagLook(REPLICA, REPLAYED))
        try:
            while time.monotonic() - self._asked_s < IDLE_S:
                self._look(*looks)
                self._has_looked.set()
                time.sleep(LOOK_S)
        finally:
            self._is_away = True
            for look in looks:
                look.close()

    def _look(self, database: "LagLook", replica: "LagLook") -> None:
        measured_s = time.monotonic()
        try:
            end = database.read()
            if end is not None:
                self._record.note_end(measured_s, end)
        except psycopg.Error:  # of what is read from the replica meanwhile, the lag grows
            logger.debug("The database did not say how far its log reaches.")
        try:
            self._record.note_replayed(replica.read())
        except psycopg.Error as error:
            if not self._is_away or not self._has_looked.is_set():
                logger.warning("The replica does not answer (%s); the database is read.", type(error).__name__)
            self._is_away = True
            return
        self._is_away = False


class LagLook:
    """A connection to a server, for one short statement at a time. It is opened again after an error."""

    def __init__(self, alias: str, statement: str) -> None:
        self._alias = alias
        self._statement = statement.encode()
        self._connection: DeadlineConnection | None = None

    def read(self) -> int | None:
        """Returns the statement's number. Raises `psycopg.Error`, also if no answer comes in time."""
        with with_deadline(LOOK_LIMIT_S):
            try:
                if self._connection is None:
                    self._connection = connect(self._alias)
                row = self._connection.execute(self._statement).fetchone()
            except psycopg.Error:
                self.close()
                raise
        return None if row is None or row[0] is None else int(row[0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def connect(alias: str) -> DeadlineConnection:
    """Returns a connection of its own to one of the two servers. Raises `psycopg.Error`."""
    options: dict[str, Any] = {  # Any: as Django has them
        name: value
        for name, value in connections.create_connection(alias).get_connection_params().items()
        if name not in UNUSED_FIELDS
    }
    options["connect_timeout"] = CONNECT_LIMIT_S
    return DeadlineConnection.connect(**options, autocommit=True, prepare_threshold=None)


WATCH: Final = ReplicaWatch()
