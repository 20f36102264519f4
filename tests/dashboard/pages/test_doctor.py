"""The page doctor: who may use it, what it shows, and how often one may."""

import html

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from aggregate.doctor.findings import DoctorReport, ok, problem
from dashboard.pages import doctor
from projects.models import Project
from tests.dashboard.conftest import People

PAGE = "/projects/shop/doctor/"
URL = "https://shop.example/cart"


@pytest.fixture(autouse=True)
def visits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Project]]:
    """The visits, instead of which a report is made."""
    cache.clear()
    asked: list[tuple[str, Project]] = []

    def examine(url: str, *, project: Project, server: str) -> DoctorReport:
        asked.append((url, project))
        findings = [ok("key", "The key is active."), problem("header", "It lacks <b>.", line="Document-Policy: x")]
        return DoctorReport(url=url, final_url=url + "?<i>", findings=findings)

    monkeypatch.setattr(doctor, "examine", examine)
    return asked


def test_a_member_sees_the_findings_of_a_page(
    client: Client, people: People, shop: Project, visits: list[tuple[str, Project]]
) -> None:
    client.force_login(people.member)
    answer = client.post(PAGE, {"url": URL})
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "1 problem" in text
    assert "It lacks &lt;b&gt;." in text
    assert "Document-Policy: x" in html.unescape(text)
    assert visits == [(URL, shop)]


def test_a_stranger_and_a_visitor_start_no_visit(
    client: Client, people: People, visits: list[tuple[str, Project]]
) -> None:
    assert client.post(PAGE, {"url": URL}).status_code == 302
    client.force_login(people.stranger)
    assert client.post(PAGE, {"url": URL}).status_code == 404
    assert visits == []


def test_a_visit_needs_the_forms_token(people: People, visits: list[tuple[str, Project]]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.member)
    assert client.post(PAGE, {"url": URL}).status_code == 403
    assert client.get(PAGE + f"?url={URL}").status_code == 200
    assert visits == []


def test_the_visits_that_a_user_may_start_in_an_hour_are_limited(
    client: Client, people: People, settings: Settings, visits: list[tuple[str, Project]]
) -> None:
    settings.DOCTOR_PER_HOUR = 2
    client.force_login(people.member)
    assert [client.post(PAGE, {"url": URL}).status_code for _ in range(3)] == [200, 200, 429]
    client.force_login(people.owner)
    assert client.post(PAGE, {"url": URL}).status_code == 200
    assert len(visits) == 3


def test_the_number_of_visits_that_run_at_once_is_limited(client: Client, people: People, settings: Settings) -> None:
    client.force_login(people.member)
    for _ in range(settings.DOCTOR_AT_ONCE):
        assert doctor._places.acquire(blocking=False)
    try:
        assert client.post(PAGE, {"url": URL}).status_code == 503
    finally:
        for _ in range(settings.DOCTOR_AT_ONCE):
            doctor._places.release()
    assert client.post(PAGE, {"url": URL}).status_code == 200


def test_an_empty_or_long_address_is_explained(client: Client, people: People, visits: list[object]) -> None:
    client.force_login(people.member)
    assert client.post(PAGE, {"url": ""}).status_code == 400
    assert client.post(PAGE, {"url": "https://a/" + "a" * 3_000}).status_code == 400
    assert visits == []
