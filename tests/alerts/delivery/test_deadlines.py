"""An attempt to send has one deadline, whatever the receiver does. Each receiver here would hold a worker for long."""

import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import Settings

from alerts.delivery.bodies import Letter
from alerts.delivery.deadlines import Deadline
from alerts.delivery.outcomes import Receipt, Undelivered
from alerts.delivery.receivers import hand_over, post
from alerts.models import Channel
from alerts.sealing import Sealed
from projects.models import Project
from tests.alerts.delivery.slow_receivers import (
    Handle,
    answer_and_drip,
    drip,
    repeat,
    slow_receiver,
    speak_smtp,
)
from tests.alerts.state_changes import NOON
from tests.deploy.proxy import make_certificate

pytestmark = pytest.mark.slow(15)

LIMIT_S = 8.0  # of what must end after a second


@pytest.fixture(autouse=True)
def _limits(settings: Settings) -> None:
    settings.ALERTS_SEND_S = 1
    settings.ALERTS_MAIL_S = 1
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.EMAIL_HOST = "127.0.0.1"


def outcome_of(work: Callable[[], object]) -> object:
    """Returns what a call returns or raises. Fails if it takes too long."""
    outcomes: list[object] = []

    def run() -> None:
        try:
            outcomes.append(work())
        except Exception as error:
            outcomes.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    assert outcomes, f"it is not over after {LIMIT_S} s"
    return outcomes[0]


def post_to(port: int, settings: Settings, *, scheme: str = "http", host: str = "127.0.0.1") -> object:
    settings.WEBHOOK_PORTS, settings.WEBHOOK_ALLOW_PRIVATE = [port], ["127.0.0.0/8", "::1/128"]
    return outcome_of(lambda: post(f"{scheme}://{host}:{port}/", b"{}", {}))


def mail_to(port: int, settings: Settings, addresses: int = 1) -> object:
    settings.EMAIL_PORT = port
    letter = Letter(
        id=uuid4(), project=Project(slug="shop", name="Shop"), title="T", created_at=NOON, changes=(), history="/"
    )
    sealed = Sealed(tuple(f"{number}@shop.example" for number in range(addresses)), "")
    return outcome_of(lambda: hand_over(Channel(kind=Channel.Kind.MAIL), sealed, letter))


@pytest.mark.parametrize(
    ("handle", "problem"),
    [
        (drip(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000), "did not answer in time"),
        (drip(b"HTTP/1.1 100 Continue\r\n\r\n"), "did not answer in time"),
        (repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), "is too long"),
        (repeat(b"X-Name: value\r\n"), "is not valid HTTP"),
        (answer_and_drip(b"HTTP/1.1 200 OK\r\nX-Name: "), "did not answer in time"),
    ],
)
def test_an_answer_without_an_end_is_given_up(handle: Handle, problem: str, settings: Settings) -> None:
    with slow_receiver(handle) as port:
        outcome = post_to(port, settings)
    assert isinstance(outcome, Undelivered)
    assert problem in str(outcome)


def test_tls_without_an_end_is_given_up(settings: Settings) -> None:
    with slow_receiver(drip(b"\x16\x03\x03\x40\x00")) as port:
        outcome = post_to(port, settings, scheme="https")
    assert isinstance(outcome, Undelivered)


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a server of `localhost` needs whose certificate is trusted here."""
    make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "fullchain.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "fullchain.pem", tmp_path / "privkey.pem")
    return context


def test_the_deadline_holds_within_tls(settings: Settings, tls: ssl.SSLContext) -> None:
    with slow_receiver(answer_and_drip(b"HTTP/1.1 204 No Content\r\n\r\n"), tls) as port:
        assert post_to(port, settings, scheme="https", host="localhost") == Receipt(204)
    with slow_receiver(drip(b"HTTP/1.1 100 Continue\r\n\r\n"), tls) as port:
        assert "in time" in str(post_to(port, settings, scheme="https", host="localhost"))
    kept: list[bytes] = []
    settings.EMAIL_HOST, settings.EMAIL_USE_SSL, settings.ALERTS_MAIL_S = "localhost", True, 5
    with slow_receiver(speak_smtp(kept), tls) as port:
        assert mail_to(port, settings) == Receipt(None)
    assert len(kept) == 1


def test_what_was_taken_has_arrived_though_the_answer_goes_on(settings: Settings) -> None:
    settings.ALERTS_SEND_S = 60
    with slow_receiver(answer_and_drip(b"HTTP/1.1 200 OK\r\n\r\n")) as port:
        assert not isinstance(post_to(port, settings), Exception)


def test_a_name_that_is_not_found_in_time_is_given_up(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr("aggregate.doctor.addresses.socket.getaddrinfo", lambda *_, **__: is_over.wait(60))
    settings.WEBHOOK_PORTS = [80]
    outcome = outcome_of(lambda: post("http://hooks.example/", b"{}", {}))
    is_over.set()
    assert isinstance(outcome, Undelivered)
    assert "did not answer in time" in str(outcome)


def test_a_refused_port_names_the_setting_of_webhooks(settings: Settings) -> None:
    settings.WEBHOOK_PORTS = [443]
    outcome = outcome_of(lambda: post("http://hooks.example:8081/", b"{}", {}))
    assert isinstance(outcome, Undelivered)
    assert str(outcome) == "Port 8081 is not allowed; allowed are 443 (FIELDFLAME_WEBHOOK_PORTS)."


def test_the_first_address_does_not_take_the_time_of_the_second(settings: Settings) -> None:
    with slow_receiver(drip(b".")) as port:
        # Nobody answers at the first one: TEST-NET-1 of RFC 5737.
        connection = Deadline(2, most_bytes=100).connect(["192.0.2.1", "127.0.0.1"], port)
        assert connection.getpeername()[0] == "127.0.0.1"
        connection.close()


@pytest.mark.parametrize("handle", [drip(b"220-hello\r\n"), repeat(b"220-hello\r\n"), drip(b"220 mail.example\r\n")])
def test_a_mail_server_without_an_end_is_given_up(handle: Handle, settings: Settings) -> None:
    with slow_receiver(handle) as port:
        assert isinstance(mail_to(port, settings), Undelivered)


def test_a_mail_to_many_addresses_ends_as_a_whole(settings: Settings) -> None:
    kept: list[bytes] = []
    with slow_receiver(speak_smtp(kept, rcpt_s=0.4)) as port:
        began_s = time.monotonic()
        outcome = mail_to(port, settings, addresses=20)
        assert time.monotonic() - began_s < 3
        assert isinstance(outcome, Undelivered)
        assert "in time" in str(outcome)
        settings.ALERTS_MAIL_S = 20
        assert not isinstance(mail_to(port, settings, addresses=5), Exception)
    assert len(kept) == 1


def test_a_mail_that_was_taken_has_arrived_though_nobody_says_goodbye(settings: Settings) -> None:
    kept: list[bytes] = []
    settings.ALERTS_MAIL_S = 60
    with slow_receiver(speak_smtp(kept, says_bye=False)) as port:
        assert not isinstance(mail_to(port, settings), Exception)
    assert len(kept) == 1
