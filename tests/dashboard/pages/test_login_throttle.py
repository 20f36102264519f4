"""Wrong passwords lock a name out of one network for a while, and nobody else. Password checks are few at a time."""

import socket
import threading
import time
from datetime import timedelta
from uuid import uuid4

import pytest
from axes.handlers.proxy import AxesProxyHandler
from django.core.cache import caches
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from dashboard.pages import login
from dashboard.web.logins.cache import LoginCache
from dashboard.web.logins.visitors import name_network
from tests.dashboard.conftest import People

pytestmark = pytest.mark.slow(8)

RIGHT, WRONG = "correct horse", "wrong"
HOME, ELSEWHERE = "192.0.2.7", "198.51.100.9"
LIMIT_S = 120.0  # the machine may be busy


@pytest.fixture(autouse=True)
def _empty_counts(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = LoginCache(settings.REDIS_URL, {"KEY_PREFIX": uuid4().hex})
    monkeypatch.setattr(AxesProxyHandler.get_implementation(), "cache", cache)


def log_in(password: str, *, name: str = "member", address: str = HOME, **headers: str) -> HttpResponse:
    fields = {"username": name, "password": password}
    return Client().post("/login/", fields, REMOTE_ADDR=address, headers=headers)  # type: ignore[return-value]  # it is


def fail(settings: Settings, **more: str) -> None:
    """Fails as often as it takes to be locked out."""
    statuses = [log_in(WRONG, **more).status_code for _ in range(settings.LOGIN_FAILURES)]
    assert statuses == [200] * (settings.LOGIN_FAILURES - 1) + [429]


def test_after_too_many_wrong_passwords_even_the_right_one_is_refused_with_the_time_to_wait(
    people: People, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(settings)
    monkeypatch.setattr("django.contrib.auth.backends.ModelBackend.authenticate", lambda *_, **__: pytest.fail("asked"))
    answer = log_in(RIGHT)
    assert (answer.status_code, answer["Retry-After"]) == (429, "900")
    assert "Too many attempts" in answer.content.decode()
    assert "Try again in 15 minutes." in answer.content.decode()


def test_the_same_person_is_let_in_from_elsewhere_and_others_from_there(people: People, settings: Settings) -> None:
    fail(settings)
    assert log_in(RIGHT, address=ELSEWHERE).status_code == 302
    assert log_in(RIGHT, name="owner").status_code == 302


def test_attempts_while_locked_out_do_not_prolong_it(people: People, settings: Settings) -> None:
    settings.AXES_COOLOFF_TIME = timedelta(seconds=3)
    fail(settings)
    deadline = time.monotonic() + LIMIT_S
    while log_in(WRONG).status_code == 429:
        assert time.monotonic() < deadline, "the lock never ended"
        time.sleep(0.2)
    assert log_in(RIGHT).status_code == 302


def test_a_right_password_forgets_the_wrong_ones(people: People, settings: Settings) -> None:
    for _ in range(3):
        for _ in range(settings.LOGIN_FAILURES - 1):
            assert log_in(WRONG).status_code == 200
        assert log_in(RIGHT).status_code == 302


def test_names_that_nobody_has_are_locked_out_alike(people: People, settings: Settings) -> None:
    fail(settings, name="nobody" + "y" * 500)


def test_behind_a_proxy_the_address_that_the_proxy_saw_counts(people: People, settings: Settings) -> None:
    settings.BEHIND_PROXY = True
    for number in range(settings.LOGIN_FAILURES):
        log_in(WRONG, x_forwarded_for=f"10.0.0.{number}, {HOME}", address="127.0.0.1")
    assert log_in(RIGHT, x_forwarded_for=HOME, address="127.0.0.1").status_code == 429
    assert log_in(RIGHT, x_forwarded_for=f"{HOME}, {ELSEWHERE}", address="127.0.0.1").status_code == 302


def test_without_a_proxy_nobody_chooses_an_address(people: People, settings: Settings) -> None:
    for number in range(settings.LOGIN_FAILURES):
        log_in(WRONG, x_forwarded_for=f"10.0.0.{number}")
    assert log_in(RIGHT, x_forwarded_for="10.0.0.99").status_code == 429


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "|192.0.2.7"),
        ("::ffff:192.0.2.7", "|192.0.2.7"),
        ("2001:db8::1:2:3:4", "|2001:db8::/64"),
        ("2001:db8:0:1::1", "|2001:db8:0:1::/64"),
        ("2001:db8:0:0:9::1", "|2001:db8::/64"),
        ("", "|"),
        ("no address", "|"),
    ],
)
def test_a_network_is_an_address_or_what_one_household_has(address: str, network: str) -> None:
    assert name_network(RequestFactory().get("/login/", REMOTE_ADDR=address)) == network


def test_without_valkey_people_log_in_and_nobody_is_locked_out(
    people: People, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setattr(AxesProxyHandler.get_implementation(), "cache", LoginCache(f"redis://127.0.0.1:{port}", {}))
    for _ in range(settings.LOGIN_FAILURES + 1):
        assert log_in(WRONG).status_code == 200
    assert log_in(RIGHT).status_code == 302


def test_a_count_that_expires_between_two_looks_begins_anew() -> None:
    assert caches["logins"].incr("gone") == 1


def test_emptying_the_counts_does_not_empty_the_queue_beside_them() -> None:
    with pytest.raises(NotImplementedError):
        caches["logins"].clear()


def test_with_too_many_passwords_to_check_a_login_is_refused_unchecked(people: People) -> None:
    for _ in range(login.AT_ONCE + login.MAY_WAIT):
        assert login._places.acquire(blocking=False)
    try:
        answer = log_in(RIGHT)
    finally:
        login._places.release(login.AT_ONCE + login.MAY_WAIT)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "Too many people log in at once" in answer.content.decode()
    assert log_in(RIGHT).status_code == 302


def test_guessing_fills_no_log(people: People, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    fail(settings)
    assert caplog.records == []


@pytest.mark.parametrize(
    "fields",
    [
        {"everywhere": "1", "password": WRONG},
        {"old_password": WRONG, "new_password1": "battery staple", "new_password2": "battery staple"},
    ],
    ids=["end sessions", "new password"],
)
def test_guesses_on_the_page_of_the_account_count_as_those_of_a_login(
    member: Client, people: People, settings: Settings, fields: dict[str, str]
) -> None:
    statuses = [member.post("/account/", fields, REMOTE_ADDR=HOME).status_code for _ in range(settings.LOGIN_FAILURES)]
    assert statuses == [400] * (settings.LOGIN_FAILURES - 1) + [429]
    right = {name: RIGHT if word == WRONG else word for name, word in fields.items()}
    assert member.post("/account/", right, REMOTE_ADDR=HOME).status_code == 429
    assert log_in(RIGHT).status_code == 429
    people.member.refresh_from_db()
    assert people.member.check_password(RIGHT)
    assert log_in(RIGHT, address=ELSEWHERE).status_code == 302


def test_the_page_of_the_account_waits_for_the_places_of_the_login(
    member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "_places", threading.BoundedSemaphore(1))
    with login.password_turn():
        busy = member.post("/account/", {"everywhere": "1", "password": RIGHT})
        assert (busy.status_code, busy["Retry-After"]) == (503, "5")
        assert member.get("/account/").status_code == 200
    assert member.post("/account/", {"everywhere": "1", "password": RIGHT}).status_code == 302
