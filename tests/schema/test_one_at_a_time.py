"""Two `migrate` at once, as on two hosts of a rolling deploy: the second waits, and does what the first has left."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ingest.storage.partitions import DAYS_AHEAD
from ops.database.migration_lock import NAME
from ops.supervisor.services import BASE_DIR
from profcore.times import DAY
from tests.runner.servers import run_stores
from tests.runner.waiting import wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.stack, pytest.mark.slow(40)]

LIMIT_S = 240.0
# Readers of this table hold up a migration that changes it. So the first `migrate` stops in the middle of its work.
HELD = "LOCK TABLE auth_user IN ACCESS SHARE MODE"
BEFORE = ("auth", "0011_update_proxy_permissions")


class Migrating:
    """A `migrate` in a process of its own, and what it has said."""

    def __init__(self, environment: dict[str, str], path: Path, *arguments: str) -> None:
        self.path = path
        with path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "migrate", *arguments],
                cwd=BASE_DIR,
                env=environment,
                stdout=log,
                stderr=log,
            )

    def said(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def wait_until_said(self, sentence: str) -> None:
        wait_until(
            lambda: sentence in self.said(),
            lambda: f"never said {sentence!r}: {self.said()}",
            is_alive=lambda: self.process.poll() is None,
        )

    def finish(self) -> str:
        assert self.process.wait(LIMIT_S) == 0, self.said()
        return self.said()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT_S)


@pytest.fixture
def environment(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The environment of servers of one's own, with settings added by the test's parameter."""
    with run_stores() as stores:
        added = {"FIELDFLAME_MIGRATE_LOCK_MS": "100", "PYTHONUNBUFFERED": "1"}
        yield {**os.environ, **stores.environment, **added, **request.param}


@pytest.mark.parametrize(
    ("environment", "dies"),
    [({}, False), ({"FIELDFLAME_TRANSACTION_POOLING": "1"}, True)],
    ids=["sessions", "pooled transactions, and the first is killed"],
    indirect=["environment"],
)
def test_the_second_waits_and_does_what_the_first_has_left(
    environment: dict[str, str], tmp_path: Path, *, dies: bool
) -> None:
    with ExitStack() as stack:
        Migrating(environment, tmp_path / "half.log", *BEFORE).finish()
        holder: psycopg.Connection[Any] = stack.enter_context(psycopg.connect(environment["DATABASE_URL"]))
        holder.execute(HELD)
        first = Migrating(environment, tmp_path / "first.log")
        stack.callback(first.stop)
        first.wait_until_said("A lock is taken; trying again")
        assert NAME not in first.said()  # its own lock is not in its way
        second = Migrating(environment, tmp_path / "second.log")
        stack.callback(second.stop)
        second.wait_until_said("Another migrate is under way (process ")
        assert "Planned operations" in Migrating(environment, tmp_path / "plan.log", "--plan").finish()  # only looks
        assert first.process.poll() is None
        if dies:
            first.stop()
        holder.rollback()
        if dies:
            assert "Applying auth.0012" in second.finish()
        else:
            assert "Applying auth.0012" in first.finish()
            assert "No migrations to apply" in second.finish()
        today = datetime.now(UTC).date()
        made = {name for (name,) in holder.execute("SELECT inhrelid::regclass::text FROM pg_inherits").fetchall()}
        assert {f"ingest_rawtrace_{today + days * DAY:%Y%m%d}" for days in range(-1, DAYS_AHEAD + 1)} <= made
