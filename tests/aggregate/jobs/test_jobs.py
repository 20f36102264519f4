"""Jobs: queued, run page by page, cancelled, failed, expired; and bounded."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError
from pytest_django import Settings

from aggregate.jobs import requests
from aggregate.jobs.requests import (
    TooManyJobs,
    cancel_job,
    expire_jobs,
    has_result,
    iter_result,
    select_jobs,
)
from aggregate.jobs.runs import JobResult, JobRun, cut_pieces, run_next_job
from aggregate.maintenance.retention import expire_all
from aggregate.models import Job, JobPiece
from aggregate.selectors.slice.slices import SliceError
from projects.models import Project
from tests.aggregate.jobs.running_jobs import again, say_words, start
from tests.builders import make_project
from tests.ingest.broker import renew_broker_client

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Publishes nothing; tells what would have been."""
    tasks: list[str] = []
    monkeypatch.setattr(requests, "notify_worker", lambda task, _flag: tasks.append(task))
    monkeypatch.setattr("aggregate.jobs.runs.clear_flag", lambda _flag: None)
    return tasks


@pytest.fixture
def shop() -> Project:
    return make_project()


def test_a_job_waits_runs_and_is_done_with_its_result(shop: Project) -> None:
    job = start(shop, ("tag", "cache:warm"))
    assert (job.state, again(job).params) == (Job.State.QUEUED, [["tag", "cache:warm"]])
    seen: list[tuple[int, int, int | None]] = []

    def look(run: JobRun) -> JobResult:
        seen.append((again(job).state, again(job).done_traces, again(job).total_traces))
        run.expect(3)
        run.advance(2)
        seen.append((again(job).state, again(job).done_traces, again(job).total_traces))
        return say_words(run)

    assert run_next_job(look)
    assert seen == [(Job.State.RUNNING, 0, None), (Job.State.RUNNING, 2, 3)]
    done = again(job)
    assert (done.state, done.done_traces, done.total_traces, done.attempts) == (Job.State.DONE, 3, 3, 1)
    assert (done.content_type, done.file_name, done.error_detail) == ("text/plain", "words.txt", None)
    assert gzip.decompress(b"".join(iter_result(done))) == b"one two three"
    assert None not in (done.started_at, done.finished_at, done.expires_at)
    assert not run_next_job(say_words)


def test_a_result_lies_in_pieces_of_bounded_size(shop: Project, settings: Settings) -> None:
    settings.JOB_PIECE_BYTES = 10
    job = start(shop)
    run_next_job(say_words)
    sizes = [len(body) for body in JobPiece.objects.order_by("number").values_list("body", flat=True)]
    assert len(sizes) > 2
    assert set(sizes[:-1]) == {10}
    assert again(job).result_bytes == sum(sizes)
    assert gzip.decompress(b"".join(iter_result(again(job)))) == b"one two three"


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_pieces_are_cut_without_losing_a_byte(size: int) -> None:
    pieces = list(cut_pieces([b"", b"abcdefg", b"h", b"", b"ij"], size))
    assert b"".join(pieces) == b"abcdefghij"
    assert all(len(piece) == size for piece in pieces[:-1])


def test_an_equal_job_that_is_not_finished_is_given_again(shop: Project) -> None:
    first = start(shop, ("tag", "a:b"))
    assert start(shop, ("tag", "a:b")).id == first.id
    assert start(shop, ("tag", "a:c")).id != first.id
    assert start(shop, ("tag", "a:b"), kind="calltree").id != first.id
    assert start(make_project("other"), ("tag", "a:b")).id != first.id
    run_next_job(say_words)
    assert start(shop, ("tag", "a:b")).id != first.id


