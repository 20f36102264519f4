"""Vitals of all views: a button starts a job, the page shows how far it is, and then its result to every member."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from aggregate.jobs.requests import cancel_job
from aggregate.models import Job
from projects.models import Membership, Project
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.builders import make_project
from tests.dashboard.pages.reading import text_of
from tests.dashboard.pages.vitals.shop_visits import VISITS

PAGE = "/projects/shop/vitals/"
WINDOWS = "/projects/shop/vitals/windows/"
ALL = "/projects/shop/vitals/all/"
SAMPLE = 50


@pytest.fixture
def few(settings: Settings) -> None:
    """A request reads fewer views than there are."""
    settings.VITALS_MAX_VIEWS = VISITS // 2


def start(reader: Client, query: str = "") -> str:
    """Starts the job, and returns the address that it leads to."""
    answer = reader.post(ALL + query)
    assert answer.status_code == 302
    return str(answer["Location"])


def job_of(address: str) -> Job:
    (job_id,) = parse_qs(urlsplit(address).query)["job"]
    return Job.objects.get(id=job_id)


@pytest.mark.usefixtures("few")
def test_a_sample_offers_to_read_all_views_with_its_filters(reader: Client) -> None:
    part = reader.get(f"{WINDOWS}?release=1.2.0&group_by=package&waits=slow").content.decode()
    assert f'<form method="post" action="{ALL}?release=1.2.0&amp;group_by=package&amp;waits=slow">' in part
    assert "Read all page views" in part
    assert "From an even sample" in text_of(reader, WINDOWS)


def test_all_views_are_not_read_again(reader: Client) -> None:
    assert "Read all page views" not in text_of(reader, WINDOWS)


@pytest.mark.usefixtures("few")
def test_the_result_is_shown_as_the_page_shows_a_sample(reader: Client, settings: Settings) -> None:
    address = start(reader, "?release=1.2.0")
    assert "Waiting for a worker" in text_of(reader, address)
    assert 'hx-trigger="every 2s, again"' in reader.get(address).content.decode()
    run_jobs()
    page = reader.get(address).content.decode()
    assert "hx-trigger" not in page[page.index('id="all-views"') :].partition(">")[0]
    settings.VITALS_MAX_VIEWS = VISITS
    wanted = text_of(reader, f"{WINDOWS}?release=1.2.0")
    text = text_of(reader, address)
    assert wanted[: wanted.index("From all")] in text
    assert f"From all {VISITS} page views" in text
    assert "shows them to all members until" in text


def test_a_second_click_leads_to_the_same_job(reader: Client) -> None:
    assert start(reader) == start(reader)
    assert Job.objects.count() == 1


def test_progress_is_shown(reader: Client) -> None:
    address = start(reader)
    Job.objects.update(state=Job.State.RUNNING, total_traces=200, done_traces=50)
    assert "Reading all page views: 50 of 200 traces." in text_of(reader, address)
    assert '<progress max="200" value="50"' in reader.get(address).content.decode()


@pytest.mark.usefixtures("few")
def test_a_job_that_was_cancelled_or_has_expired_may_be_started_again(reader: Client, kept: Project) -> None:
    address = start(reader)
    cancel_job(kept.pk, job_of(address).id)
    text = text_of(reader, address)
    assert "The job was cancelled." in text
    assert "Read all page views" in text
    again = start(reader)
    run_jobs()
    Job.objects.filter(id=job_of(again).id).update(expires_at=datetime(2026, 1, 1, tzinfo=UTC))
    text = text_of(reader, again)
    assert "no longer kept" in text
    assert "Read all page views" in text


def test_a_project_with_too_many_jobs_says_so(reader: Client, settings: Settings) -> None:
    settings.JOBS_MAX_UNFINISHED = 1
    start(reader)
    answer = reader.post(f"{ALL}?release=1.2.0", follow=True)
    assert answer.redirect_chain == [(f"{PAGE}?release=1.2.0", 302)]
    assert "1 jobs of this project wait or run" in answer.content.decode()


def test_bad_addresses_are_explained(reader: Client) -> None:
    assert reader.post(f"{ALL}?tag=a:b").status_code == 400
    assert reader.post(f"{ALL}?waits=long").status_code == 400
    assert reader.get(f"{ALL}?job={uuid4()}").status_code == 404
    assert reader.get(f"{ALL}?job=x").status_code == 404
    assert "Read all page views" in text_of(reader, ALL)


def test_another_kind_of_job_is_not_shown(reader: Client) -> None:
    address = start(reader)
    Job.objects.update(kind="functions")
    assert reader.get(address).status_code == 404


def test_strangers_and_members_of_other_projects_see_nothing(reader: Client) -> None:
    address = start(reader)
    stranger = Client()
    assert "/login/" in stranger.get(address)["Location"]
    assert "/login/" in stranger.post(ALL)["Location"]
    user = User.objects.create_user("other")
    Membership.objects.create(project=make_project("elsewhere"), user=user)
    stranger.force_login(user)
    assert stranger.get(address).status_code == 404
    assert stranger.post(ALL).status_code == 404
    assert stranger.get(address.replace("/shop/", "/elsewhere/")).status_code == 404


def test_what_to_fix_first_says_that_its_vitals_are_of_a_sample(reader: Client, settings: Settings) -> None:
    table = "/projects/shop/savings/table/"
    assert "Of LCP (sample)" not in text_of(reader, table)
    settings.VITALS_MAX_VIEWS = VISITS // 2
    text = text_of(reader, f"{table}?group_by=party")
    assert "Of LCP (sample)" in text
    assert "Of INP (sample)" in text
    assert f"LCP, INP and forced layout are of an even sample of {VISITS // 2} page views" in text
