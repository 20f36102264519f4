"""Erasing by the API and by the page: for admins and tokens with the scope; the value stands in no address."""

import pytest
from django.test import Client

from aggregate.jobs import requests
from aggregate.models import Job
from dashboard.tasks import run_jobs
from projects.models import Project
from projects.tokens import create_token
from tests.dashboard.conftest import VIEW_ID, People

ERASURES = "/api/v1/projects/shop/erasures"
PAGE = "/projects/shop/settings/erase/"


@pytest.mark.parametrize("body", [{"view_id": VIEW_ID}, {"tag": "visitor", "value": "a"}], ids=["view", "tag"])
def test_a_token_with_the_scope_starts_an_erasure_and_reads_its_outcome(
    client: Client, shop: Project, body: dict[str, str]
) -> None:
    _, clear = create_token(project=shop, scopes=["erase"])
    bearer = {"Authorization": f"Bearer {clear}"}
    started = client.post(ERASURES, body, content_type="application/json", headers=bearer)
    assert started.status_code == 202
    assert (started.json()["state"], started.json()["outcome"]) == ("queued", None)
    run_jobs()
    done = client.get(started.json()["url"], headers=bearer).json()
    assert done["state"] == "done"
    assert done["outcome"]["traces"] == (1 if "view_id" in body else 0)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"tag": "visitor"},
        {"tag": "", "value": "a"},
        {"view_id": "x"},
        {"view_id": VIEW_ID, "tag": "a", "value": "b"},
    ],
    ids=str,
)
def test_a_wrong_body_is_400_and_starts_nothing(client: Client, shop: Project, body: dict[str, str]) -> None:
    _, clear = create_token(project=shop, scopes=["erase"])
    answer = client.post(ERASURES, body, content_type="application/json", headers={"Authorization": f"Bearer {clear}"})
    assert answer.status_code == 400
    assert not Job.objects.exists()


def test_a_project_has_a_bounded_number_of_unfinished_erasures(
    client: Client, people: People, shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_UNFINISHED_ERASURES", 2)
    _, clear = create_token(project=shop, scopes=["erase"])
    bearer = {"Authorization": f"Bearer {clear}"}
    bodies: list[dict[str, str]] = [{"tag": "visitor", "value": "a"}, {"view_id": VIEW_ID}, {"tag": "v", "value": "b"}]
    answers = [client.post(ERASURES, body, content_type="application/json", headers=bearer) for body in bodies]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert "2 erasures of this project wait or run" in answers[2].json()["detail"]
    assert int(answers[2].headers["Retry-After"]) > 0
    again = client.post(ERASURES, bodies[0], content_type="application/json", headers=bearer)
    assert (again.status_code, again.json()["id"]) == (202, answers[0].json()["id"])  # an equal one needs no room
    client.force_login(people.owner)
    page = client.post(PAGE, {"name": "visitor", "value": "c", "confirm": "erase"})
    assert page.status_code == 429
    assert "2 erasures of this project wait or run" in page.content.decode()
    run_jobs()
    assert client.post(ERASURES, bodies[2], content_type="application/json", headers=bearer).status_code == 202


def test_erasing_another_view_by_the_page_is_refused_too(
    client: Client, people: People, shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_UNFINISHED_ERASURES", 0)
    client.force_login(people.owner)
    page = client.post(f"/projects/shop/views/{VIEW_ID}/erase/", {"confirm": "erase"})
    assert page.status_code == 429
    assert "erasures of this project wait or run" in page.content.decode()
    assert not Job.objects.exists()


@pytest.mark.parametrize(("who", "status"), [("owner", 202), ("member", 403), ("stranger", 404)])
def test_admins_erase_and_no_one_else(client: Client, people: People, who: str, status: int) -> None:
    client.force_login(getattr(people, who))
    answer = client.post(ERASURES, {"tag": "visitor", "value": "a"}, content_type="application/json")
    assert answer.status_code == status


def test_a_token_that_reads_does_not_erase(client: Client, shop: Project) -> None:
    _, clear = create_token(project=shop, scopes=["raw"])
    answer = client.post(ERASURES, {"view_id": VIEW_ID}, headers={"Authorization": f"Bearer {clear}"})
    assert answer.status_code == 403


def test_the_page_asks_and_shows_how_far_the_job_is(client: Client, people: People, shop: Project) -> None:
    client.force_login(people.owner)
    fields = {"name": "visitor", "value": "3f9a", "confirm": "yes"}
    assert client.post(PAGE, fields).status_code == 400
    answer = client.post(PAGE, fields | {"confirm": "erase"})
    assert answer.status_code == 302
    assert "3f9a" not in answer["Location"]
    assert b"Waiting for a worker" in client.get(answer["Location"]).content
    run_jobs()
    page = client.get(answer["Location"]).content
    assert b"No kept trace carries this tag." in page
    assert b"3f9a" not in page
    assert Job.objects.get().params == []
    assert client.get(PAGE + "?job=nonsense").status_code == 404