@pytest.mark.django_db(transaction=True)
def test_a_worker_is_notified_when_the_job_is_committed_and_an_absent_broker_loses_nothing(
    shop: Project, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    from ingest import notify

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    renew_broker_client(monkeypatch)
    monkeypatch.setattr(requests, "notify_worker", notify.notify_worker)
    job = start(shop)
    assert again(job).state == Job.State.QUEUED
    assert run_next_job(say_words)
    assert again(job).state == Job.State.DONE


@pytest.mark.django_db(transaction=True)
def test_one_wake_up_names_the_task(shop: Project, woken: list[str]) -> None:
    start(shop)
    assert woken == ["dashboard.run_jobs"]


def test_what_is_wrong_with_the_slice_fails_the_job_with_field_and_sentence(shop: Project) -> None:
    job = start(shop)

    def refuse(_: JobRun) -> JobResult:
        raise SliceError("from", "The raw bodies have expired.")

    assert run_next_job(refuse)
    failed = again(job)
    assert (failed.state, failed.error_field, failed.error_detail) == (
        Job.State.FAILED,
        "from",
        "The raw bodies have expired.",
    )
    assert failed.expires_at is not None


def test_a_fault_of_ours_fails_the_job_and_leaves_no_piece(
    shop: Project, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.JOB_PIECE_BYTES = 5
    job = start(shop)

    def pieces() -> Iterator[bytes]:
        yield bytes(range(256)) * 1000
        assert JobPiece.objects.exists()
        raise ZeroDivisionError

    assert run_next_job(lambda _: JobResult("text/plain", "x", pieces()))
    assert again(job).state == Job.State.FAILED
    assert again(job).error_field is None
    assert "ZeroDivisionError" in str(again(job).error_detail)
    assert not JobPiece.objects.exists()
    assert "ZeroDivisionError" in caplog.text


def test_a_result_that_is_too_large_fails_the_job(shop: Project, settings: Settings) -> None:
    settings.JOB_PIECE_BYTES = 8
    settings.JOB_MAX_RESULT_BYTES = 20
    job = start(shop)
    run_next_job(say_words)
    assert (again(job).state, again(job).error_field, again(job).result_bytes) == (Job.State.FAILED, "from", 0)
    assert "more than 20 bytes" in str(again(job).error_detail)
    assert not JobPiece.objects.exists()


def test_a_fault_of_the_database_gives_the_job_back(shop: Project) -> None:
    job = start(shop)

    def fail(_: JobRun) -> JobResult:
        raise OperationalError("gone")

    with pytest.raises(OperationalError):
        run_next_job(fail)
    assert (again(job).state, again(job).attempts) == (Job.State.QUEUED, 1)
    assert run_next_job(say_words)
    assert (again(job).state, again(job).attempts) == (Job.State.DONE, 2)


def test_a_cancelled_job_stops_at_its_next_batch(shop: Project) -> None:
    job = start(shop)
    steps: list[int] = []

    def work(run: JobRun) -> JobResult:
        for step in range(5):
            steps.append(step)
            if step == 2:
                cancel_job(job.project_id, job.id)
            run.advance(1)
        return say_words(run)

    assert run_next_job(work)
    assert steps == [0, 1, 2]
    assert again(job).state == Job.State.CANCELLED
    assert not has_result(again(job), datetime.now(UTC))


def test_a_job_cancelled_while_its_result_is_stored_leaves_no_piece(shop: Project, settings: Settings) -> None:
    settings.JOB_PIECE_BYTES = 8
    job = start(shop)

    def pieces() -> Iterator[bytes]:
        yield bytes(range(256)) * 1000
        assert JobPiece.objects.exists()
        cancel_job(job.project_id, job.id)
        yield bytes(range(255, -1, -1)) * 1000

    assert run_next_job(lambda _: JobResult("text/plain", "x", pieces()))
    assert again(job).state == Job.State.CANCELLED
    assert not JobPiece.objects.exists()


def test_a_waiting_job_that_is_cancelled_never_runs_and_a_done_one_loses_its_result(shop: Project) -> None:
    waiting = start(shop)
    cancel_job(shop.pk, waiting.id)
    assert not run_next_job(say_words)
    done = start(shop)
    run_next_job(say_words)
    cancel_job(shop.pk, done.id)
    assert (again(done).state, again(done).result_bytes, JobPiece.objects.count()) == (Job.State.CANCELLED, 0, 0)


def test_the_unfinished_jobs_and_the_results_of_a_project_are_limited(shop: Project, settings: Settings) -> None:
    settings.JOBS_MAX_UNFINISHED = 2
    start(shop, ("tag", "a:1"))
    start(shop, ("tag", "a:2"))
    with pytest.raises(TooManyJobs, match="2 jobs"):
        start(shop, ("tag", "a:3"))
    start(make_project("other"))
    while run_next_job(say_words):
        pass
    settings.JOBS_MAX_KEPT_BYTES = 10
    with pytest.raises(TooManyJobs, match="results take"):
        start(shop)
    for job in select_jobs(shop.pk):
        cancel_job(shop.pk, job.id)
    start(shop)


def test_results_expire_and_some_days_later_jobs_are_forgotten(shop: Project, settings: Settings) -> None:
    settings.JOB_KEEP_HOURS = 2
    done, waiting = start(shop, ("tag", "a:1")), start(shop, ("tag", "a:2"))
    run_next_job(say_words)
    now = datetime.now(UTC)
    assert expire_jobs(now + timedelta(hours=1)) == 0
    assert has_result(again(done), now + timedelta(hours=1))
    assert not has_result(again(done), now + timedelta(hours=3))
    assert expire_jobs(now + timedelta(hours=3)) == 0
    assert (again(done).state, again(done).result_bytes, JobPiece.objects.count()) == (Job.State.DONE, 0, 0)
    assert expire_all(now + timedelta(days=8)).jobs == 1
    assert [job.id for job in select_jobs(shop.pk)] == [waiting.id]


def test_a_result_deleted_while_it_is_read_does_not_look_whole(shop: Project, settings: Settings) -> None:
    settings.JOB_PIECE_BYTES = 10
    job = start(shop)
    run_next_job(say_words)
    reading = iter_result(again(job))
    next(reading)
    cancel_job(shop.pk, job.id)
    with pytest.raises(RuntimeError, match="deleted while it was read"):
        list(reading)


def test_a_jobs_params_come_back_as_they_were(shop: Project) -> None:
    params = [("tag", 'a:"ü\\\u2028'), ("page", "/x?%00"), ("tag", "b:c")]
    assert again(start(shop, *params)).params == json.loads(json.dumps(params))
