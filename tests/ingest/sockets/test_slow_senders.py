"""Connections that send nothing, and bodies that come slowly, keep nobody else from posting. Real sockets."""

import http.client
import json
import time
from pathlib import Path

import pytest

from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import ENDPOINT, IngestServer
from tests.ingest.sockets.serving import make_head, read_to_end, run_web_server

pytestmark = pytest.mark.slow(40)
# One process of eight threads, four of which may wait for slow bodies.
SMALL = {"FIELDFLAME_WEB_PROCESSES": "1", "FIELDFLAME_WEB_THREADS": "8", "FIELDFLAME_BODY_WAIT_S": "2"}


def test_eleven_hundred_silent_connections_leave_room_for_a_post(open_endpoint: IngestServer, tmp_path: Path) -> None:
    with run_web_server(tmp_path) as server, server.hold(1_100):
        assert [server.post(open_endpoint.key, name) for name in "abc"] == [202, 202, 202]


@pytest.mark.parametrize("head", [b"", b"POST /ingest/v1/traces HTTP/1.1\r\nHost: a"], ids=["silent", "half a header"])
def test_a_connection_without_a_request_ends_and_makes_room(
    open_endpoint: IngestServer, tmp_path: Path, head: bytes
) -> None:
    small = {**SMALL, "FIELDFLAME_WEB_CONNECTIONS": "40", "FIELDFLAME_WEB_HEADER_WAIT_MS": "2000"}
    with run_web_server(tmp_path, **small) as server, server.hold(60, head) as held:
        assert server.post(open_endpoint.key, "a") == 202
        assert all(read_to_end(one) == b"" for one in held)


def test_a_hundred_and_forty_slow_bodies_leave_threads_for_a_post(open_endpoint: IngestServer, tmp_path: Path) -> None:
    head = make_head(f"{ENDPOINT}?key={open_endpoint.key}") + b"{"
    with run_web_server(tmp_path) as server, server.hold(140, head):
        assert [server.post(open_endpoint.key, name) for name in "abc"] == [202, 202, 202]


def test_each_slow_body_is_answered_its_connection_ends_and_it_is_counted(
    open_endpoint: IngestServer, tmp_path: Path
) -> None:
    head = make_head(f"{ENDPOINT}?key={open_endpoint.key}") + b"{"
    with run_web_server(tmp_path, **SMALL) as server:
        for _ in range(3):  # more than there are threads: none is left behind
            with server.hold(10, head) as held:
                said = [read_to_end(one, drip=b" ") for one in held]
                statuses = [answer.split(b" ", 2)[1] for answer in said if answer]
                assert set(statuses) <= {b"408", b"503"}
            assert server.post(open_endpoint.key, "a") == 202
        with server.hold(1, head) as [one]:
            answer = read_to_end(one)
    assert b"access-control-allow-origin: *" in answer
    assert b'"reason":"too_slow"' in answer
    refused = open_endpoint.refusals()
    assert set(refused) == {"too_slow", "unavailable"}
    assert sum(refused.values()) == 31


def test_a_refusal_waits_for_a_short_body_and_keeps_the_connection(open_endpoint: IngestServer, tmp_path: Path) -> None:
    """Else the sender writes into a closed connection, and may never read why it was refused, or when to try again."""
    body = json.dumps(make_envelope("a")).encode()
    with run_web_server(tmp_path, **SMALL) as server, server.connect() as sender:
        for _ in range(2):
            sender.sendall(make_head(f"{ENDPOINT}?key=nobody", len(body)))
            time.sleep(0.3)  # the answer has come by now, if it does not wait
            sender.sendall(body)
            answer = sender.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 401"), answer
            assert b'"reason":"unknown_key"' in answer


def test_a_slow_body_for_a_page_ends_too(open_endpoint: IngestServer, tmp_path: Path) -> None:
    head = make_head("/login/", media="application/x-www-form-urlencoded") + b"csrf"
    with run_web_server(tmp_path, **SMALL) as server, server.hold(10, head) as held:
        assert server.post(open_endpoint.key, "a") == 202
        assert {answer.split(b" ", 2)[1] for one in held if (answer := read_to_end(one))} <= {b"408", b"503"}


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_that_comes_slowly_enough_for_its_limits_is_taken(
    open_endpoint: IngestServer, tmp_path: Path, is_chunked: bool
) -> None:
    body = json.dumps(make_envelope("a")).encode()
    head = make_head(f"{ENDPOINT}?key={open_endpoint.key}", len(body))
    if is_chunked:
        head = head.replace(b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked")
    with run_web_server(tmp_path, **{**SMALL, "FIELDFLAME_BODY_WAIT_S": "120"}) as server:
        with server.connect() as sender:
            sender.sendall(head)
            for piece in (body[:10], body[10:]):
                time.sleep(0.7)  # slow: it takes a place
                sender.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece)
            sender.sendall(b"0\r\n\r\n" if is_chunked else b"")
            assert sender.recv(12) == b"HTTP/1.1 202"
        assert len(open_endpoint.receipts()) == 1


def test_a_connection_is_kept_for_the_next_post_after_a_body_that_came_in_time(
    open_endpoint: IngestServer, tmp_path: Path
) -> None:
    with run_web_server(tmp_path, **SMALL) as server, server.connect() as sender:
        for name in "ab":
            body = json.dumps(make_envelope(name)).encode()
            sender.sendall(make_head(f"{ENDPOINT}?key={open_endpoint.key}", len(body)) + body)
            with http.client.HTTPResponse(sender) as answer:
                answer.begin()
                assert (answer.status, json.load(answer)["accepted"]) == (202, 1)


def test_only_one_version_of_http_is_spoken(open_endpoint: IngestServer, tmp_path: Path) -> None:
    """A connection of HTTP/2 could hold all threads, and is not timed before its first byte."""
    with run_web_server(tmp_path, **SMALL) as server, server.connect() as sender:
        sender.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert not read_to_end(sender).startswith(b"\x00")
