"""What is read from a replica, what an answer says about it, and when the database is read instead.

The replica of these tests is the same database, by connections that may not write.
"""

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import resolve
from pytest_django import Settings

from aggregate.replica.lag import WATCH
from aggregate.replica.source import REPLICA, at_database, at_replica
from aggregate.selectors.slice.read_context import once_a_read, read_context
from dashboard.web.project_pages import find_traits
from dashboard.web.replica import reading
from dashboard.web.replica.reading import HEADER, WROTE_COOKIE, answer_from_replica
from ingest.deadline import DeadlineExceeded
from ingest.models import RawTrace
from ops.database.base import DatabaseWrapper
from projects.models import Membership, Project
from projects.tokens import create_token
from tests.aggregate.selectors.vitals.recorded_visits import post_visits, read_visits
from tests.builders import make_project
from tests.dashboard.api.pyroscope.asking import SERVICE, question
from tests.dashboard.conftest import People, make_people, make_shop
from tests.dashboard.web.addresses import API_ADDRESSES, PAGE_ADDRESSES, list_names
from tests.object_stores import MemoryStore, objects  # noqa: F401  # a fixture

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/projects/shop/functions/?page=/cart"
READ_ONLY = "-c default_transaction_read_only=on"
NAME = "SELECT current_setting('default_transaction_read_only')"


def connect(wrapper: DatabaseWrapper) -> None:
    """Connects as Django itself does. While tests run, it refuses databases that they did not name beforehand."""
    if wrapper.connection is None:
        with wrapper.wrap_database_errors:
            wrapper.connect()


