"""A worker that is told to stop ends after its batch, and what it gives up counts no attempt."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection
from pytest_django import Settings

from aggregate import tasks
from aggregate.fold import batch
from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from aggregate.jobs.runs import JobResult, JobRun, run_next_job
from aggregate.models import Job
from aggregate.stopping import tell_to_stop
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.jobs.running_jobs import again, start
from tests.aggregate.posting import WAITING, database_url, post, rows
from tests.envelopes import make_envelope
from tests.runner.waiting import wait_until

LIMIT_S = 240.0
TRACES = 40
FOLDED = "SELECT count(*) FROM ingest_tracereceipt WHERE state = 1"
LEFT = "SELECT DISTINCT attempts, claim_token FROM ingest_tracereceipt WHERE state = 0"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(7)]


@pytest.fixture
def shop() -> Project:
    return create_project(slug="shop", key="shop-key", origins=["*"])[0]


@pytest.fixture
def stop() -> Iterator[Callable[[], None]]:
    """What tells this process to stop, until the test ends."""
    yield tell_to_stop
    tell_to_stop(is_wanted=False)


def test_a_turn_ends_after_its_batch(
    shop: Project, stop: Callable[[], None], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FOLD_BATCH_TRACES = 1
    settings.FOLD_TURN_S = 3_600
    post("shop-key", *(make_envelope(f"v{n}") for n in range(4)))
    monkeypatch.setattr(tasks, "notify_worker", stop)  # as if the signal came during the first batch
    tasks.fold_pending()
    assert rows(FOLDED) == [(1,)]
    tasks.fold_pending()
    assert rows(FOLDED) == [(1,)]
    assert rows(LEFT) == [(0, None)]


def test_a_trace_that_is_folded_alone_is_given_up_and_not_blamed(
    shop: Project, stop: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    post("shop-key", make_envelope("a", release="hang"))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET attempts = 2")
    processes: list[subprocess.Popen[bytes]] = []
    run = subprocess.Popen

    def note(*args: Any, **kwargs: Any) -> "subprocess.Popen[bytes]":  # Any: passes on what it got
        processes.append(run(*args, **kwargs))
        threading.Timer(1, stop).start()
        return processes[-1]

    monkeypatch.setattr(batch, "ISOLATED_MODULE", "tests.fault_injection.isolated")
    monkeypatch.setattr(subprocess, "Popen", note)
    assert fold_pending_batch() is BatchOutcome.GIVEN_BACK
    query = "SELECT attempts, crashes, claim_token, claimed_until <= now() FROM ingest_tracereceipt"
    assert rows(query) == [(2, 0, None, True)]
    assert [process.returncode for process in processes] == [-signal.SIGKILL]


def test_a_job_is_queued_again_and_its_attempt_does_not_count(shop: Project, stop: Callable[[], None]) -> None:
    job = start(shop)

    def answer(run: JobRun) -> JobResult:
        run.expect(2)
        run.advance(1)
        stop()
        run.advance(1)
        raise AssertionError("it went on")

    assert run_next_job(answer)
    job = again(job)
    assert (job.state, job.attempts, job.claim_token) == (Job.State.QUEUED, 0, None)


@pytest.mark.kills
@pytest.mark.slow(15)
def test_a_worker_with_a_backlog_ends_within_a_batch(shop: Project, tmp_path: Path) -> None:
    post("shop-key", *(make_envelope(f"v{n}", "A\nA B") for n in range(TRACES)))
    database = connection.settings_dict
    session = psycopg.connect(
        host=database["HOST"], port=database["PORT"], user=database["USER"], dbname=database["NAME"]
    )
    with session as gate:
        ((group_id,),) = rows("SELECT id FROM ingest_group")
        gate.execute("SELECT pg_advisory_xact_lock(%s::int, %s)", [shop.pk, group_id])
        with (tmp_path / "log").open("wb") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "celery", "--skip-checks", "--app", "config", "worker", "--concurrency", "1"],
                cwd=django_settings.BASE_DIR,
                env={
                    **os.environ,
                    "DATABASE_URL": database_url(),
                    "FIELDFLAME_FOLD_BATCH_TRACES": "1",
                    "FIELDFLAME_FOLD_TURN_S": "3600",
                },
                stdout=log,
                stderr=log,
            )
        try:
            tasks.fold_pending.delay()
            wait_until(lambda: rows(WAITING) == [(1,)], "no batch was in its transaction")
            worker.send_signal(signal.SIGTERM)
            wait_until(lambda: "Warm shutdown" in (tmp_path / "log").read_text(), "the worker did not notice")
            gate.rollback()
            assert worker.wait(LIMIT_S) == 0
        finally:
            worker.kill()
            worker.wait()
    ((folded,),) = rows(FOLDED)
    assert 1 <= folded <= 2  # the batch in work; and one more if it ended while the signal was being passed on
    assert rows(LEFT) == [(0, None)]
