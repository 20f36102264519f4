"""Checks of the replica that pages and the read API read, if one is set."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS

from aggregate.doctor.findings import Finding, ok, problem, warning
from aggregate.replica.lag import END, REPLAYED, LagLook
from aggregate.replica.source import REPLICA, has_replica

WAIT_S: Final = 2.0  # people wait for the doctor
PAUSE_S: Final = 0.02
RECEIVING: Final = "SELECT count(*) FROM pg_stat_wal_receiver"  # anybody may see that there is one


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replica is: after how many seconds it had the database's log, or how many bytes it lacked then."""

    is_standby: bool
    waited_s: float = 0.0
    missing_bytes: int = 0
    is_receiving: bool = True


def check_replica(_: datetime) -> Iterator[Finding]:
    """Yields whether the replica is read, and how far it is behind."""
    if not has_replica():
        return
    looks = LagLook(DEFAULT_DB_ALIAS, END), LagLook(REPLICA, REPLAYED), LagLook(REPLICA, RECEIVING)
    try:
        yield judge_replica(measure(*looks))
    except psycopg.Error as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        yield warning(
            "replica", f"The replica does not answer, so the database is read: {lines[0].strip().rstrip('.')}."
        )
    finally:
        for look in looks:
            look.close()


def measure(database: LagLook, replica: LagLook, receiver: LagLook) -> Progress:
    """Returns how far the replica is. Waits for it, WAIT_S at most. Raises `psycopg.Error`."""
    began_s = time.monotonic()
    end = database.read() or 0
    while (replayed := replica.read()) is not None:
        waited_s = time.monotonic() - began_s
        if replayed >= end:
            return Progress(is_standby=True, waited_s=waited_s)
        if waited_s > WAIT_S:
            return Progress(True, waited_s, end - replayed, is_receiving=bool(receiver.read()))
        time.sleep(PAUSE_S)
    return Progress(is_standby=False)


def judge_replica(progress: Progress) -> Finding:
    """Returns whether the replica is a standby that keeps up, in words."""
    if not progress.is_standby:
        return problem(
            "replica",
            "FIELDFLAME_REPLICA_URL names a server that is no standby, so it is not read. After a failover, let it "
            "name the new standby.",
        )
    if progress.missing_bytes:
        missing = write_bytes(progress.missing_bytes)
        why = "" if progress.is_receiving else ", and is not connected to the database to receive it: its log says why"
        return warning(
            "replica",
            f"The replica is more than {WAIT_S:.0f} s behind: it lacks {missing} of the log{why}. "
            f"Beyond {settings.REPLICA_MAX_LAG_S} s (FIELDFLAME_REPLICA_MAX_LAG_S) the database is read.",
        )
    return ok("replica", f"The replica had all of the database's log after {progress.waited_s:.2f} s.")


def write_bytes(count: int) -> str:
    """Returns a size: less than a tenth of a megabyte in bytes, so that it never reads as nothing."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count:,} bytes"
