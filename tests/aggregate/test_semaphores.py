"""Work that takes long leaves a process to fold, and everything that waits has its turn."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from celery import current_app
from django.conf import settings as django_settings
from django.db import connection
from pytest_django import Settings

from aggregate import tasks
from aggregate.jobs import runs
from aggregate.jobs.requests import JOB_FLAG, JOB_TASK
from aggregate.models import Job
from aggregate.semaphores import count_semaphores, try_semaphore
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from ingest import notify
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.jobs.running_jobs import again, say_words, start
from tests.aggregate.posting import WAITING, database_url, post, rows
from tests.envelopes import make_envelope
from tests.ingest.broker import renew_broker_client
from tests.runner.waiting import wait_until

LIMIT_S = 240.0
GATE = 0x6A6F_6267  # of tests.fault_injection.slow_jobs
TRACES = 20
FOLDED = "SELECT count(*) FROM ingest_tracereceipt WHERE state = 1"

# Newer versions of Python warn of a fork beside threads; the forked process only takes a slot and waits.
pytestmark = [pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"), pytest.mark.slow(8)]


@pytest.fixture
def shop(transactional_db: None) -> Project:
    return create_project(slug="shop", key="shop-key", origins=["*"])[0]


def are_done_after_sweep(jobs: Sequence[Job]) -> bool:
    """Sends a job's task as the sweep does: one that comes before the last job has given its slot back does nothing."""
    current_app.send_task(JOB_TASK)
    time.sleep(1.0)
    return all(again(job).state == Job.State.DONE for job in jobs)


