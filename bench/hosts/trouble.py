"""Troubles of many hosts: parts that are restarted in turn, and hosts that are cut off for a while."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bench.hosts.reads import Reader
from bench.hosts.site import BEATS, WEBS, WORKERS, Site
from bench.soak.sending import Sent
from bench.soak.watching import open_database

SETTLE_S: Final = 2.0  # between two restarts, as a careful operator waits
WAIT_LIMIT_S: Final = 240.0
# A fold is in its transaction while it holds a group's advisory lock.
HELD_GROUPS: Final = """
SELECT min(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
"""
HELD_BY: Final = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND pid = %s"
# The name that a claimant gives its host ends with the number of its process namespace (aggregate.claimants).
HELD_TRACES: Final = """
SELECT count(*) FROM ingest_tracereceipt r JOIN aggregate_claimant c ON c.token = r.claim_token
WHERE r.state = 0 AND split_part(c.host, ':', 2) = %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A trouble that is over: what was posted and read meanwhile, and how long its steps took, by their names."""

    name: str
    sent: Sent
    reader: Reader
    seconds: dict[str, float]


def roll(site: Site) -> dict[str, float]:
    """Restarts each part, as an upgrade does; returns the longest times."""
    stopping, starting = [], []
    for name in (*WEBS, *WORKERS, *BEATS):
        stopping.append(site.stop_part(name))
        began_s = time.monotonic()
        ready = site.root / name / "ready"
        ready.unlink(missing_ok=True)
        site.start_part(name)
        if name not in BEATS:
            site.wait_until_ready(name)
        starting.append(time.monotonic() - began_s)
        time.sleep(SETTLE_S)
    return {"slowest stop": max(stopping), "slowest start": max(starting)}


def wait_for_claims(site: Site, name: str) -> None:
    """Waits until a worker's host holds claims. Raises `TimeoutError`."""
    wait_until(site, HELD_TRACES, f"a claim by {name}", site.network.hosts[name].process_namespace)


def wait_until(site: Site, query: str, what: str, *params: str, limit_s: float = WAIT_LIMIT_S) -> int:
    """Waits until a query has a number other than 0, and returns it. Raises `TimeoutError`."""
    deadline_s = time.monotonic() + limit_s
    with open_database(site) as connection:
        while True:
            row = connection.execute(query.encode(), params).fetchone()
            if row is not None and row[0]:
                return int(row[0])
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{what} was not seen")
            time.sleep(0.001)


def cut_off(site: Site, name: str, seconds: float) -> dict[str, float]:
    """Cuts a host off for a while, a worker's while it holds claims."""
    if name in WORKERS:
        wait_for_claims(site, name)
    host = site.network.hosts[name]
    host.cut_off()
    time.sleep(seconds)
    host.plug_in()
    return {"cut off": seconds, "answers again after": measure_back(site)}


def cut_off_in_transaction(site: Site, name: str, seconds: float) -> dict[str, float]:
    """Cuts a worker off while it holds the lock of a group; returns how long the others could not fold that group.

    The other workers are stopped until the worker is in its transaction, and a lock keeps it there.
    """
    others = [each for each in WORKERS if each != name]
    for other in others:
        site.stop_part(other)
    host = site.network.hosts[name]
    with lock_hotspots(site):
        session = wait_until(site, HELD_GROUPS, f"a transaction of {name}")
        host.cut_off()
        began_s = time.monotonic()
    for other in others:
        site.start_part(other)
    held_s = measure_held(site, session, began_s + seconds) - began_s
    time.sleep(max(began_s + seconds - time.monotonic(), 0))
    host.plug_in()
    return {"cut off": seconds, "answers again after": measure_back(site), "its locks were held": held_s}


def measure_back(site: Site) -> float:
    """Returns how many seconds it takes until the web servers say that all is there, and each worker takes tasks."""
    began_s = time.monotonic()
    first: dict[str, int] = {}
    at_work: set[str] = set()
    while len(at_work) < len(WORKERS) or not all(site.is_whole(name) for name in WEBS):
        for name, tasks in site.count_tasks().items():
            if tasks > first.setdefault(name, tasks):
                at_work.add(name)
        if time.monotonic() - began_s > WAIT_LIMIT_S:
            raise TimeoutError(f"only {sorted(at_work)} take tasks {WAIT_LIMIT_S} s after the host is back")
    return time.monotonic() - began_s


@contextmanager
def lock_hotspots(site: Site) -> Iterator[None]:
    """Keeps folds in their transaction until the block ends."""
    with open_database(site) as connection, connection.transaction():
        connection.execute("LOCK TABLE aggregate_hotspot IN EXCLUSIVE MODE")
        yield


def measure_held(site: Site, session: int, until_s: float) -> float:
    """Returns when a session held no lock of a group any more, or `until_s` if it still does then."""
    with open_database(site) as connection:
        while time.monotonic() < until_s:
            row = connection.execute(HELD_BY, [session]).fetchone()
            if row is not None and not row[0]:
                break
            time.sleep(0.1)
    return min(time.monotonic(), until_s)
