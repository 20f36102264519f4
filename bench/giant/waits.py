"""Which locks the sessions of PostgreSQL wait for during a load, by statement. It looks 100 times a second."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg

LOOK_S: Final = 0.01
# Locks of rows, transactions and advisory ones. Other waits are for the disk, the client or short locks in memory.
LOOK: Final = """
SELECT wait_event, query FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND state = 'active' AND datname = current_database() AND pid <> pg_backend_pid()
"""
# What a statement does, by the first of these words that it has; the door's one statement names many tables.
NAMES: Final = (
    ("WITH arrived AS", "door: stores posts"),
    ("pg_advisory_xact_lock", "fold: locks its groups"),
    ("FOR NO KEY UPDATE", "fold: locks cells"),
    ("AS held", "fold: locks its receipts"),
    ("WITH marked AS", "fold: marks receipts, counts them"),
    ("UPDATE aggregate_cell", "fold: adds to cells, their days"),
    ("INTO aggregate_view", "fold: writes views"),
    ("aggregate_hotspotpiece", "fold: hotspots"),
    ("aggregate_calltreepiece", "fold: call trees"),
    ("aggregate_claimant", "claims"),
    ("SKIP LOCKED", "claims"),
    ("claimed_until", "claims"),
    ("ingest_rawtrace", "fold: reads bodies"),
    ("ingest_counter", "ids from a counter"),
    ("aggregate_view", "fold: reads views"),
    ("COMMIT", "commits"),
)


@dataclass(slots=True)
class Waits:
    """Seconds of waits for locks, summed over all sessions: by statement, and by what was waited for."""

    locks: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))

    def lock_s(self) -> float:
        """Returns the seconds of all statements."""
        return sum(list(self.locks.values()))  # another thread adds to them


@contextmanager
def watched_waits(address: str) -> Iterator[Waits]:
    """Looks at the sessions of a database while the block runs. Each look counts for the time since the last one."""
    waits = Waits()
    has_ended = threading.Event()
    with psycopg.connect(address, autocommit=True, application_name="bench") as connection:
        thread = threading.Thread(target=_look_until, args=(connection, has_ended, waits), name="waits", daemon=True)
        thread.start()
        try:
            yield waits
        finally:
            has_ended.set()
            thread.join()


def _look_until(connection: psycopg.Connection, has_ended: threading.Event, waits: Waits) -> None:
    last_s = time.monotonic()
    while not has_ended.wait(LOOK_S):
        rows = connection.execute(LOOK).fetchall()
        now_s = time.monotonic()
        for event, query in rows:
            waits.locks[name_statement(query), event] += now_s - last_s
        last_s = now_s


def name_statement(query: str) -> str:
    """Returns what a statement does, else its first words."""
    return next((name for word, name in NAMES if word in query), " ".join(query.split())[:40])
