"""Workers for one kind of work: `deploy/start fold` folds only, `deploy/start maintenance` does all the rest."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.sessions.models import Session

from config.celery import app
from ingest.notify import flag_client
from projects.creation import create_project
from tests.aggregate.posting import database_url, post, rows
from tests.deploy.files import DEPLOY
from tests.envelopes import make_envelope
from tests.runner.waiting import wait_until

LIMIT_S = 240.0
FOLDING = {"aggregate.fold_pending", "aggregate.sweep"}
FOLDED = "SELECT count(*) FROM ingest_tracereceipt WHERE state = 1"


def list_routes() -> dict[str, str]:
    app.loader.import_default_modules()
    ours = {name for name in app.tasks if not name.startswith("celery.")}
    router: Any = app.amqp.router  # Any: Celery's own types do not know it
    return {name: router.route({}, name)["queue"].name for name in ours}


def test_every_task_but_folding_is_maintenance() -> None:
    routes = list_routes()
    assert set(routes) >= FOLDING
    assert {name for name, queue in routes.items() if queue == django_settings.FOLD_QUEUE} == FOLDING
    assert set(routes.values()) == {django_settings.FOLD_QUEUE, django_settings.MAINTENANCE_QUEUE}


def test_everything_that_is_routed_and_everything_that_beat_sends_exists() -> None:
    known = set(list_routes())
    assert set(django_settings.CELERY_TASK_ROUTES) <= known
    assert {entry["task"] for entry in django_settings.CELERY_BEAT_SCHEDULE.values()} <= known


@contextmanager
def run_part(part: str, ready: Path) -> Iterator[None]:
    """Runs a worker as a service manager would, until the block ends."""
    ready.write_text("of a former run")
    with ready.with_suffix(".log").open("wb") as log:
        environment = {**os.environ, "DATABASE_URL": database_url(), "WORKER_READY_FILE": str(ready)}
        command = [str(DEPLOY / "start"), part, "--concurrency", "1"]
        worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: ready.exists() and not ready.read_text(), f"{part} is not ready")
        yield
    finally:
        worker.terminate()
        worker.wait(LIMIT_S)


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow(20)
def test_each_does_its_own_work_and_leaves_the_rest(tmp_path: Path) -> None:
    app.control.purge()  # what other tests have sent
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *(make_envelope(f"v{n}") for n in range(5)))
    app.send_task("aggregate.fold_pending")
    app.send_task("dashboard.clear_sessions")
    Session.objects.create(session_key="old", expire_date=datetime(2020, 1, 1, tzinfo=UTC))
    with run_part("fold", tmp_path / "fold"):
        wait_until(lambda: rows(FOLDED) == [(5,)], "nothing was folded")
    assert Session.objects.exists()
    assert flag_client().llen(django_settings.MAINTENANCE_QUEUE) >= 1  # and the symbolication that a fold wakes
    post("shop-key", make_envelope("late"))
    app.send_task("aggregate.fold_pending")
    with run_part("maintenance", tmp_path / "maintenance"):
        wait_until(lambda: not Session.objects.exists(), "no session was cleared")
    assert rows(FOLDED) == [(5,)]
    app.control.purge()
