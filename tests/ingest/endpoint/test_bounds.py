"""Bounds of a body: what was declared, what came, how many envelopes."""

import io
import json
import tracemalloc
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import UnreadablePostError
from django.test import RequestFactory
from pytest_django import Settings

from ingest.endpoint.requests import CHUNK_BYTES, BodyTooLarge, read_bounded
from profcore.errors import Reason, TraceError
from tests.envelopes import make_envelope, view_id_of
from tests.ingest.endpoint.posting import ENDPOINT, IngestServer, ndjson
from tests.runner.endpoint_middleware import receive_traces


class CountingStream(io.BytesIO):
    """A stream that knows how much was read of it."""

    def read(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert 0 < size <= CHUNK_BYTES
        return super().read(size)


class Unread(io.BytesIO):
    """A stream that nobody may read."""

    def read(self, size: int | None = -1, /) -> bytes:
        pytest.fail("The body was read.")


class Endless(io.RawIOBase):
    """A stream without an end."""

    given = 0

    def read(self, size: int = -1, /) -> bytes:
        self.given += size
        return b" " * size


def test_a_declared_length_above_the_bound_is_refused_unread(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_BODY_BYTES = 1000
    request = RequestFactory().post(
        f"{ENDPOINT}?key={endpoint.key}", b"x", content_type="text/plain", headers={"content-length": "1001"}
    )
    answer = receive_traces(WSGIRequest({**request.environ, "wsgi.input": Unread()}))
    assert answer.status_code == 413
    assert json.loads(answer.content)["reason"] == "too_large"


def test_a_body_at_the_bound_is_taken(endpoint: IngestServer, settings: Settings) -> None:
    body = ndjson(make_envelope("a"))
    settings.INGEST_MAX_BODY_BYTES = len(body)
    assert endpoint.post(body).status == 202
    answer = endpoint.post(body + b" ")
    assert (answer.status, answer.reason) == (413, "too_large")


def test_without_a_length_no_more_than_the_bound_is_read() -> None:
    stream = Endless()
    with pytest.raises(BodyTooLarge):
        read_bounded(stream, declared=None, max_bytes=1_000_000)
    assert stream.given <= 1_000_000 + CHUNK_BYTES


def test_of_a_length_that_lies_below_the_truth_no_more_is_read() -> None:
    stream = Endless()
    assert read_bounded(stream, declared=10, max_bytes=1_000_000) == b" " * 10
    assert stream.given == 10


@pytest.mark.parametrize("length", ["²", "9" * 5000, "-1", "1e3"])
def test_a_length_that_is_no_number_is_as_good_as_none(endpoint: IngestServer, length: str) -> None:
    request = RequestFactory().post(
        f"{ENDPOINT}?key={endpoint.key}", b"{}", content_type="text/plain", headers={"content-length": length}
    )
    assert receive_traces(request).status_code in (400, 413)


def make_chunked(endpoint: IngestServer, stream: Any) -> WSGIRequest:  # Any: whatever has read()
    request = RequestFactory().post(f"{ENDPOINT}?key={endpoint.key}", b"", content_type="text/plain")
    environ = {**request.environ, "wsgi.input": stream, "wsgi.input_terminated": True}
    return WSGIRequest(environ)


def test_a_chunked_body_is_read_to_its_end(endpoint: IngestServer) -> None:
    answer = receive_traces(make_chunked(endpoint, CountingStream(ndjson(make_envelope("a")))))
    assert json.loads(answer.content) == {"accepted": 1, "rejected": []}


def test_a_chunked_body_without_an_end_is_refused(endpoint: IngestServer) -> None:
    assert receive_traces(make_chunked(endpoint, Endless())).status_code == 413


def test_a_sender_that_goes_away_is_no_fault_of_the_endpoint(endpoint: IngestServer) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            raise UnreadablePostError("reset")

    with pytest.raises(TraceError) as caught:
        read_bounded(Broken(), declared=10, max_bytes=100)
    assert caught.value.reason is Reason.EMPTY_BODY
    assert receive_traces(make_chunked(endpoint, Broken())).status_code == 400


@pytest.mark.parametrize("shape", ["array", "ndjson"])
def test_a_hundred_envelopes_are_taken_and_one_more_is_not(endpoint: IngestServer, shape: str) -> None:
    envelopes = [make_envelope("a", seq=seq) for seq in range(101)]
    encode = ndjson if shape == "ndjson" else lambda *values: json.dumps(values).encode()
    answer = endpoint.post(encode(*envelopes))
    assert (answer.status, answer.reason) == (413, "too_many_envelopes")
    assert endpoint.receipts() == []
    assert endpoint.post(encode(*envelopes[:100])).json == {"accepted": 100, "rejected": []}
    assert endpoint.receipts("seq") == [(seq,) for seq in range(100)]


@pytest.mark.parametrize("body", [b"[" + b"0," * 5_000_000 + b"0]", b"0\n" * 5_000_000, b"\n" * 10_000_000 + b"0"])
def test_a_body_of_millions_of_values_takes_no_memory_for_each(
    endpoint: IngestServer, settings: Settings, body: bytes
) -> None:
    settings.INGEST_MAX_BODY_BYTES = len(body)
    tracemalloc.start()
    answer = endpoint.post(body, content_type="application/x-ndjson")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.status in (202, 413)
    assert endpoint.receipts() == []
    assert peak < 5 * len(body)


def test_a_bad_envelope_does_not_harm_its_neighbours(endpoint: IngestServer) -> None:
    bad = make_envelope("bad", traceId="0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11", seq=-1)
    answer = endpoint.post([make_envelope("a"), bad, 7, make_envelope("b")])
    assert answer.status == 202
    assert answer.json["accepted"] == 2
    assert [(r["index"], r["traceId"], r["reason"], r["path"]) for r in answer.json["rejected"]] == [
        (1, "0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11", "out_of_range", "$.seq"),
        (2, None, "wrong_type", "$"),
    ]
    assert all(r["detail"] for r in answer.json["rejected"])
    assert [view for view, _ in endpoint.receipts()] == sorted([view_id_of("a"), view_id_of("b")])
    assert endpoint.refusals() == {"out_of_range": 1, "wrong_type": 1}
