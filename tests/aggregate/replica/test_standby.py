"""A real standby: what is seen of it while it follows, waits, and is promoted or gone."""

import os
import re
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, connections
from pytest_django import Settings

from aggregate.doctor.findings import State
from aggregate.doctor.server import replica_checks
from aggregate.doctor.server.replica_checks import check_replica
from aggregate.replica import lag
from aggregate.replica.lag import ReplicaWatch
from aggregate.replica.source import REPLICA
from config.env import read_database
from tests.aggregate.replica.standby import LIMIT_S, Pair, run_pair, wait_for_rows

pytestmark = [pytest.mark.stack, pytest.mark.slow(20)]


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """Two servers of their own, as Django's two connections for what looks at them."""
    with run_pair() as pair:
        databases = connections.settings
        for alias, url in ((DEFAULT_DB_ALIAS, pair.database_url), (REPLICA, pair.standby_url)):
            monkeypatch.setitem(databases, alias, {**databases[DEFAULT_DB_ALIAS], **read_database("TESTED", url)})
        yield pair


@pytest.fixture
def watch(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReplicaWatch]:
    """A watch that ends soon after the test."""
    settings.REPLICA_MAX_LAG_S = 3_600
    monkeypatch.setattr(lag, "LOOK_S", 0.02)
    watch = ReplicaWatch()
    yield watch
    monkeypatch.setattr(lag, "IDLE_S", 0.0)
    thread = watch._thread
    if thread is not None:
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def find_receiver(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT pid FROM pg_stat_wal_receiver").fetchone()
    assert row is not None
    return int(row[0])


def wait_for_lag(watch: ReplicaWatch, *, at_least_s: float = 0.0, is_known: bool = True) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    seen = None
    while time.monotonic() < deadline_s:
        seen = watch.find_lag_s()
        if (seen is not None) == is_known and (seen is None or seen >= at_least_s):
            return
        time.sleep(0.02)
    raise AssertionError(f"the lag is {seen}")


def states(now: datetime) -> list[State]:
    return [finding.state for finding in check_replica(now)]


def sentence(now: datetime) -> str:
    (finding,) = check_replica(now)
    return finding.sentence


def test_a_standby_is_read_until_it_is_gone_or_follows_nobody(
    pair: Pair, watch: ReplicaWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    run(pair.database_url, "CREATE TABLE written_first AS SELECT 1")
    wait_for_rows(pair.standby_url, "SELECT count(*) FROM pg_tables WHERE tablename = 'written_first'", 1)
    wait_for_lag(watch)
    assert states(now) == [State.OK]
    run(pair.standby_url, "SELECT pg_wal_replay_pause()")
    run(pair.database_url, "CREATE TABLE written_meanwhile AS SELECT 1")
    wait_for_lag(watch, at_least_s=0.5)  # it only grows now
    monkeypatch.setattr(replica_checks, "WAIT_S", 0.1)
    assert states(now) == [State.WARNING]
    assert "not connected" not in sentence(now)
    os.kill(find_receiver(pair.standby_url), signal.SIGTERM)  # while replay is paused, there is no new one
    wait_for_rows(pair.standby_url, "SELECT count(*) FROM pg_stat_wal_receiver", 0)
    assert re.search(r"it lacks [\d,]+ bytes of the log, and is not connected to the database", sentence(now))
    run(pair.standby_url, "SELECT pg_wal_replay_resume()", "SELECT pg_promote()")
    wait_for_lag(watch, is_known=False)
    assert states(now) == [State.PROBLEM]
    pair.standby.stop(lambda: False)
    deadline_s = time.monotonic() + LIMIT_S
    while not watch.is_away and time.monotonic() < deadline_s:
        time.sleep(0.02)
        watch.find_lag_s()
    assert watch.is_away
    assert states(now) == [State.WARNING]
