"""Who holds a claim: a process, known by a token of its own and by its heartbeat, not by its database session.

Claims of traces, jobs and scripts carry the token. They hold while the lease's row is there and has beaten within
CLAIM_SILENCE_S. Behind a pooler that shares sessions, and with several database servers, a session says nothing about a
worker. No sum depends on a beat: every writer checks under a row lock that the claim still has its token.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import Error, connection

from aggregate.metrics import HEARTBEATS_FAILED
from ingest.deadline import idle_timeout
from profcore.caching import keep
from profcore.sums.fold import FOLD_VERSION

logger = logging.getLogger(__name__)

BEAT_S: Final = 5.0  # six beats within the default silence: a few may fail or be late
PROC: Final = Path("/proc")

# The leases whose claims hold, for statements: `live.token`.
LIVE: Final = f"""live AS MATERIALIZED (
    SELECT token FROM aggregate_workerlease
    WHERE heartbeat_at > now() - make_interval(secs => {settings.CLAIM_SILENCE_S}))"""
REGISTER: Final = """
INSERT INTO aggregate_workerlease (token, host, process, started_at, heartbeat_at, fold_version)
VALUES (%s, %s, %s, now(), now(), %s)
ON CONFLICT (token) DO UPDATE SET heartbeat_at = now()
RETURNING set_config('idle_in_transaction_session_timeout', %s, true)
"""
# Locked in no order, but no one waits for another's locks.
DELETE: Final = """
DELETE FROM aggregate_workerlease
WHERE token IN (SELECT token FROM aggregate_workerlease WHERE token = ANY(%s) FOR UPDATE SKIP LOCKED)
"""


@dataclass(slots=True)
class _Token:
    """This process's token. A forked process has another one."""

    pid: int = 0
    token: UUID | None = None

    def clear(self) -> None:
        """Gives up the token, with every claim that could not be released. The next claim has another one."""
        self.token = None


TOKEN: Final = keep(_Token())


def own_token() -> UUID:
    """Returns the token of this process."""
    if TOKEN.token is None or TOKEN.pid != os.getpid():
        TOKEN.pid, TOKEN.token = os.getpid(), uuid4()
    return TOKEN.token


def register_lease() -> UUID:
    """Notes that this process is alive, and returns its token. Call it in the transaction that claims."""
    token = own_token()
    with connection.cursor() as cursor:
        cursor.execute(REGISTER, [token, name_host(), name_process(os.getpid()) or "", FOLD_VERSION, idle_timeout()])
    return token


def release_surely(release: Callable[[], object]) -> None:
    """Calls what releases a claim, again if need be; raises no error of the database.

    A statement that was interrupted, or a server that restarted, leaves a connection that cannot be used. If there is
    no other one, this process gives up its token.
    """
    try:
        try:
            release()
        except Error:
            connection.close()
            release()
    except Error:
        TOKEN.clear()
        logger.warning("A claim could not be released; it ends with its token or its lease.")


@contextmanager
def beating() -> Iterator[None]:
    """Keeps the claims of this process while the block works, however long that takes."""
    has_ended = threading.Event()
    threading.Thread(target=_beat_until, args=(has_ended, own_token()), name="heartbeat", daemon=True).start()
    try:
        yield
    finally:
        has_ended.set()


def _beat_until(has_ended: threading.Event, token: UUID) -> None:
    while not has_ended.wait(BEAT_S):
        try:
            with connection.cursor() as cursor:
                cursor.execute("UPDATE aggregate_workerlease SET heartbeat_at = now() WHERE token = %s", [token])
        except Error:
            HEARTBEATS_FAILED.inc()
            logger.warning("The database did not take a heartbeat; the next one is due in %s s.", BEAT_S)
        finally:
            connection.close()  # back to the pool


def drop_dead_leases() -> int:
    """Deletes the leases of this machine whose process is gone; returns how many.

    So what a killed worker held is free as soon as another process of its machine looks. Those on other machines see
    its silence.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT token, process FROM aggregate_workerlease WHERE host = %s", [name_host()])
        dead = [token for token, process in cursor.fetchall() if _is_gone(token, process)]
        if not dead:
            return 0
        cursor.execute(DELETE, [dead])
        return int(cursor.rowcount)


def _is_gone(token: UUID, process: str) -> bool:
    pid, _, started = process.partition(":")
    if not started:  # this system does not say
        return False
    if int(pid) == os.getpid() and token != own_token():
        return True
    return name_process(int(pid)) != process


@cache
def name_host() -> str:
    """Returns a name for the processes that this one can see: those of its boot, its process namespace and its user."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = (PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return ""
    return f"{boot}:{namespace}:{os.getuid()}"


def name_process(pid: int) -> str | None:
    """Returns the id of a running process with the time of its start, since ids are used again; None if it is gone."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else f"{pid}:{fields[18]}"  # proc(5): field 22 is the start time
