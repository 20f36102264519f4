"""What browsers need: preflights answered, beacons without one, and CORS headers on every answer, errors too."""

import gzip
import io

import pytest
from django.db import OperationalError
from pytest_django import Settings

from ingest.endpoint import responses
from ingest.endpoint.requests import read_request
from ingest.endpoint.views import find_endpoint
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestResponse, IngestServer, ndjson

SHOP = "https://shop.example"


def assert_any_origin_may_read(answer: IngestResponse) -> None:
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_a_preflight_allows_what_the_snippet_sends(endpoint: IngestServer) -> None:
    answer = endpoint.ask(
        "OPTIONS",
        origin=SHOP,
        access_control_request_method="POST",
        access_control_request_headers="content-type,content-encoding",
    )
    assert answer.status == 204
    assert answer.content == b""
    assert_any_origin_may_read(answer)
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    allowed = {name.strip() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
    assert allowed >= {"content-type", "content-encoding"}
    assert int(answer.headers["Access-Control-Max-Age"]) > 0


TRACING_HEADERS = [
    "traceparent",
    "baggage,sentry-trace",
    "tracestate, traceparent,x-datadog-trace-id",
    "x-b3-traceid ,\tx_odd.name",
    "*",
    ",".join(f"x-{n}" for n in range(300)),
]
NO_LISTS = ["", ",", "a b", "a,,b", "a,", "a;b", "é", "a\r\nset-cookie: b", "a" * 2_001, "a," * 5_000, "(a)"]


@pytest.mark.parametrize("path", ["/ingest/v1/traces", "/ingest/v1/loads", "/ingest/v1/traces/", "//ingest/v1/absent"])
@pytest.mark.parametrize("wanted", TRACING_HEADERS)
def test_a_preflight_allows_the_headers_that_other_scripts_of_the_page_add(path: str, wanted: str) -> None:
    answer = answer_preflight_of(path, wanted)
    assert answer.status == 204
    assert dict(answer.headers)["Access-Control-Allow-Headers"] == wanted
    assert dict(answer.headers)["Vary"] == "Access-Control-Request-Headers"


@pytest.mark.parametrize("path", ["/ingest/v1/traces", "/ingest/v1/absent", "/ingest/v1/reports"])
@pytest.mark.parametrize("wanted", NO_LISTS)
def test_what_is_no_list_of_headers_is_not_repeated(path: str, wanted: str) -> None:
    headers = dict(answer_preflight_of(path, wanted).headers)
    assert headers["Access-Control-Allow-Headers"] == "content-type, content-encoding"
    assert headers["Vary"] == "Access-Control-Request-Headers"


def answer_preflight_of(path: str, wanted: str) -> responses.IngestResponse:
    view = find_endpoint(path)
    assert view is not None
    environ = {
        "REQUEST_METHOD": "OPTIONS",
        "PATH_INFO": path,
        "HTTP_ORIGIN": SHOP,
        "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "POST",
        "HTTP_ACCESS_CONTROL_REQUEST_HEADERS": wanted,
        "wsgi.input": io.BytesIO(),
    }
    return view(read_request(environ))


def test_a_preflight_needs_no_key_and_no_database() -> None:
    assert IngestServer(0, "").ask("OPTIONS", origin=SHOP).status == 204


@pytest.mark.parametrize("content_type", ["text/plain", "text/plain;charset=UTF-8", "TEXT/PLAIN"])
def test_a_beacon_is_taken_without_a_preflight(endpoint: IngestServer, content_type: str) -> None:
    answer = endpoint.post(make_envelope("a"), content_type=content_type, origin=SHOP)
    assert answer.status == 202
    assert_any_origin_may_read(answer)


def test_a_gzipped_beacon_is_taken_without_a_preflight(endpoint: IngestServer) -> None:
    """`Content-Encoding` would need one: the magic bytes do not."""
    answer = endpoint.post(gzip.compress(ndjson(make_envelope("a"))), content_type="text/plain", origin=SHOP)
    assert answer.status == 202


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE", "MERGE"])
def test_other_methods_are_told_which_there_are(endpoint: IngestServer, method: str) -> None:
    answer = endpoint.ask(method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "POST, OPTIONS"
    assert_any_origin_may_read(answer)


def test_answers_are_json_that_nobody_stores(endpoint: IngestServer) -> None:
    for answer in (endpoint.post(make_envelope("a")), endpoint.post(b"{")):
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"


def assert_explained(answer: IngestResponse, status: int, reason: str) -> None:
    assert (answer.status, answer.reason) == (status, reason)
    assert set(answer.json) - {"stop"} == {"reason", "path", "detail"}
    assert answer.json["path"].startswith("$")
    assert answer.json["detail"].endswith(".")
    assert_any_origin_may_read(answer)
    if status in (429, 503):
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.headers["Access-Control-Expose-Headers"] == "Retry-After"
    else:
        assert "Retry-After" not in answer.headers


def test_any_origin_may_read_a_400(endpoint: IngestServer) -> None:
    assert_explained(endpoint.post(b"{", origin=SHOP), 400, "invalid_json")


def test_any_origin_may_read_a_401(endpoint: IngestServer) -> None:
    assert_explained(endpoint.post(make_envelope(), key="nobody", origin=SHOP), 401, "unknown_key")


def test_any_origin_may_read_a_403(endpoint: IngestServer) -> None:
    endpoint.rows("UPDATE projects_ingestkey SET origins = '{https://other.example}' RETURNING 1")
    assert_explained(endpoint.post(make_envelope(), origin=SHOP), 403, "origin_not_allowed")


def test_any_origin_may_read_a_413(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_BODY_BYTES = 10
    assert_explained(endpoint.post(make_envelope(), origin=SHOP), 413, "too_large")


def test_any_origin_may_read_a_415(endpoint: IngestServer) -> None:
    answer = endpoint.post(make_envelope(), content_type="application/x-www-form-urlencoded", origin=SHOP)
    assert_explained(answer, 415, "unsupported_media")


def test_any_origin_may_read_a_429(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_PENDING = 0
    assert_explained(endpoint.post(make_envelope(), origin=SHOP), 429, "too_many_pending")


def test_any_origin_may_read_a_503(endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("ingest.endpoint.posts.store_arrivals", fail)
    assert_explained(endpoint.post(make_envelope(), origin=SHOP), 503, "unavailable")