@contextmanager
def forked_with_slot() -> Iterator[bool]:
    """Forks a process of this worker that takes a slot until the block ends; yields whether it got one."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        with try_semaphore() as has_slot:
            os.write(write_end, b"y" if has_slot else b"n")
            signal.pause()
        os._exit(0)
    try:
        yield os.read(read_end, 1) == b"y"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.mark.parametrize(("processes", "slots"), [(1, 1), (2, 1), (3, 2)])
def test_one_process_is_left_to_fold(settings: Settings, processes: int, slots: int) -> None:
    settings.CELERY_WORKER_CONCURRENCY = processes
    assert count_semaphores() == slots


def test_a_slot_is_free_again_when_its_process_ends_or_is_killed(settings: Settings) -> None:
    settings.CELERY_WORKER_CONCURRENCY = 3
    for _ in range(3):
        with forked_with_slot() as first:
            with forked_with_slot() as second, try_semaphore() as third:
                assert (first, second, third) == (True, True, False)
            with try_semaphore() as third:
                assert third


def test_without_a_slot_a_job_stays_queued_and_maps_wait(
    shop: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CELERY_WORKER_CONCURRENCY = 2
    labelled: list[None] = []
    monkeypatch.setattr(tasks, "label_in_turn", lambda: labelled.append(None))
    job = start(shop)
    with forked_with_slot():
        runs.run_job_in_turn(say_words)
        tasks.symbolicate()
    assert again(job).state == Job.State.QUEUED
    assert labelled == []
    runs.run_job_in_turn(say_words)
    tasks.symbolicate()
    assert again(job).state == Job.State.DONE
    assert labelled == [None]


def test_after_a_job_maps_have_their_turn_before_the_next_job(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [start(shop, ("tag", tag)) for tag in ("a:1", "a:2")]
    woken: list[tuple[str, ...]] = []
    monkeypatch.setattr(runs, "notify_worker", lambda *task: woken.append(task))
    runs.run_job_in_turn(say_words)
    assert [again(job).state for job in jobs] == [Job.State.DONE, Job.State.QUEUED]
    assert woken == [(SYMBOLICATE_TASK, SYMBOLICATE_FLAG), (JOB_TASK, JOB_FLAG)]


def test_however_many_sweeps_come_one_turn_of_folding_waits(
    shop: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FOLD_BATCH_TRACES = 1
    settings.FOLD_TURN_S = 0
    renew_broker_client(monkeypatch, int(LIMIT_S))
    notify.clear_flag()
    sent: list[str] = []
    names = (notify.FOLD_TASK,)
    monkeypatch.setattr(
        "ingest.notify.current_app.send_task", lambda name, **_: sent.extend({name}.intersection(names))
    )
    post("shop-key", *(make_envelope(f"v{n}") for n in range(20)))
    assert notify.settle_notifications(LIMIT_S)
    assert sent == ["aggregate.fold_pending"]
    for turn in range(1, 6):
        tasks.sweep()
        tasks.sweep()
        sent.pop(0)
        tasks.fold_pending()
        assert sent == ["aggregate.fold_pending"]
        assert rows(FOLDED) == [(3 * turn,)]  # a batch each
    notify.clear_flag()


@contextmanager
def run_worker(log: Path, app: str, **environment: str) -> Iterator[None]:
    """Runs a real worker of two processes until the block ends."""
    current_app.control.purge()  # what other tests have sent
    command = [sys.executable, "-m", "celery", "--skip-checks", "--app", app, "worker", "--loglevel", "INFO"]
    with log.open("wb") as output:
        worker = subprocess.Popen(
            command,
            cwd=django_settings.BASE_DIR,
            env={**os.environ, "DATABASE_URL": database_url(), "FIELDFLAME_WORKER_PROCESSES": "2", **environment},
            stdout=output,
            stderr=output,
        )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(LIMIT_S)


@pytest.mark.kills
@pytest.mark.slow(30)
def test_jobs_that_take_long_leave_a_process_that_folds(shop: Project, tmp_path: Path) -> None:
    jobs = [start(shop, ("tag", tag)) for tag in ("a:1", "a:2")]
    database = connection.settings_dict
    session = psycopg.connect(
        host=database["HOST"], port=database["PORT"], user=database["USER"], dbname=database["NAME"]
    )
    with (
        session as gate,
        run_worker(tmp_path / "log", "tests.fault_injection.slow_jobs", FIELDFLAME_JOBS_AT_ONCE="2"),
    ):
        gate.execute("SELECT pg_advisory_xact_lock(%s)", [GATE])
        for _ in range(2):
            current_app.send_task(JOB_TASK)
        wait_until(lambda: rows(WAITING) == [(1,)], "no job is running")
        post("shop-key", *(make_envelope(f"v{n}") for n in range(TRACES)))
        current_app.send_task("aggregate.fold_pending")
        wait_until(lambda: rows(FOLDED) == [(TRACES,)], "nobody folds")
        assert sorted(again(job).state for job in jobs) == [Job.State.QUEUED, Job.State.RUNNING]
        gate.rollback()
        wait_until(lambda: any(again(job).state == Job.State.DONE for job in jobs), "the first job did not end")
        wait_until(lambda: are_done_after_sweep(jobs), "the second job did not run")


@pytest.mark.kills
@pytest.mark.slow(30)
def test_in_a_backlog_a_job_waits_for_two_turns_at_most(shop: Project, tmp_path: Path) -> None:
    for page in range(4):
        post("shop-key", *(make_envelope(f"v{page}-{n}", "A\nA B") for n in range(100)))
    job = start(shop)
    log = tmp_path / "log"
    # At this level Celery has lines of its own for each task.
    one_by_one = {"FIELDFLAME_FOLD_BATCH_TRACES": "1", "FIELDFLAME_FOLD_TURN_S": "0", "FIELDFLAME_LOG_LEVEL": "debug"}
    with run_worker(log, "config", **one_by_one):
        current_app.send_task("aggregate.fold_pending")
        wait_until(lambda: rows(FOLDED) != [(0,)], "nobody folds")
        current_app.send_task("aggregate.sweep")
        current_app.send_task(JOB_TASK)
        wait_until(lambda: again(job).is_finished, "the job did not run")
        wait_until(lambda: f"Task {JOB_TASK}" in log.read_text() and "succeeded" in log.read_text(), "no log")
    lines = log.read_text().splitlines()
    received = next(n for n, line in enumerate(lines) if f"Task {JOB_TASK}" in line and "received" in line)
    done = next(n for n, line in enumerate(lines) if f"Task {JOB_TASK}" in line and "succeeded" in line)
    turns = [line for line in lines[received:done] if "Task aggregate." in line and "succeeded" in line]
    assert len(turns) <= 4  # those in work in both processes, the next one that was queued, and the sweep
