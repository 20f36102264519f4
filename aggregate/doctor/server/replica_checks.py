"""Checks of the replica that pages and the read API read, if one is set."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS

from aggregate.doctor.findings import Finding, ok, problem, warning
from ingest.replica.lag import END, REPLAYED, Look
from ingest.replica.source import REPLICA, has_replica

WAIT_S: Final = 2.0  # people wait for the doctor
PAUSE_S: Final = 0.02


def check_replica(_: datetime) -> Iterator[Finding]:
    """Yields whether the replica is read, and how far it is behind."""
    if not has_replica():
        return
    database, replica = Look(DEFAULT_DB_ALIAS, END), Look(REPLICA, REPLAYED)
    try:
        yield judge_replica(*measure(database, replica))
    except psycopg.Error as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        yield warning(
            "replica", f"The replica does not answer, so the database is read: {lines[0].strip().rstrip('.')}."
        )
    finally:
        database.close()
        replica.close()


def measure(database: Look, replica: Look) -> tuple[bool, float, int]:
    """Returns whether it is a standby, and how many seconds and bytes it is behind. Waits for it, WAIT_S at most."""
    asked_s = time.monotonic()
    end = database.read() or 0
    while (replayed := replica.read()) is not None:
        waited_s = time.monotonic() - asked_s
        if replayed >= end or waited_s > WAIT_S:
            return True, waited_s, max(end - replayed, 0)
        time.sleep(PAUSE_S)
    return False, 0.0, 0


def judge_replica(is_standby: bool, waited_s: float, missing_bytes: int) -> Finding:
    if not is_standby:
        return problem(
            "replica",
            "FIELDFLAME_REPLICA_URL names a server that is no standby, so it is not read. After a failover, let it "
            "name the new standby.",
        )
    if missing_bytes:
        return warning(
            "replica",
            f"The replica is more than {WAIT_S:.0f} s behind: it lacks {missing_bytes / 1e6:,.1f} MB of the log. "
            f"Beyond {settings.REPLICA_MAX_LAG_S} s (FIELDFLAME_REPLICA_MAX_LAG_S) the database is read.",
        )
    return ok("replica", f"The replica had all of the database's log after {waited_s:.2f} s.")
