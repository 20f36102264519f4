"""Hosts whose clocks differ compare times by the database's clock, and drop nothing because of their own."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings

from aggregate import tasks
from projects.clock import database_now
from projects.lifecycle import mark_for_deletion
from tests.builders import make_project

AHEAD = timedelta(hours=3)


@pytest.fixture
def ahead(db: None) -> datetime:
    """The database's time; this host's clock is hours ahead of it in the test."""
    return database_now()


def test_a_deletion_begins_by_the_databases_clock(ahead: datetime) -> None:
    project = make_project("shop")
    with time_machine.travel(datetime.now(UTC) + AHEAD):
        mark_for_deletion(project)
    project.refresh_from_db()
    began_at = project.deletion_started_at
    assert began_at is not None
    assert ahead <= began_at < ahead + AHEAD


def test_maintenance_is_given_the_databases_time(ahead: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[datetime] = []
    monkeypatch.setattr(tasks, "expire_all", times.append)
    with time_machine.travel(datetime.now(UTC) + AHEAD):
        tasks.expire()
    assert ahead <= times[0] < ahead + AHEAD


@pytest.mark.parametrize("name", settings.CELERY_BEAT_SCHEDULE)
def test_a_worker_that_is_minutes_ahead_of_beat_takes_its_tasks(name: str) -> None:
    entry: dict[str, Any] = settings.CELERY_BEAT_SCHEDULE[name]  # Any: as Celery takes it
    assert entry["options"]["expires"] >= entry["schedule"] + timedelta(minutes=15).total_seconds()
