"""Shapes: which envelopes are accepted, and how errors name missing fields and wrong types."""

from typing import Any

import pytest

from profcore.errors import Reason, TraceError
from profcore.trace.wire import Limits, decode_envelope, read_trace_id, split_array
from tests.profcore.trace.wire.refusals import accepted, body_of, changed, full_envelope, refusal, without

BODY = body_of(full_envelope())
OWNERS = {
    "$.viewId": "$",
    "$.seq": "$",
    "$.release": "$",
    "$.timeOrigin": "$",
    "$.sampleInterval": "$",
    "$.trace": "$",
    "$.trace.resources": "$.trace",
    "$.trace.frames": "$.trace",
    "$.trace.stacks": "$.trace",
    "$.trace.samples": "$.trace",
    "$.trace.frames[1].name": "$.trace.frames[1]",
    "$.trace.stacks[1].frameId": "$.trace.stacks[1]",
    "$.trace.samples[2].timestamp": "$.trace.samples[2]",
    "$.marks[0].type": "$.marks[0]",
    "$.marks[0].start": "$.marks[0]",
    "$.cost.ms": "$.cost",
    "$.snippet.version": "$.snippet",
}
OPTIONAL = [
    "$.traceId",
    "$.url",
    "$.viewStart",
    "$.requestedInterval",
    "$.slowRate",
    "$.onlySlow",
    "$.reason",
    "$.navigation",
    "$.cache",
    "$.session",
    "$.environment",
    "$.requestTrace",
    "$.cost",
    "$.cost.sampled",
    "$.snippet",
    "$.snippet.url",
    "$.userAgent",
    "$.isolated",
    "$.device",
    "$.device.memory",
    "$.device.cores",
    "$.device.mobile",
    "$.tags",
    "$.trace.frames[0].resourceId",
    "$.trace.frames[0].line",
    "$.trace.frames[0].column",
    "$.trace.stacks[1].parentId",
    "$.trace.samples[0].stackId",
    "$.trace.samples[2].marker",
]
WITH_DEFAULT = ["$.sampleRate", "$.marks", "$.marks[0].duration"]


@pytest.mark.parametrize(("path", "owner"), OWNERS.items())
def test_a_missing_field_is_named_at_the_object_that_lacks_it(path: str, owner: str) -> None:
    assert refusal(without(path)) == (Reason.MISSING_FIELD, owner)


@pytest.mark.parametrize("path", OPTIONAL + WITH_DEFAULT)
def test_an_optional_field_may_be_absent(path: str) -> None:
    accepted(without(path))


@pytest.mark.parametrize("path", OPTIONAL)
def test_null_is_the_same_as_absent(path: str) -> None:
    assert accepted(changed(path, None)) == accepted(without(path))


@pytest.mark.parametrize("path", [*OWNERS, *WITH_DEFAULT])
def test_null_is_no_value_where_one_is_needed(path: str) -> None:
    assert refusal(changed(path, None)) == (Reason.WRONG_TYPE, path)


def test_what_is_absent_has_its_documented_default() -> None:
    envelope = accepted(without("$.sampleRate"))
    assert envelope.sampleRate == 1.0
    assert accepted(without("$.marks")).marks == []
    assert accepted(without("$.marks[0].duration")).marks[0].duration == 0.0


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.seq", "0"),
        ("$.seq", True),
        ("$.seq", 1.5),
        ("$.viewId", 7),
        ("$.release", 1),
        ("$.page", ["/"]),
        ("$.timeOrigin", "1795256990131"),
        ("$.timeOrigin", False),
        ("$.isolated", 1),
        ("$.onlySlow", 1),
        ("$.device", "phone"),
        ("$.navigation", 1),
        ("$.cache", True),
        ("$.session", 7),
        ("$.environment", 7),
        ("$.requestTrace", 7),
        ("$.cost", 1.25),
        ("$.cost.ms", "1"),
        ("$.cost.sampled", [1]),
        ("$.snippet", "1.0.0"),
        ("$.snippet.version", 1),
        ("$.snippet.url", ["/"]),
        ("$.device.cores", "8"),
        ("$.marks", {"type": "longtask"}),
        ("$.tags", "checkout"),
        ("$.trace", []),
        ("$.trace.resources", "https://shop.example/app.js"),
        ("$.trace.resources[0]", None),
        ("$.trace.frames", {}),
        ("$.trace.frames[0]", "A"),
        ("$.trace.frames[0].name", 3),
        ("$.trace.frames[0].line", 1.5),
        ("$.trace.frames[0].column", "1"),
        ("$.trace.stacks[0].frameId", 0.5),
        ("$.trace.stacks[1].parentId", "0"),
        ("$.trace.samples[0]", 5),
        ("$.trace.samples[0].timestamp", "5"),
        ("$.trace.samples[0].stackId", False),
        ("$.trace.samples[0].marker", 1),
    ],
)
def test_a_value_of_the_wrong_type_is_named_where_it_stands(path: str, value: Any) -> None:  # Any: what JSON may hold
    assert refusal(changed(path, value)) == (Reason.WRONG_TYPE, path)


