"""Erasing a view on the dashboard: asked first, done by a job, and gone from all pages."""

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from aggregate.jobs.requests import start_job
from aggregate.models import Job
from dashboard.api.jobs.preparation import run_job
from ingest.models import Receipt
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all, post
from tests.dashboard.pages.settings.conftest import text_in
from tests.envelopes import make_envelope, view_id_of

VIEW = str(view_id_of("v1"))
PAGE = f"/projects/site/views/{VIEW}/"
ERASE = PAGE + "erase/"


def client_of(site: Project, role: str) -> Client:
    user = User.objects.create_user(role)
    Membership.objects.create(project=site, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return text_in(response)  # type: ignore[arg-type]  # the client's own response


def test_an_admin_erases_a_view_and_no_page_has_it_any_more(site: Project, token: dict[str, str]) -> None:
    admin = client_of(site, "admin")
    assert "Erase this view…" in text_of(admin, PAGE)
    assert "2 traces with their raw bodies, and the view’s row, are deleted for good." in text_of(admin, ERASE)
    wrong = admin.post(ERASE, {"confirm": "yes"})
    assert (wrong.status_code, Job.objects.count()) == (400, 0)
    started = admin.post(ERASE, {"confirm": "erase"})
    where = started["Location"]
    assert "Waiting for a worker…" in text_of(admin, where)
    assert 'hx-trigger="every 2s, again"' in admin.get(where).content.decode()
    assert admin.get("/api/v1/projects/site/jobs", headers=token).json() == {"jobs": []}
    assert admin.delete(f"/api/v1/projects/site/jobs/{Job.objects.get().id}").status_code in (403, 404)
    run_job()
    done = text_of(admin, where)
    assert "The view is erased. 2 traces and its row are deleted" in done
    assert "hx-trigger" not in admin.get(where).content.decode().partition('id="erasing"')[2].partition(">")[0]
    assert Job.objects.get().params == []
    assert not Receipt.objects.filter(project=site, view_id=VIEW).exists()
    assert admin.get(PAGE).status_code == admin.get(ERASE).status_code == 404
    assert VIEW not in admin.get("/projects/site/views/list/?limit=100").content.decode()


def test_a_killed_worker_loses_nothing(site: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = client_of(site, "admin")
    where = admin.post(ERASE, {"confirm": "erase"})["Location"]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("aggregate.maintenance.view_erasures.json.dumps", die)
        with pytest.raises(KeyboardInterrupt):
            run_job()
    run_job()
    assert "The view is erased." in text_of(admin, where)


def test_members_erase_nothing(site: Project) -> None:
    member = client_of(site, "member")
    assert "Erase this view" not in text_of(member, PAGE)
    for ask in (member.get, member.post):
        refused = ask(ERASE, {"confirm": "erase"})
        assert refused.status_code == 403
        assert "Only admins can do this." in refused.content.decode()
    assert not Job.objects.exists()


@pytest.mark.parametrize("end", ["?job=x", f"?job={VIEW}"])
def test_a_wrong_job_is_not_found(site: Project, end: str) -> None:
    assert client_of(site, "admin").get(ERASE + end).status_code == 404


def test_an_erasure_is_queued_behind_any_number_of_exports(site: Project, settings: Settings) -> None:
    settings.JOBS_MAX_UNFINISHED = 1
    start_job(site.pk, kind="functions", params=[], link="")
    assert client_of(site, "admin").post(ERASE, {"confirm": "erase"}).status_code == 302


def test_a_second_attempt_counts_what_the_first_one_erased_too(site: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    post("KEY-site", make_envelope("v1", "A\nA B", seq=2, page="/p0"))
    fold_all()
    admin = client_of(site, "admin")
    where = admin.post(ERASE, {"confirm": "erase"})["Location"]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("aggregate.jobs.runs.JobRun.advance", die)  # after the first of two pages
        with pytest.raises(KeyboardInterrupt):
            run_job()
    assert 0 < Receipt.objects.filter(project=site, view_id=VIEW).count() < 3
    run_job()
    assert "The view is erased. 3 traces and its row are deleted" in text_of(admin, where)


def test_the_log_says_who_erased_but_not_which_view(site: Project, caplog: pytest.LogCaptureFixture) -> None:
    admin = client_of(site, "admin")
    with caplog.at_level(logging.INFO):
        admin.post(ERASE, {"confirm": "erase"})
    user = User.objects.get(username="admin")
    assert f"project site: erasure {Job.objects.get().id} started by user {user.pk}" in caplog.text
    assert VIEW not in caplog.text
