"""The page "Server": what the doctor finds about this server, for superusers only."""

import re
from collections.abc import Sequence

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from aggregate.doctor.findings import DoctorReport, Finding, ok, problem, skipped, warning
from dashboard.pages import server
from dashboard.pages.server import KeptReport
from tests.dashboard.pages.reading import text_of
from tests.e2e.axe import find_faults
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, open_as

FINDINGS: Sequence[Finding] = (
    ok("settings", "The settings are safe."),
    warning(
        "disk",
        "The database has 12.4 GB and grows by 830 MB a day, and 20.1 GB are free: enough for 24 days. "
        "Enlarge the disk, or shorten the retention.",
    ),
    problem(
        "durability",
        "fsync is off in PostgreSQL: accepted traces are lost if the server or the machine dies.",
        line="ALTER SYSTEM SET fsync = on",
    ),
    skipped("certificate", "The certificate is not looked at.", line="FIELDFLAME_ADDRESS=https://profiles.example.com"),
    ok("versions", "PostgreSQL 18.4, Valkey 9.1.2, Python 3.11.7, Django 5.2.19."),
    ok("replication", "There is no standby, and the log is not archived."),
)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replaces the look at the server; holds one number for each look."""
    made: list[int] = []

    def look() -> DoctorReport:
        made.append(len(made))
        return DoctorReport(url="this server", final_url="this server", findings=FINDINGS)

    monkeypatch.setattr(server, "examine_server", look)
    monkeypatch.setattr(server, "KEPT", KeptReport())
    return made


@pytest.fixture
def superuser(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.django_db
def test_a_superuser_reads_the_worst_first(superuser: Client, looks: list[int]) -> None:
    text = text_of(superuser, "/server/")
    assert "1 problem, 1 warning" in text
    places = [text.index(word) for word in ("fsync is off", "enough for 24 days", "not looked at", "are safe")]
    assert places == sorted(places)
    assert "ALTER SYSTEM SET fsync = on" in text
    assert re.search(r"Skipped\s+certificate", text)
    assert "FIELDFLAME_ADDRESS=https://profiles.example.com" in text
    assert "Server" in text_of(superuser, "/projects/")
    text_of(superuser, "/server/")
    assert looks == [0]  # reloads share a look


@pytest.mark.django_db
@pytest.mark.parametrize("is_member", [True, False])
def test_nobody_else_sees_it(client: Client, looks: list[int], *, is_member: bool) -> None:
    if is_member:
        client.force_login(User.objects.create_user("member", is_staff=True))
    answer = client.get("/server/")
    assert answer.status_code == (404 if is_member else 302)
    if is_member:
        assert b'href="/server/"' not in client.get("/projects/").content
    assert looks == []


@pytest.mark.e2e
@pytest.mark.slow(5)
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("looks")
def test_the_page_is_clean_in_every_look(chromium: Browser, live_server: LiveServer) -> None:
    cache.clear()
    user = User.objects.create_superuser("root")
    with open_as(chromium, live_server.url, user, LOOKS[0]) as (page, errors):
        page.goto(f"{live_server.url}/projects/")
        page.get_by_role("link", name="Server", exact=True).click()
        expect(page.get_by_role("heading", name="1 problem, 1 warning")).to_be_visible()
        assert find_faults(page) == []
        assert errors.complaints == []
        save_screenshot(page, "pages/server")