def test_a_tag_of_the_wrong_type_is_named_among_the_tags() -> None:
    assert refusal(changed("$.tags", ["a", 1])) == (Reason.WRONG_TYPE, "$.tags[1]")
    assert refusal(changed("$.tags", {"a": 1})) == (Reason.WRONG_TYPE, "$.tags[...]")


@pytest.mark.parametrize("path", ["$.viewId", "$.traceId"])
@pytest.mark.parametrize("text", ["", "view-1", "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c1"])
def test_an_id_must_be_a_uuid(path: str, text: str) -> None:
    assert refusal(changed(path, text)) == (Reason.INVALID_VALUE, path)


@pytest.mark.parametrize("value", [None, [], 0, "x", True])
def test_an_envelope_is_an_object(value: Any) -> None:  # Any: what JSON may hold
    assert refusal(body_of(value)) == (Reason.WRONG_TYPE, "$")


@pytest.mark.parametrize("place", ["$.extra", "$.device.extra", "$.marks[0].extra", "$.trace.extra"])
def test_unknown_fields_are_ignored(place: str) -> None:
    assert accepted(changed(place, {"deep": [1, {"x": None}]})) == accepted(full_envelope())


@pytest.mark.parametrize("place", ["$.trace.frames[0].extra", "$.trace.stacks[0].extra", "$.trace.samples[0].extra"])
def test_unknown_fields_of_a_later_browser_are_ignored(place: str) -> None:
    assert accepted(changed(place, "new")) == accepted(full_envelope())


def test_an_envelope_needs_a_page_or_a_url() -> None:
    envelope = without("$.page")
    accepted(envelope)
    del envelope["url"]
    assert refusal(envelope) == (Reason.MISSING_PAGE, "$.page")
    envelope["page"] = envelope["url"] = ""
    assert refusal(envelope) == (Reason.MISSING_PAGE, "$.page")


def test_a_release_must_say_something() -> None:
    assert refusal(changed("$.release", "")) == (Reason.INVALID_VALUE, "$.release")


def test_an_empty_trace_is_a_trace() -> None:
    empty: dict[str, list[object]] = {"resources": [], "frames": [], "stacks": [], "samples": []}
    assert accepted(changed("$.trace", empty)).trace.samples == []


@pytest.mark.parametrize(
    "body", [b"", b"{", BODY + b"x", b"\xef\xbb\xbf" + BODY, b"{'a':1}", b'{"a":01}', b"\x00", b'{"a":}']
)
def test_what_is_no_json_is_refused_as_such(body: bytes) -> None:
    assert refusal(body) == (Reason.INVALID_JSON, "$")


@pytest.mark.parametrize("body", [b'{"x":' + b"[" * 100_000, b'{"x":' + b'{"x":' * 100_000])
def test_json_nested_without_end_is_refused(body: bytes) -> None:
    assert refusal(body) == (Reason.TOO_NESTED, "$")


def test_an_array_is_split_into_its_envelopes_unread() -> None:
    parts = split_array(b"[" + BODY + b', 7, "x"]', 3)
    assert [bytes(part) for part in parts] == [BODY, b"7", b'"x"']
    assert decode_envelope(parts[0], Limits()) == accepted(full_envelope())
    assert split_array(b"[]", 3) == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{}", Reason.WRONG_TYPE),
        (b"[1", Reason.INVALID_JSON),
        (b'[{"broken": NaN}]', Reason.INVALID_JSON),
        (b"[" * 100_000, Reason.TOO_NESTED),
        (b"[1,2,3,4]", Reason.TOO_MANY_ENVELOPES),
        (b"[" + b"0," * 1_000_000, Reason.TOO_MANY_ENVELOPES),
    ],
    ids=["an object", "cut short", "NaN", "nested", "one too many", "many and cut short"],
)
def test_a_batch_that_is_not_an_array_or_too_long_is_not_split(body: bytes, reason: Reason) -> None:
    with pytest.raises(TraceError) as caught:
        split_array(body, 3)
    assert (caught.value.reason, caught.value.path) == (reason, "$")


@pytest.mark.parametrize(
    ("body", "trace_id"),
    [
        (b'{"traceId": "abc", "seq": "wrong"}', "abc"),
        (b'{"traceId": "' + b"x" * 500 + b'"}', "x" * 100),
        (b'{"traceId": 5}', None),
        (b'{"traceId": ""}', None),
        (b'{"traceId": "\xff"}', None),
        (b"{", None),
        (b"[" * 100_000, None),
    ],
)
def test_a_refused_envelope_tells_which_it_was_where_it_can(body: bytes, trace_id: str | None) -> None:
    assert read_trace_id(body) == trace_id
