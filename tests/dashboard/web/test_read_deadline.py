"""A read that the database takes too long for is given up with an answer that says so, and its statement ends there."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from projects.models import Membership, Project
from projects.tokens import create_token
from tests.aggregate.posting import database_url, rows
from tests.dashboard.conftest import make_shop
from tests.runner.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
WAITING = """SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%%aggregate_%%'"""

TABLES = "aggregate_cell, aggregate_pageday, aggregate_func, aggregate_hotspot, aggregate_pageview"


@pytest.fixture
def reader(settings: Settings) -> Client:
    """A member of a project, whose reads may wait for a second."""
    settings.READ_WAIT_S = 1
    user = User.objects.create_user("member")
    Membership.objects.create(project=make_shop(), user=user)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def blocked(reader: Client) -> Iterator[None]:
    """Somebody holds the cells and hotspots, as a migration or a hung session may."""
    with psycopg.connect(database_url()) as holder:
        holder.execute(f"LOCK TABLE {TABLES} IN ACCESS EXCLUSIVE MODE".encode())
        yield
        holder.rollback()


def assert_no_statement_goes_on() -> None:
    """The database ends a statement a moment after it took the request to cancel it; its answer is not waited for."""
    wait_until(lambda: rows(WAITING) == [(0,)], "the statement that was given up still waits", limit_s=30)


def test_a_page_says_what_to_do(reader: Client, blocked: None) -> None:
    answer = reader.get("/projects/shop/", {"release": "1.0.0"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "The database did not answer within 1 s. Choose less" in answer.content.decode()
    assert "/projects/shop/?release=1.0.0" in answer.content.decode()
    assert_no_statement_goes_on()


def test_a_part_of_a_page_says_it_in_its_place(reader: Client, blocked: None) -> None:
    answer = reader.get("/projects/shop/views/list/", headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "did not answer within 1 s" in answer.content.decode()


def test_the_read_api_says_it_as_json(reader: Client, blocked: None) -> None:
    _, token = create_token(project=Project.objects.get())
    answer = Client().get("/api/v1/projects/shop/functions", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert answer.json()["detail"].startswith("The database did not answer within 1 s. Ask for less")
    assert_no_statement_goes_on()


BUDGET = {"name": "a", "about": "time", "by": "party", "new_by": "party", "limit": "1"}
DISPLAY = {"rules-TOTAL_FORMS": "0", "rules-INITIAL_FORMS": "0", "do": "preview"}
CODE = {
    f"{kind}-{count}_FORMS": "0" for kind in ("categories", "parties", "packages") for count in ("TOTAL", "INITIAL")
}


@pytest.mark.parametrize(
    ("section", "fields"),
    [("alerts/new", BUDGET), ("routes", {"rules": "/product/:sku"}), ("display", DISPLAY), ("code", CODE)],
)
def test_a_preview_by_a_form_is_a_read_too(reader: Client, blocked: None, section: str, fields: dict[str, str]) -> None:
    Membership.objects.update(role=Membership.Role.ADMIN)
    answer = reader.post(f"/projects/shop/settings/{section}/", {**fields, "preview": ""})
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert_no_statement_goes_on()


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("alerts/preview", {"kind": "budget", "question": {"measure": "time", "limit": 1}}),
        ("code/preview", {"rules": {}}),
        ("display/preview", {"rules": []}),
    ],
)
def test_a_preview_by_the_api_is_a_read_too(
    reader: Client, blocked: None, address: str, body: dict[str, object]
) -> None:
    _, token = create_token(project=Project.objects.get())
    headers = {"Authorization": f"Bearer {token}"}
    answer = Client().post(f"/api/v1/projects/shop/{address}", body, "application/json", headers=headers)
    assert (answer.status_code, answer["Retry-After"]) == (503, "30"), answer.content
    assert_no_statement_goes_on()


def test_afterwards_the_same_page_is_answered(reader: Client, settings: Settings) -> None:
    with psycopg.connect(database_url()) as holder:
        holder.execute("LOCK TABLE aggregate_cell IN ACCESS EXCLUSIVE MODE")
        assert reader.get("/projects/shop/").status_code == 503
        holder.rollback()
    settings.READ_WAIT_S = 120  # of a busy machine
    assert reader.get("/projects/shop/").status_code == 200


def end_waiting_sessions() -> None:
    """Ends what waits for the tables, as PostgreSQL does with every session when it is restarted."""
    end = WAITING.replace("count(*)", "count(pg_terminate_backend(pid))").replace("%%", "%")
    with psycopg.connect(database_url(), autocommit=True) as other:
        wait_until(lambda: other.execute(end).fetchone() != (0,), "nothing waited")


@pytest.mark.parametrize("address", ["/projects/shop/", "/api/v1/projects/shop/functions"])
def test_a_read_whose_session_is_lost_may_try_again(
    reader: Client, blocked: None, settings: Settings, address: str
) -> None:
    settings.READ_WAIT_S = 120
    _, token = create_token(project=Project.objects.get())
    ender = threading.Thread(target=end_waiting_sessions)
    ender.start()
    answer = reader.get(address, headers={"Authorization": f"Bearer {token}"} if "api" in address else {})
    ender.join()
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert "The database does not answer at the moment" in answer.content.decode()
