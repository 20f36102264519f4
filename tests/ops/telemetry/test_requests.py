"""Requests of the web server: how long each took, and an id that its errors and the logs share."""

import io
from collections.abc import Iterable
from typing import Any

import pytest
from prometheus_client import REGISTRY
from pytest_django import Settings

from config import wsgi
from ops.telemetry.requests import ID_HEADER, KINDS, find_kind

Headers = dict[str, str]


def ask(path: str, *, method: str = "GET", body: bytes = b"", **more: str) -> tuple[int, Headers, bytes]:
    """Returns the answer of the web server's application."""
    answers: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:  # Any: WSGI's own
        answers.append((status, headers))

    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "CONTENT_LENGTH": str(len(body)) if body else "",
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        **more,
    }
    content: Iterable[bytes] = wsgi.application(environ, start_response)
    ((status, headers),) = answers
    return int(status.split()[0]), dict(headers), b"".join(content)


def count_requests(kind: str, status: str) -> float:
    labels = {"kind": kind, "status": status}
    return REGISTRY.get_sample_value("fieldflame_request_seconds_count", labels) or 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "method", "kind", "status"),
    [
        ("/healthz", "GET", "monitor", 200),
        ("/ingest/v1/traces", "POST", "ingest", 401),
        ("/ingest/v1/absent", "OPTIONS", "absent", 204),
        ("/ingest/v1/loads", "OPTIONS", "loads", 204),
        ("/ingest/v1/reports", "OPTIONS", "reports", 204),
        ("/api/v1/projects/none/status", "GET", "api", 401),
        ("/", "GET", "page", 302),
        ("/no-such-page/a-stranger-chose", "GET", "page", 404),
    ],
)
def test_each_request_is_counted_by_what_it_asks_for(path: str, method: str, kind: str, status: int) -> None:
    group = f"{status // 100}xx"
    before = count_requests(kind, group)
    assert ask(path, method=method)[0] == status
    assert count_requests(kind, group) == before + 1


def test_an_application_that_fails_counts_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(wsgi, "_django", fail)
    before = count_requests("page", "5xx")
    with pytest.raises(RuntimeError):
        wsgi.application({"PATH_INFO": "/"}, lambda *_: None)
    assert count_requests("page", "5xx") == before + 1


def test_kinds_are_a_closed_set() -> None:
    assert {find_kind(f"/{word}") for word in ("", "projects/shop/", "ingestion", "..", "é")} == {"page"}
    assert {find_kind(start) for start, _ in KINDS} == {kind for _, kind in KINDS}


@pytest.mark.django_db
def test_an_error_says_its_request_and_other_answers_do_not(settings: Settings) -> None:
    assert ID_HEADER not in ask("/healthz")[1]
    request_id = ask("/nothing-here", HTTP_X_REQUEST_ID="0123456789abcdef")[1][ID_HEADER]
    assert len(request_id) == 16
    assert request_id != "0123456789abcdef"  # without a proxy, a stranger chose it
    settings.BEHIND_PROXY = True
    assert ask("/nothing-here", HTTP_X_REQUEST_ID="0123456789abcdef")[1][ID_HEADER] == "0123456789abcdef"
    assert ask("/nothing-here", HTTP_X_REQUEST_ID="a\nb" * 5)[1][ID_HEADER] != "a\nb" * 5
