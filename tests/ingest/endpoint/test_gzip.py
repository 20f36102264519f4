"""Gzip bodies: by header and by magic, of several members, damaged, and meant to harm."""

import gzip
import json
import threading
import tracemalloc
import zlib

import pytest
from pytest_django import Settings

from ingest.endpoint.requests import MAX_MEMBERS, BodyTooLarge, TryLater, expand, expanded
from profcore.errors import Reason, TraceError
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer, ndjson

MIB = 2**20


def test_gzip_is_known_by_its_header(endpoint: IngestServer) -> None:
    answer = endpoint.post(gzip.compress(ndjson(make_envelope("a"))), content_encoding="gzip")
    assert answer.json == {"accepted": 1, "rejected": []}


@pytest.mark.parametrize("content_type", ["text/plain", "application/gzip", "application/x-gzip", ""])
def test_gzip_is_known_by_its_magic_bytes(endpoint: IngestServer, content_type: str) -> None:
    answer = endpoint.post(gzip.compress(ndjson(make_envelope("a"))), content_type=content_type)
    assert answer.json == {"accepted": 1, "rejected": []}


def test_gzip_of_several_members_is_one_body(endpoint: IngestServer) -> None:
    body = ndjson(make_envelope("a"), make_envelope("b"))
    sent = b"".join(gzip.compress(body[start : start + 200]) for start in range(0, len(body), 200))
    assert endpoint.post(sent, content_type="application/x-ndjson").json == {"accepted": 2, "rejected": []}


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_chunk_of_a_view_per_line_and_member_is_a_batch(endpoint: IngestServer, end: bytes) -> None:
    chunks = [make_envelope("a", seq=seq, navigation="route") for seq in range(3)]
    lines = [json.dumps(chunk).encode() + (b"\n" if chunk is not chunks[-1] else end) for chunk in chunks]
    answer = endpoint.post(b"".join(map(gzip.compress, lines)), content_type="text/plain;charset=UTF-8")
    assert (answer.status, answer.json) == (202, {"accepted": 3, "rejected": []})
    assert [seq for _, seq in endpoint.receipts()] == [0, 1, 2]
    assert [json.loads(body)["seq"] for body in endpoint.bodies()] == [0, 1, 2]


def test_a_single_envelope_is_stored_as_the_gzip_that_came(endpoint: IngestServer) -> None:
    sent = gzip.compress(ndjson(make_envelope("a")), mtime=12345)
    endpoint.post(sent)
    stored = endpoint.rows("SELECT is_gzip, body FROM ingest_rawtrace WHERE project_id = %(project)s")
    assert [(is_gzip, bytes(body)) for is_gzip, body in stored] == [(True, sent)]
    assert endpoint.receipts("body_bytes") == [(len(gzip.decompress(sent)),)]


def test_a_header_that_promises_gzip_must_be_kept(endpoint: IngestServer) -> None:
    answer = endpoint.post(ndjson(make_envelope("a")), content_encoding="gzip")
    assert (answer.status, answer.reason) == (400, "invalid_gzip")


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip, gzip", "zstd"])
def test_other_codings_are_not_taken(endpoint: IngestServer, coding: str) -> None:
    answer = endpoint.post(gzip.compress(b"{}"), content_encoding=coding)
    assert (answer.status, answer.reason) == (415, "unsupported_media")


def test_truncated_gzip_is_refused_wherever_it_ends(endpoint: IngestServer) -> None:
    sent = gzip.compress(ndjson(make_envelope("a")))
    for end in (2, 9, 10, 15, len(sent) // 2, len(sent) - 8, len(sent) - 1):
        answer = endpoint.post(sent[:end])
        assert (answer.status, answer.reason) == (400, "invalid_gzip"), end


@pytest.mark.parametrize("position", [3, 30, -6, -2])
def test_damaged_gzip_is_refused(endpoint: IngestServer, position: int) -> None:
    sent = bytearray(gzip.compress(ndjson(make_envelope("a"))))
    sent[position] ^= 0xFF
    answer = endpoint.post(bytes(sent))
    assert (answer.status, answer.reason) == (400, "invalid_gzip")


def test_what_follows_the_last_member_must_be_gzip(endpoint: IngestServer) -> None:
    answer = endpoint.post(gzip.compress(ndjson(make_envelope("a"))) + b"{}")
    assert (answer.status, answer.reason) == (400, "invalid_gzip")


def test_an_empty_gzip_is_an_empty_body(endpoint: IngestServer) -> None:
    assert endpoint.post(gzip.compress(b"")).reason == "empty_body"


@pytest.mark.slow(4)
def test_a_bomb_is_refused_at_the_bound_and_takes_no_memory_beyond_it(endpoint: IngestServer) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(b" " * MIB) for _ in range(400)) + packer.flush()
    tracemalloc.start()
    answer = endpoint.post(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (answer.status, answer.reason) == (413, "too_large")
    assert peak < 120 * MIB  # twice the bound: the parts, and the whole made of them


def test_a_bomb_of_many_members_is_refused_at_the_same_bound() -> None:
    member = gzip.compress(b" " * MIB)
    with pytest.raises(BodyTooLarge):
        expand(member * 11, max_bytes=10 * MIB)
    assert len(expand(member * 10, max_bytes=10 * MIB)) == 10 * MIB


def test_a_body_of_countless_empty_members_is_refused_soon() -> None:
    with pytest.raises(TraceError) as caught:
        expand(gzip.compress(b"") * (MAX_MEMBERS + 1), max_bytes=MIB)
    assert caught.value.reason is Reason.INVALID_GZIP


def test_large_bodies_are_taken_one_at_a_time_and_few_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.endpoint.requests._large_queue", threading.BoundedSemaphore(1))
    sent = gzip.compress(b" " * 2000)
    with expanded(sent, large_bytes=1000, max_bytes=5000) as body:
        assert len(body) == 2000
        with pytest.raises(TryLater) as caught, expanded(sent, large_bytes=1000, max_bytes=5000):
            pass
        with expanded(b"small", large_bytes=1000, max_bytes=5000) as small:
            assert small == b"small"
    assert caught.value.reason is Reason.UNAVAILABLE
    with expanded(sent, large_bytes=1000, max_bytes=5000) as body:
        assert len(body) == 2000


def test_a_large_body_that_was_refused_gives_its_turn_back(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_LARGE_BODY_BYTES = 10
    for _ in range(20):
        assert endpoint.post(b"[" * 1000).status == 400
    assert endpoint.post(make_envelope("a")).status == 202
