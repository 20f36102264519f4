"""What monitors ask: alive, ready or what is not, and the metrics."""

from collections.abc import Iterator

import psycopg
import pytest
import redis
from django.test import Client
from pytest_django import Settings

from ops.telemetry import health
from ops.telemetry.health import KEPT_ANSWER

ASKED: list[str] = []


@pytest.fixture(autouse=True)
def everything_answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every question is answered, and counted; a test lets single ones fail."""
    ASKED.clear()
    monkeypatch.setattr(health, "QUESTIONS", {name: answering(name) for name in ("postgres", "valkey", "worker")})
    KEPT_ANSWER.valid_until = 0
    yield
    KEPT_ANSWER.valid_until = 0


class answering:  # noqa: N801  # stands for a function
    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name, self.error = name, error

    def __call__(self) -> None:
        ASKED.append(self.name)
        if self.error is not None:
            raise self.error


def test_a_living_process_says_so_whatever_the_others_do(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"alive": True})
    assert ASKED == []


def test_ready_is_200_once_all_answer(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "failing": []})
    assert ASKED == ["postgres", "valkey", "worker"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("postgres", psycopg.OperationalError("gone")),
        ("valkey", redis.ConnectionError("gone")),
        ("worker", ConnectionRefusedError("gone")),
    ],
)
def test_not_ready_is_503_and_names_what_does_not_answer(client: Client, name: str, error: Exception) -> None:
    health.QUESTIONS[name] = answering(name, error)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "failing": [name]})


def test_an_answer_is_kept_for_a_moment_so_that_asking_costs_little(client: Client) -> None:
    for _ in range(20):
        client.get("/readyz")
    assert ASKED == ["postgres", "valkey", "worker"]


def test_while_nothing_answers_only_one_waits(client: Client) -> None:
    """Anyone may ask: each who waited would keep a thread from posts and pages."""
    client.get("/readyz")
    KEPT_ANSWER.valid_until = 0
    with KEPT_ANSWER.lock:  # as while another thread asks
        assert client.get("/readyz").json() == {"ready": True, "failing": []}
    assert ASKED == ["postgres", "valkey", "worker"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("192.0.2.7", {}, 403),
        ("", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 403),  # through a proxy on this machine
        ("127.0.0.1", {"Via": "1.1 proxy"}, 403),
        ("192.0.2.7", {"Authorization": "Bearer a-token"}, 200),
        ("127.0.0.1", {"X-Forwarded-For": "192.0.2.7", "Authorization": "Bearer a-token"}, 200),
        ("192.0.2.7", {"Authorization": "Bearer another"}, 403),
        ("192.0.2.7", {"Authorization": "Bearer "}, 403),
    ],
)
def test_metrics_are_for_this_machine_or_the_token(
    client: Client, settings: Settings, address: str, headers: dict[str, str], status: int
) -> None:
    settings.METRICS_TOKEN = "a-token"
    answer = client.get("/metrics", headers=headers, REMOTE_ADDR=address)
    assert answer.status_code == status
    assert (b"fieldflame_projects" in answer.content) == (status == 200)


def test_without_a_token_none_is_right(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    for sent in ("Bearer ", "Bearer", ""):
        answer = client.get("/metrics", headers={"Authorization": sent}, REMOTE_ADDR="192.0.2.7")
        assert answer.status_code == 403


def test_a_post_is_no_way_to_ask(client: Client) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert client.post(path).status_code == 405