@pytest.fixture
def replica(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(DatabaseWrapper, "ensure_connection", connect)
    primary = connections[DEFAULT_DB_ALIAS].settings_dict
    connections.settings[REPLICA] = {**primary, "OPTIONS": {**primary["OPTIONS"], "options": READ_ONLY}}
    try:
        yield
    finally:
        wrapper = connections[REPLICA]
        assert isinstance(wrapper, DatabaseWrapper)
        wrapper.close()
        wrapper.close_pool()
        del connections[REPLICA], connections.settings[REPLICA]


@pytest.fixture
def lag(replica: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[float | None], None]:
    """Sets how far the replica is behind; at first a second and a half. Nobody looks."""

    def be_behind(seconds: float | None) -> None:
        monkeypatch.setattr(WATCH, "find_lag_s", lambda: seconds)

    be_behind(1.5)
    return be_behind


@pytest.fixture
def folk(lag: object) -> People:
    return make_people(make_shop())


@pytest.fixture
def member(folk: People, client: Client) -> Client:
    client.force_login(folk.member)
    client.get("/projects/")  # sets the CSRF cookie
    return client


@pytest.fixture
def bearer(folk: People) -> dict[str, str]:
    _, clear = create_token(project=Project.objects.get(slug="shop"))
    return {"Authorization": f"Bearer {clear}"}


def read_only() -> str:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(NAME)
        row = cursor.fetchone()
    assert row is not None
    return str(row[0])


def counted(source: str) -> float:
    return float(reading.READS.labels(source)._value.get())


def test_a_block_reads_there_and_the_database_within_it(replica: None) -> None:
    seen = [read_only()]
    with at_replica():
        seen.append(read_only())
        with at_database():
            seen.append(read_only())
        seen.append(read_only())
    assert [*seen, read_only()] == ["off", "on", "off", "on", "off"]


@pytest.mark.parametrize("address", PAGE_ADDRESSES)
def test_pages_are_read_there_if_they_show_sums_and_write_nothing(member: Client, address: str) -> None:
    failed = counted("failed")
    answer = member.get(address)
    assert answer.status_code in (200, 404)  # there is no source map
    assert (HEADER in answer.headers) == find_traits(resolve(address.partition("?")[0])).on_replica
    assert counted("failed") == failed


@pytest.mark.parametrize("address", API_ADDRESSES)
def test_answers_are_read_there_if_they_are_of_sums(client: Client, bearer: dict[str, str], address: str) -> None:
    failed = counted("failed")
    answer = client.get(address, headers=bearer)
    assert answer.status_code in (200, 404)  # there is no source of the function
    assert (HEADER in answer.headers) == find_traits(resolve(address.partition("?")[0])).on_replica
    assert counted("failed") == failed


@pytest.mark.parametrize("has_store", [False, True], ids=["in rows", "in an object store"])
def test_vitals_read_raw_bodies_there(
    replica: None, lag: object, request: pytest.FixtureRequest, client: Client, has_store: bool
) -> None:
    store: MemoryStore | None = request.getfixturevalue("objects") if has_store else None
    project = make_project("visited")
    post_visits("KEY-visited", read_visits("1.2.0", 3))
    assert RawTrace.objects.filter(project_id=project.pk, pack_id=None).exists() == (not has_store)
    _, clear = create_token(project=project)
    headers = {"Authorization": f"Bearer {clear}"}
    failed = counted("failed")
    for address in ("vitals", "savings?limit=3", "metrics"):
        answer = client.get(f"/api/v1/projects/visited/{address}", headers=headers)
        assert (answer.status_code, HEADER in answer.headers) == (200, True), address
        if address == "vitals":
            assert answer.json()["read_views"] == 3
    assert counted("failed") == failed
    assert store is None or [name for operation, name in store.done if operation == "read"]


def test_every_address_that_may_be_read_there_is_tested() -> None:
    tested = {resolve(address.partition("?")[0]).url_name for address in PAGE_ADDRESSES + API_ADDRESSES}
    assert list_names(lambda traits: traits.on_replica) - tested == {
        "api-timeline",  # needs a trace that can be decoded; it is read as `api-trace` is
        "pyroscope",  # the next test
    }


@pytest.mark.parametrize("method", ["ProfileTypes", "GetProfileStats", "SelectMergeStacktraces"])
def test_posts_that_only_read_are_read_there(client: Client, bearer: dict[str, str], method: str) -> None:
    failed = counted("failed")
    message = question() if method.startswith("Select") else {}
    answer = client.post(SERVICE + method, message, content_type="application/json", headers=bearer)
    assert (answer.status_code, HEADER in answer.headers) == (200, True)
    other = client.post("/api/v1/projects/shop/code/preview", {}, content_type="application/json", headers=bearer)
    assert HEADER not in other.headers
    assert counted("failed") == failed


def test_a_page_says_how_far_it_may_be_behind(member: Client, lag: Callable[[float | None], None]) -> None:
    first = member.get(PAGE)
    assert first[HEADER] == "1.5"
    assert b"Read from a replica of the database, at most 2 s behind it." in first.content
    assert member.get(PAGE, headers={"If-None-Match": first["ETag"]}).status_code == 304
    lag(7.0)
    later = member.get(PAGE, headers={"If-None-Match": first["ETag"]})
    assert (later.status_code, later[HEADER]) == (200, "7.0")
    assert b"at most 10 s behind" in later.content


def test_a_page_of_the_database_says_nothing_and_has_an_etag_of_its_own(
    member: Client, lag: Callable[[float | None], None]
) -> None:
    etag = member.get(PAGE)["ETag"]
    lag(None)
    answer = member.get(PAGE, headers={"If-None-Match": etag})
    assert answer.status_code == 200
    assert HEADER not in answer.headers
    assert b"replica" not in answer.content


@pytest.mark.parametrize("seconds", [None, 30.5], ids=["unknown", "too far"])
def test_a_replica_that_is_too_far_behind_is_not_read(
    member: Client, lag: Callable[[float | None], None], seconds: float | None
) -> None:
    before = counted("behind")
    lag(seconds)
    assert HEADER not in member.get(PAGE).headers
    assert counted("behind") == before + 1


def test_who_has_lost_a_role_is_refused_at_once(member: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles are read from the database: a statement about them would fail at this replica."""
    assert member.get(PAGE).status_code == 200
    Membership.objects.filter(user=User.objects.get(username="member")).delete()
    failed = counted("failed")
    assert member.get(PAGE).status_code == 404
    assert counted("failed") == failed


def test_an_answer_of_a_replica_that_fails_comes_from_the_database(
    replica: None, lag: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "may_read_there", lambda _: True)
    monkeypatch.setattr(WATCH, "_is_away", False)
    seen = []

    def make() -> HttpResponse:
        seen.append(read_only())
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE only_the_database_may (id int) ON COMMIT DROP")
            cursor.execute("UPDATE projects_project SET name = name")
        return HttpResponse()

    failed = counted("failed")
    answer = answer_from_replica(RequestFactory().get(PAGE), make)
    assert (seen, HEADER in answer.headers, counted("failed") - failed) == (["on", "off"], False, 1)
    assert WATCH._is_away  # until a look succeeds


def test_what_a_replica_that_fails_has_answered_is_selected_anew(
    replica: None, lag: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "may_read_there", lambda _: True)
    monkeypatch.setattr(WATCH, "_is_away", False)
    where = once_a_read(read_only)

    def make() -> HttpResponse:
        answer = HttpResponse(where())
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute("UPDATE projects_project SET name = name")
        return answer

    with read_context():
        assert answer_from_replica(RequestFactory().get(PAGE), make).content == b"off"


def test_a_replica_that_nobody_can_connect_to_is_not_waited_for(
    member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait_in_vain() -> NoReturn:
        raise OperationalError("no connection in time") from DeadlineExceeded("no connection in time")

    monkeypatch.setattr(reading, "open_replica", wait_in_vain)
    failed = counted("failed")
    answer = member.get(PAGE)
    assert (answer.status_code, HEADER in answer.headers, counted("failed") - failed) == (200, False, 1)


def test_who_asks_for_the_newest_gets_it(client: Client, bearer: dict[str, str]) -> None:
    address = "/api/v1/projects/shop/functions"
    assert HEADER in client.get(address, headers=bearer).headers
    assert HEADER not in client.get(address, headers={**bearer, "Cache-Control": "no-cache"}).headers


def test_people_read_what_they_have_written(folk: People, settings: Settings) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "dashboard.web.replica.reading.ReadYourWritesMiddleware"]
    member = Client()
    member.force_login(folk.member)
    assert HEADER in member.get(PAGE).headers
    answer = member.post("/projects/shop/saved/", {})
    cookie: Any = answer.cookies[WROTE_COOKIE]
    assert cookie["max-age"] > settings.REPLICA_MAX_LAG_S
    assert cookie["httponly"]
    assert HEADER not in member.get(PAGE).headers


def test_strangers_get_no_cookie(client: Client, lag: object, settings: Settings) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "dashboard.web.replica.reading.ReadYourWritesMiddleware"]
    assert WROTE_COOKIE not in client.post("/login/", {"username": "nobody", "password": "wrong"}).cookies
