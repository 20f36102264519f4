"""Whose a job is: claimed by one worker, in turns, and taken over from those that are gone."""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from aggregate.jobs.requests import iter_result
from aggregate.jobs.runs import JobLost, JobResult, claim_job
from aggregate.models import Job, JobPiece
from aggregate.worker_leases import drop_dead_leases, own_token
from projects.models import Project
from tests.aggregate.jobs.running_jobs import again, claimed, say_words, start
from tests.aggregate.posting import be_killed
from tests.builders import make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop() -> Project:
    return make_project()


def test_one_runs_at_once_and_projects_take_turns(shop: Project, settings: Settings) -> None:
    first, second = start(shop, ("tag", "a:1")), start(shop, ("tag", "a:2"))
    other = start(make_project("other"))
    run = claimed()
    assert run.job.id == first.id
    assert claim_job() is None
    settings.JOBS_AT_ONCE = 2
    assert claimed().job.id == other.id  # `second` came earlier, but its project has had a turn
    run.store(say_words(run))
    assert claimed().job.id == second.id


def test_projects_take_turns_one_job_at_a_time(shop: Project) -> None:
    jobs = [start(shop, ("tag", f"a:{number}")) for number in range(4)]
    others = [start(make_project("other"), ("tag", "a:1")), start(make_project("third"), ("tag", "a:1"))]
    order = []
    for _ in range(6):
        run = claimed()
        order.append(run.job.id)
        run.store(say_words(run))
    assert order == [jobs[0].id, *(job.id for job in others), *(job.id for job in jobs[1:])]


def test_a_turn_is_remembered_after_its_job_is_deleted(shop: Project) -> None:
    start(shop, ("tag", "a:1"))
    run = claimed()
    run.store(say_words(run))
    Job.objects.all().delete()
    start(shop, ("tag", "a:2"))
    other = start(make_project("other"))
    assert claimed().job.id == other.id


def test_a_project_with_a_running_job_comes_after_those_without(shop: Project, settings: Settings) -> None:
    settings.JOBS_AT_ONCE = 2
    start(shop, ("tag", "a:1"))
    other = make_project("other")
    start(other, ("tag", "a:1"))
    claimed()  # the shop's runs on
    run = claimed()
    run.store(say_words(run))
    start(shop, ("tag", "a:2"))
    second = start(other, ("tag", "a:2"))  # its last turn is later, but nothing of it runs
    assert claimed().job.id == second.id


@pytest.mark.django_db(transaction=True)
def test_a_killed_workers_job_is_taken_over_and_begins_anew(shop: Project, settings: Settings) -> None:
    settings.JOB_PIECE_BYTES = 8
    job = start(shop)
    lost = claimed()
    lost.expect(3)
    lost.advance(1)
    with pytest.raises(RuntimeError):
        lost.store(JobResult("text/plain", "x", _break_off()))
    assert JobPiece.objects.exists()
    assert claim_job() is None  # its worker lives
    be_killed()
    assert drop_dead_leases() == 1
    run = claimed()
    assert (run.job.id, run.job.attempts, again(job).done_traces) == (job.id, 2, 0)
    assert not JobPiece.objects.exists()
    with pytest.raises(JobLost):
        lost.advance(1)
    with pytest.raises(JobLost):
        lost.store(say_words(run))
    with pytest.raises(JobLost):
        lost.fail(None, "late")
    run.store(say_words(run))
    assert gzip.decompress(b"".join(iter_result(again(job)))) == b"one two three"


def _break_off() -> Iterator[bytes]:
    yield bytes(range(256)) * 1000
    raise RuntimeError


def test_a_job_whose_lease_ran_out_is_taken_over(shop: Project) -> None:
    lost = claimed() if start(shop) else None
    assert lost is not None
    Job.objects.update(claimed_until=datetime.now(UTC) - timedelta(hours=1))
    assert claimed().job.attempts == 2
    with pytest.raises(JobLost):
        lost.advance(1)


def test_a_job_that_ends_its_worker_again_and_again_fails(shop: Project, settings: Settings) -> None:
    settings.JOB_ATTEMPTS = 3
    job = start(shop)
    for attempt in (1, 2, 3):
        assert claimed().job.attempts == attempt
        Job.objects.update(claimed_until=datetime.now(UTC) - timedelta(hours=1))
    assert claim_job() is None
    assert again(job).state == Job.State.FAILED
    assert "begun 3 times" in str(again(job).error_detail)


def test_the_workers_token_is_noted(shop: Project) -> None:
    start(shop)
    assert claimed().job.claim_token == own_token()
