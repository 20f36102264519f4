"""The web server's way to the endpoint: an answer to every kind of request of docs/ingest.md."""

import gzip
import io
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from pytest_django import Settings

from ingest.endpoint import views
from ingest.endpoint.requests import IngestRequest
from ingest.endpoint.responses import IngestResponse
from ingest.endpoint.slow_bodies import BodyLimits, SlowPlaces, TimedBody
from ingest.endpoint.views import answer_environ, find_endpoint
from projects.models import IngestKey, Project
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer, ndjson

TRACES, ABSENT = "/ingest/v1/traces", "/ingest/v1/absent"
KEY = "key=shop-key"
ENVELOPE = json.dumps(make_envelope("a")).encode()
PACKED = gzip.compress(ENVELOPE, mtime=0)
REPORT = json.dumps({"reason": "no-api", "page": "/cart"}).encode()
LIMIT_S = 120.0  # the machine may be busy
NO_TYPE: dict[str, str] = {"CONTENT_TYPE": ""}
# name: method, path, query, body, further variables
REQUESTS: dict[str, tuple[str, str, str, bytes, dict[str, str]]] = {
    "one": ("POST", TRACES, KEY, ENVELOPE, {}),
    "pretty": ("POST", TRACES, KEY, json.dumps(make_envelope("a"), indent=1).encode(), {}),
    "array": ("POST", TRACES, KEY, json.dumps([make_envelope("a"), {}, 7]).encode(), {}),
    "empty-array": ("POST", TRACES, KEY, b"[]", {}),
    "ndjson-by-type": ("POST", TRACES, KEY, ENVELOPE, {"CONTENT_TYPE": "application/x-ndjson"}),
    "ndjson-by-shape": ("POST", TRACES, KEY, ndjson(make_envelope("a"), make_envelope("b")), {}),
    "gzip": ("POST", TRACES, KEY, PACKED, {}),
    "gzip-by-coding": ("POST", TRACES, KEY, PACKED, {"HTTP_CONTENT_ENCODING": " GZip "}),
    "no-type": ("POST", TRACES, KEY, ENVELOPE, NO_TYPE),
    "type-with-charset": ("POST", TRACES, KEY, ENVELOPE, {"CONTENT_TYPE": "Text/Plain; charset=utf-16"}),
    "origin": ("POST", TRACES, KEY, ENVELOPE, {"HTTP_ORIGIN": "https://shop.example"}),
    "last-of-two-keys": ("POST", TRACES, f"key=other&{KEY}", ENVELOPE, {}),
    "preflight": ("OPTIONS", TRACES, KEY, b"", {"HTTP_ORIGIN": "https://shop.example"}),
    "get": ("GET", TRACES, KEY, b"", {}),
    "put": ("PUT", TRACES, KEY, ENVELOPE, {}),
    "empty": ("POST", TRACES, KEY, b"", {}),
    "white": ("POST", TRACES, KEY, b" \n ", {}),
    "cut-off": ("POST", TRACES, KEY, ENVELOPE[:50], {}),
    "no-utf8": ("POST", TRACES, KEY, ENVELOPE.replace(b'"viewId"', b'"view\xffId"'), {}),
    "damaged-gzip": ("POST", TRACES, KEY, PACKED[:40], {}),
    "no-gzip": ("POST", TRACES, KEY, ENVELOPE, {"HTTP_CONTENT_ENCODING": "gzip"}),
    "nested": ("POST", TRACES, KEY, b"[" * 100_000, {}),
    "missing-field": ("POST", TRACES, KEY, b"{}", {}),
    "wrong-type": ("POST", TRACES, KEY, json.dumps(make_envelope("a", seq="x")).encode(), {}),
    "out-of-range": ("POST", TRACES, KEY, json.dumps(make_envelope("a", seq=-1)).encode(), {}),
    "no-key": ("POST", TRACES, "", ENVELOPE, {}),
    "unknown-key": ("POST", TRACES, "key=nobody", ENVELOPE, {}),
    "too-many-fields": ("POST", TRACES, "a=1&" * 30 + KEY, ENVELOPE, {}),
    "another-media-type": ("POST", TRACES, KEY, ENVELOPE, {"CONTENT_TYPE": "text/html"}),
    "another-coding": ("POST", TRACES, KEY, ENVELOPE, {"HTTP_CONTENT_ENCODING": "br"}),
    "too-large": ("POST", TRACES, KEY, b" " * 60_000, {}),
    "too-large-expanded": ("POST", TRACES, KEY, gzip.compress(b" " * 200_000), {}),
    "too-many": ("POST", TRACES, KEY, b"[1,2,3,4,5,6]", {}),
    "absence": ("POST", ABSENT, KEY, REPORT, {"CONTENT_TYPE": "text/plain"}),
    "absence-by-image": ("GET", ABSENT, f"{KEY}&reason=no-api&page=/cart", b"", {}),
    "absence-without-a-reason": ("POST", ABSENT, KEY, b"{}", {}),
    "absence-that-is-large": ("POST", ABSENT, KEY, b" " * 5_000, {}),
    "absence-preflight": ("OPTIONS", ABSENT, KEY, b"", {}),
    "absence-by-another-method": ("DELETE", ABSENT, KEY, b"", {}),
    "absence-of-nobody": ("POST", ABSENT, "", REPORT, {}),
    "traces-with-a-slash": ("POST", f"{TRACES}/", KEY, ENVELOPE, {}),
    "traces-with-two-first-slashes": ("POST", f"/{TRACES}", KEY, ENVELOPE, {}),
    "get-with-a-slash": ("GET", f"{TRACES}/", KEY, b"", {}),
    "absence-with-slashes": ("POST", f"/{ABSENT}//", KEY, REPORT, {"CONTENT_TYPE": "text/plain"}),
    "preflight-with-a-slash": ("OPTIONS", f"{TRACES}/", KEY, b"", {}),
    "unknown": ("POST", "/ingest/v1/trace", KEY, ENVELOPE, {}),
    "unknown-preflight": ("OPTIONS", "/ingest/v1/trace", KEY, b"", {}),
    "the-folder": ("GET", "/ingest/", KEY, b"", {}),
}
ServerAnswer = tuple[int, dict[str, str], bytes]


