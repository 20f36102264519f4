"""The shapes of a body: one envelope, an array, NDJSON; by content type and by shape."""

import gzip
import json
from typing import Any

import pytest

from tests.envelopes import make_envelope, view_id_of
from tests.ingest.endpoint.posting import IngestServer, ndjson

VIEWS = sorted(view_id_of(word) for word in ("a", "b"))
ACCEPTED_ONE = {"accepted": 1, "rejected": []}
ACCEPTED_TWO = {"accepted": 2, "rejected": []}


def two() -> list[dict[str, Any]]:
    return [make_envelope("a"), make_envelope("b")]


def stored_views(endpoint: IngestServer) -> list[str]:
    return [view_id for view_id, _ in endpoint.receipts()]


def test_one_envelope_is_taken(endpoint: IngestServer) -> None:
    answer = endpoint.post(make_envelope("a"))
    assert (answer.status, answer.json) == (202, ACCEPTED_ONE)
    assert stored_views(endpoint) == [view_id_of("a")]


def test_one_envelope_over_many_lines_is_taken(endpoint: IngestServer) -> None:
    answer = endpoint.post(json.dumps(make_envelope("a"), indent=2).encode())
    assert (answer.status, answer.json) == (202, ACCEPTED_ONE)


def test_one_envelope_with_white_space_around_it_is_taken(endpoint: IngestServer) -> None:
    answer = endpoint.post(b"\r\n" + b" " * 100 + json.dumps(make_envelope("a")).encode() + b"\n\n")
    assert (answer.status, answer.json) == (202, ACCEPTED_ONE)


def test_an_array_is_taken(endpoint: IngestServer) -> None:
    answer = endpoint.post(two())
    assert (answer.status, answer.json) == (202, ACCEPTED_TWO)
    assert stored_views(endpoint) == VIEWS


def test_an_array_over_many_lines_is_taken_whatever_its_type_says(endpoint: IngestServer) -> None:
    answer = endpoint.post(json.dumps(two(), indent=2).encode(), content_type="application/x-ndjson")
    assert (answer.status, answer.json) == (202, ACCEPTED_TWO)


@pytest.mark.parametrize("is_gzip", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_dropped_before_a_body_is_stored(
    endpoint: IngestServer, encoding: str, is_gzip: bool
) -> None:
    for text, answer in (
        (json.dumps(make_envelope("a")), ACCEPTED_ONE),
        (json.dumps(two()), ACCEPTED_TWO),
        (ndjson(*two()).decode(), ACCEPTED_TWO),
    ):
        body = text.encode(encoding)
        posted = endpoint.post(gzip.compress(body) if is_gzip else body)
        assert (posted.status, posted.json) == (202, answer)
    rows = endpoint.rows("SELECT is_gzip, body FROM ingest_rawtrace WHERE project_id = %(project)s")
    bodies = [gzip.decompress(bytes(body)) if is_gzip else bytes(body) for is_gzip, body in rows]
    assert sorted(json.loads(body)["viewId"] for body in bodies) == VIEWS
    assert all(body.startswith(b"{") for body in bodies)


@pytest.mark.parametrize("content_type", ["application/x-ndjson", "application/ndjson", "application/jsonl"])
def test_ndjson_is_taken_by_its_content_type(endpoint: IngestServer, content_type: str) -> None:
    answer = endpoint.post(ndjson(*two()), content_type=content_type)
    assert (answer.status, answer.json) == (202, ACCEPTED_TWO)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\n\n  \n"])
def test_ndjson_is_taken_by_its_shape(endpoint: IngestServer, newline: bytes) -> None:
    answer = endpoint.post(newline.join([ndjson(e) for e in two()]) + newline, content_type="text/plain")
    assert (answer.status, answer.json) == (202, ACCEPTED_TWO)
    assert stored_views(endpoint) == VIEWS


def test_ndjson_of_one_line_is_answered_as_a_batch(endpoint: IngestServer) -> None:
    answer = endpoint.post(b'{"viewId": 1}', content_type="application/x-ndjson")
    assert answer.status == 202
    assert answer.json["accepted"] == 0
    assert answer.json["rejected"][0]["index"] == 0


def test_ndjson_by_shape_survives_a_bad_first_line(endpoint: IngestServer) -> None:
    bad = make_envelope("a")
    del bad["release"]
    answer = endpoint.post(ndjson(bad, make_envelope("b")), content_type="text/plain")
    assert answer.status == 202
    assert answer.json["accepted"] == 1
    assert [refused["index"] for refused in answer.json["rejected"]] == [0]
    assert stored_views(endpoint) == [view_id_of("b")]


def test_an_empty_array_is_taken_and_holds_nothing(endpoint: IngestServer) -> None:
    answer = endpoint.post(b" [ ] ")
    assert (answer.status, answer.json) == (202, {"accepted": 0, "rejected": []})


@pytest.mark.parametrize("body", [b"", b" \r\n\t", b"\n" * 1000])
@pytest.mark.parametrize("content_type", ["application/json", "application/x-ndjson"])
def test_an_empty_body_is_refused(endpoint: IngestServer, body: bytes, content_type: str) -> None:
    answer = endpoint.post(body, content_type=content_type)
    assert (answer.status, answer.reason) == (400, "empty_body")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"null", "wrong_type"),
        (b"7", "wrong_type"),
        (b"{", "invalid_json"),
        (b"[{}", "invalid_json"),
        (b"[1] 2", "invalid_json"),
        (b"{} {}", "missing_field"),
        (b"garbage\n{}", "invalid_json"),
        (b"\xef\xbb\xbf{", "invalid_json"),
        (b'{"release": "\xff"}', "invalid_utf8"),
        (b"NaN", "invalid_json"),
    ],
)
def test_an_unreadable_body_is_refused_as_a_whole(endpoint: IngestServer, body: bytes, reason: str) -> None:
    answer = endpoint.post(body)
    assert (answer.status, answer.reason) == (400, reason)
    assert set(answer.json) == {"reason", "path", "detail"}
    assert endpoint.refusals() == {reason: 1}


def test_the_stored_body_of_each_envelope_is_the_bytes_that_came(endpoint: IngestServer) -> None:
    lines = [b'{"unknown":  [1.50],' + ndjson(envelope)[1:] + b" " for envelope in two()]
    endpoint.post(b"\n".join(lines), content_type="application/x-ndjson")
    wanted = dict(zip([view_id_of("a"), view_id_of("b")], lines, strict=True))
    assert endpoint.bodies() == [wanted[view] for view in VIEWS]


def test_the_stored_elements_of_an_array_are_the_bytes_that_came(endpoint: IngestServer) -> None:
    element = b'{"unknown":  [1.50],\n' + ndjson(make_envelope("a"))[1:]
    endpoint.post(b"[\n " + element + b" ,7]")
    assert endpoint.bodies() == [element]


@pytest.mark.parametrize("columns", ["A", "A B\n" * 500])
def test_the_stored_body_of_a_single_envelope_is_the_body_that_came(endpoint: IngestServer, columns: str) -> None:
    body = b"\n" + json.dumps(make_envelope("a", columns), indent=1).encode() + b"\n"
    endpoint.post(body)
    assert endpoint.bodies() == [body]


def test_the_receipt_says_how_long_the_expanded_body_is(endpoint: IngestServer) -> None:
    body = ndjson(make_envelope("a"))
    endpoint.post(body)
    assert endpoint.receipts("body_bytes") == [(len(body),)]
