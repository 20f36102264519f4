"""Whatever comes in, the endpoint answers by its contract: never a 500, never half a row, never for long."""

import gzip
import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profcore.errors import Reason
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestResponse, IngestServer, ndjson

pytestmark = pytest.mark.slow(10)

EXAMPLES = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
STATUSES = {202, 400, 401, 403, 413, 415, 429}
REASONS = {str(reason) for reason in Reason}
TYPES = ["text/plain", "application/json", "application/x-ndjson", "application/gzip", ""]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12)  # fmt: skip  # noqa: E501
VALID = make_envelope("a", "A\nA B\n-", device={"memory": 8}, marks=[{"type": "longtask", "start": 1, "duration": 60}])
FIELDS = [*VALID, "url", "traceId", "viewStart", "tags", "userAgent", "isolated", "requestedInterval", "sampleRate"]


def assert_by_contract(answer: IngestResponse) -> None:
    assert answer.status in STATUSES
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    said = answer.json
    if answer.status != 202:
        assert set(said) == {"reason", "path", "detail"}
        assert said["reason"] in REASONS
        return
    assert set(said) == {"accepted", "rejected"}
    for refused in said["rejected"]:
        assert set(refused) == {"index", "traceId", "reason", "path", "detail"}
        assert refused["reason"] in REASONS


def assert_receipts_have_bodies(endpoint: IngestServer) -> None:
    assert len(endpoint.receipts()) == len(endpoint.bodies())


@EXAMPLES
@given(body=st.binary(max_size=300), content_type=st.sampled_from(TYPES))
def test_random_bytes_are_answered_by_contract(endpoint: IngestServer, body: bytes, content_type: str) -> None:
    assert_by_contract(endpoint.post(body, content_type=content_type))
    assert_by_contract(endpoint.post(b"\x1f\x8b" + body, content_type=content_type))
    assert_by_contract(endpoint.post(gzip.compress(body), content_type=content_type, content_encoding="gzip"))
    assert endpoint.receipts() == []


@EXAMPLES
@given(value=values, content_type=st.sampled_from(TYPES))
def test_random_json_is_answered_by_contract(endpoint: IngestServer, value: object, content_type: str) -> None:
    body = json.dumps(value).encode()
    assert_by_contract(endpoint.post(body, content_type=content_type))
    assert_by_contract(endpoint.post(b"[" + body + b"]", content_type=content_type))
    assert endpoint.receipts() == []


@EXAMPLES
@given(changes=st.dictionaries(st.sampled_from(FIELDS), values, max_size=3))
def test_an_envelope_with_random_fields_is_answered_by_contract(
    endpoint: IngestServer, changes: dict[str, object]
) -> None:
    envelope = {**VALID, **changes}
    assert_by_contract(endpoint.post(envelope))
    assert_by_contract(endpoint.post([envelope, VALID]))
    assert_receipts_have_bodies(endpoint)


@EXAMPLES
@given(
    table=st.sampled_from(["resources", "frames", "stacks", "samples"]),
    field=st.sampled_from(["name", "resourceId", "line", "frameId", "parentId", "timestamp", "stackId", "marker"]),
    value=values,
)
def test_a_trace_with_a_random_value_is_answered_by_contract(
    endpoint: IngestServer, table: str, field: str, value: object
) -> None:
    trace = {**VALID["trace"], table: [{**row, field: value} if isinstance(row, dict) else value for row in VALID["trace"][table]]}  # fmt: skip  # noqa: E501
    assert_by_contract(endpoint.post({**VALID, "trace": trace}))
    assert_receipts_have_bodies(endpoint)


@EXAMPLES
@given(cut=st.integers(0, 2_000), flip=st.integers(0, 2_000), bit=st.integers(0, 7), packed=st.booleans())
def test_a_damaged_body_is_answered_by_contract(
    endpoint: IngestServer, cut: int, flip: int, bit: int, packed: bool
) -> None:
    body = ndjson(VALID, make_envelope("b"))
    sent = bytearray(gzip.compress(body) if packed else body)
    sent[flip % len(sent)] ^= 1 << bit
    assert_by_contract(endpoint.post(bytes(sent[: len(sent) - cut % len(sent)]), content_type="text/plain"))
    assert_receipts_have_bodies(endpoint)


header_text = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60)


@EXAMPLES
@given(origin=header_text, agent=header_text, coding=header_text, media=header_text, key=st.text(max_size=90))
def test_random_headers_and_keys_are_answered_by_contract(
    endpoint: IngestServer, origin: str, agent: str, coding: str, media: str, key: str
) -> None:
    media = media.replace("charset", "")  # the server's entry sees to those: test_endpoint_keys
    assert_by_contract(endpoint.post(VALID, origin=origin, user_agent=agent))
    assert_by_contract(endpoint.post(VALID, content_type=media, content_encoding=coding))
    assert_by_contract(endpoint.post(VALID, key=key))


ABUSES: dict[str, dict[str, Any]] = {
    "a page of many marks": {"page": "/" + "?" * 399},
    "an agent that matches long": {"userAgent": "Mozilla/5.0 (" + "x; " * 600},
    "a url of one segment": {"page": None, "url": "https://x/" + "a" * 65_000},
    "a url of dashes": {"page": None, "url": "https://x/" + "a-1" * 21_000},
    "a url of many segments": {"page": None, "url": "https://x" + "/a" * 32_000},
    "a url of escapes": {"page": None, "url": "https://x/" + "%41" * 21_000},
    "numbers of many digits": {"seq": 10**4_000},
    "many marks": {"marks": [{"type": "longtask", "start": 0, "duration": 1e9}] * 9_999},
}


@pytest.mark.parametrize("name", ABUSES)
def test_no_envelope_takes_long(endpoint: IngestServer, name: str) -> None:
    body = json.dumps([make_envelope("a", **ABUSES[name])] * 3).encode()
    endpoint.post(make_envelope("warm"))
    started = time.process_time()
    assert_by_contract(endpoint.post(body))
    assert time.process_time() - started < 10  # some tenths; what this guards against takes minutes


def test_a_deep_trace_at_every_limit_is_taken(endpoint: IngestServer) -> None:
    stacks = [{"frameId": 0}] + [{"frameId": 0, "parentId": n} for n in range(9_999)]
    stacks += [{"frameId": 0, "parentId": 9_998}] * 190_000
    trace = {
        "resources": ["a"],
        "frames": [{"name": "f"}],
        "stacks": stacks,
        "samples": [{"timestamp": n, "stackId": 199_000} for n in range(200_000)],
    }
    body = gzip.compress(json.dumps(make_envelope("a", trace=trace)).encode(), compresslevel=1)
    assert endpoint.post(body).json == {"accepted": 1, "rejected": []}


def test_an_answer_does_not_grow_with_what_was_wrong(endpoint: IngestServer) -> None:
    answer = endpoint.post([{"traceId": "x" * 10_000, "seq": 10**4_000}] * 100)
    assert answer.status == 202
    assert len(answer.json["rejected"]) == 100
    assert len(answer.content) < 100_000


def test_a_header_cannot_be_made_from_a_body(endpoint: IngestServer) -> None:
    answer = endpoint.post([{"traceId": "a\r\nSet-Cookie: a=b"}])
    assert "Set-Cookie" not in answer.headers
    assert set(answer.headers) <= {
        "Content-Type", "Content-Length", "Access-Control-Allow-Origin", "Cache-Control"
    }  # fmt: skip