def ask_server(method: str, path: str, query: str, body: bytes, more: dict[str, str]) -> ServerAnswer:
    """Asks as the web server does."""
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        **more,
    }
    view = find_endpoint(path)
    assert view is not None
    content = b"".join(answer_environ(view, environ, lambda status, headers: begun.append((status, headers))))
    ((status, headers),) = begun
    assert len(headers) == len(dict(headers))
    return int(status.split()[0]), dict(headers), content


@pytest.fixture
def _small_limits(endpoint: IngestServer, settings: Settings) -> None:
    """A project's endpoint that takes little."""
    settings.INGEST_MAX_BODY_BYTES = 50_000
    settings.INGEST_MAX_EXPANDED_BYTES = 100_000
    settings.INGEST_MAX_ENVELOPES = 5


@pytest.mark.usefixtures("_small_limits")
@pytest.mark.parametrize("name", REQUESTS)
def test_every_answer_can_be_read_by_any_page(name: str) -> None:
    status, headers, content = ask_server(*REQUESTS[name])
    assert status != 500
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert (headers.get("Content-Type") == "application/json") is bool(content)


@pytest.mark.usefixtures("_small_limits")
def test_the_table_has_every_status_of_a_request_that_the_endpoint_understands() -> None:
    statuses = {ask_server(*request)[0] for request in REQUESTS.values()}
    assert statuses == {202, 204, 400, 401, 404, 405, 413, 415}


@pytest.mark.usefixtures("endpoint")
@pytest.mark.parametrize("start", ["", "/", "//"])
@pytest.mark.parametrize("end", ["", "/", "//"])
def test_slashes_at_the_start_and_the_end_change_nothing(start: str, end: str) -> None:
    envelope = json.dumps(make_envelope()).encode()
    assert ask_server("POST", f"{start}{TRACES}{end}", KEY, envelope, {})[::2] == (202, b'{"accepted":1,"rejected":[]}')
    assert ask_server("POST", f"{start}{ABSENT}{end}", KEY, REPORT, {"CONTENT_TYPE": "text/plain"})[0] == 204


@pytest.mark.parametrize("path", ["/", "/ingest", "/projects/ingest/", "/ingestion/v1/traces", "/snippet.js"])
def test_other_addresses_are_not_the_endpoints(path: str) -> None:
    assert find_endpoint(path) is None


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (403, lambda: IngestKey.objects.update(origins=["https://blog.example"])),
        (403, lambda: Project.objects.update(archived_at="2026-01-01T00:00:00Z")),
        (202, lambda: Project.objects.update(collection_off=True)),
        (429, lambda: None),
    ],
    ids=["origin", "archived", "off", "pending"],
)
@pytest.mark.usefixtures("endpoint")
def test_a_project_that_takes_no_more_answers_by_the_contract(
    settings: Settings, status: int, change: Callable[[], object]
) -> None:
    change()
    if status == 429:
        settings.INGEST_MAX_PENDING = 0
    more = {"HTTP_ORIGIN": "https://shop.example"}
    assert ask_server("POST", TRACES, KEY, ENVELOPE, more)[0] == status


@pytest.mark.usefixtures("endpoint")
def test_without_a_database_the_sender_is_told_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("ingest.endpoint.posts.store_arrivals", fail)
    status, headers, _ = ask_server("POST", TRACES, KEY, ENVELOPE, {})
    assert (status, headers["Retry-After"]) == (503, "10")


@pytest.mark.django_db
def test_a_fault_of_ours_is_logged_and_answered_as_the_contract_says(caplog: pytest.LogCaptureFixture) -> None:
    def fail(post: IngestRequest) -> IngestResponse:
        raise RuntimeError("a fault of ours")

    answers: list[tuple[str, dict[str, str]]] = []
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": TRACES, "CONTENT_LENGTH": "0", "wsgi.input": io.BytesIO()}
    content = answer_environ(fail, environ, lambda status, headers: answers.append((status, dict(headers))))
    ((status, headers),) = answers
    assert status == "500 Internal Server Error"
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert json.loads(b"".join(content))["reason"] == "internal_error"
    assert "a fault of ours" in caplog.text


def test_a_request_leaves_no_connection_with_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[None] = []
    monkeypatch.setattr(views, "release_connection", lambda: released.append(None))
    ask_server("OPTIONS", TRACES, KEY, b"", {})
    assert released == [None]


@pytest.mark.django_db
def test_a_body_that_comes_too_slowly_ends_the_connection(endpoint: IngestServer) -> None:
    released = threading.Event()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert released.wait(LIMIT_S)
            return b""

    body = TimedBody(
        Slow(), BodyLimits(wait_s=0.01, bytes_per_s=1, quick_s=0.01), SlowPlaces(all_places=1, places_of_address=1), "a"
    )
    try:
        status, headers, content = ask_server("POST", TRACES, KEY, ENVELOPE, {"wsgi.input": body})  # type: ignore[dict-item]
    finally:
        released.set()
    assert (status, json.loads(content)["reason"], headers["Connection"]) == (408, "too_slow", "close")
    assert headers["Content-Length"] == str(len(content) + 1)
