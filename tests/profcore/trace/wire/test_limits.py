"""Limits: a value at the bound is accepted, one more is refused with its path."""

import pytest

from profcore.errors import Reason, TraceError
from profcore.trace.wire import MAX_SHORT_CHARS, MAX_USER_AGENT_CHARS, Limits, decode_envelope
from tests.profcore.trace.wire.refusals import Json, accepted, changed, full_envelope, refusal

MARK = {"type": "longtask", "start": 0}
COUNTS: dict[str, tuple[str, Json, Limits]] = {
    "resources": ("$.trace.resources", "u", Limits(resources=3)),
    "frames": ("$.trace.frames", {"name": "f"}, Limits(frames=3)),
    "stacks": ("$.trace.stacks", {"frameId": 0}, Limits(stacks=3)),
    "samples": ("$.trace.samples", {"timestamp": 1}, Limits(samples=3)),
    "marks": ("$.marks", MARK, Limits(marks=3)),
    "tags": ("$.tags", "t", Limits(tags=3)),
}
TEXTS = {
    "$.release": 200,
    "$.page": 400,
    "$.url": 65_536,
    "$.reason": MAX_SHORT_CHARS,
    "$.environment": MAX_SHORT_CHARS,
    "$.requestTrace": 200,
    "$.snippet.version": MAX_SHORT_CHARS,
    "$.snippet.url": 65_536,
    "$.userAgent": MAX_USER_AGENT_CHARS,
    "$.marks[0].type": MAX_SHORT_CHARS,
    "$.trace.resources[0]": 65_536,
    "$.trace.frames[1].name": 4_096,
    "$.trace.samples[2].marker": MAX_SHORT_CHARS,
}


@pytest.mark.parametrize("table", COUNTS)
def test_as_many_as_the_limit_are_taken_and_one_more_is_not(table: str) -> None:
    path, entry, limits = COUNTS[table]
    loose = changed("$.trace.samples", [])
    loose["trace"]["stacks"] = loose["trace"]["frames"] = []
    for filled in (loose, full_envelope()):
        filled["tags"] = None
    envelope = loose if table in ("frames", "resources") else full_envelope()
    holder = envelope["trace"] if path.startswith("$.trace.") else envelope
    if table == "stacks":
        envelope["trace"]["samples"] = []
    holder[table] = [entry] * 3
    accepted(envelope, limits)
    holder[table] = [entry] * 4
    assert refusal(envelope, limits) == (Reason.TOO_MANY, path)


def test_tags_as_an_object_count_too() -> None:
    tags = {f"t{number}": "x" for number in range(21)}
    assert refusal(changed("$.tags", tags)) == (Reason.TOO_MANY, "$.tags")
    tags.popitem()
    accepted(changed("$.tags", tags))


@pytest.mark.parametrize(("path", "limit"), TEXTS.items())
def test_a_text_as_long_as_its_limit_is_taken_and_a_longer_one_is_not(path: str, limit: int) -> None:
    accepted(changed(path, "ü" * limit))
    assert refusal(changed(path, "ü" * (limit + 1))) == (Reason.TOO_LONG, path)


@pytest.mark.parametrize("tags", [["x" * 201], {"k": "x" * 201}, {"x" * 201: "v"}])
def test_tags_are_short(tags: Json) -> None:
    assert refusal(changed("$.tags", tags)) == (Reason.TOO_LONG, "$.tags")


def test_the_times_of_a_trace_have_a_limit_of_their_own() -> None:
    envelope = changed("$.trace.samples[0].timestamp", 1_000.5)
    accepted(envelope, Limits(timestamp_ms=1_000.5))
    assert refusal(envelope, Limits(timestamp_ms=1_000)) == (Reason.OUT_OF_RANGE, "$.trace.samples[0].timestamp")


def test_values_are_counted_before_any_of_them_is_built() -> None:
    body = b'{"tags": [' + b",".join([b'"a"'] * 1_000) + b"]}"  # 999 commas, and no envelope at all
    with pytest.raises(TraceError) as bounded:
        decode_envelope(body, Limits(values=998))
    assert (bounded.value.reason, bounded.value.path) == (Reason.TOO_MANY, "$")
    with pytest.raises(TraceError) as decoded:
        decode_envelope(body, Limits(values=999))
    assert decoded.value.reason is Reason.MISSING_FIELD
