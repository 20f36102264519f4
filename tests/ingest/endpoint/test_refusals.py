"""Each refusal of an envelope says why, where and in a sentence, and is counted apart from what was taken."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer

Fields = dict[str, Any]  # Any: JSON
STACKS = [{"frameId": 0}, {"frameId": 0, "parentId": 0}]
WRONG: list[tuple[str, Fields, str, str]] = [
    ("no view", {"viewId": ...}, "missing_field", "$"),
    ("no trace", {"trace": ...}, "missing_field", "$"),
    ("no release", {"release": ...}, "missing_field", "$"),
    ("view is a word", {"viewId": "me"}, "invalid_value", "$.viewId"),
    ("view is a number", {"viewId": 7}, "wrong_type", "$.viewId"),
    ("trace id is a word", {"traceId": "me"}, "invalid_value", "$.traceId"),
    ("negative seq", {"seq": -1}, "out_of_range", "$.seq"),
    ("huge seq", {"seq": 2**31}, "out_of_range", "$.seq"),
    ("seq of many digits", {"seq": 10**4000}, "out_of_range", "$.seq"),
    ("fraction of a seq", {"seq": 1.5}, "wrong_type", "$.seq"),
    ("empty release", {"release": ""}, "invalid_value", "$.release"),
    ("long release", {"release": "x" * 201}, "too_long", "$.release"),
    ("release with NUL", {"release": "a\0b"}, "invalid_value", "$.release"),
    ("neither page nor url", {"page": ...}, "missing_page", "$.page"),
    ("empty page", {"page": ""}, "missing_page", "$.page"),
    ("long page", {"page": "/" * 401}, "too_long", "$.page"),
    ("page with NUL", {"page": "/\0"}, "invalid_value", "$.page"),
    ("ancient origin", {"timeOrigin": 0}, "out_of_range", "$.timeOrigin"),
    ("far origin", {"timeOrigin": 5e12}, "out_of_range", "$.timeOrigin"),
    ("negative view start", {"viewStart": -1}, "out_of_range", "$.viewStart"),
    ("no interval", {"sampleInterval": 0}, "out_of_range", "$.sampleInterval"),
    ("negative interval", {"sampleInterval": -10}, "out_of_range", "$.sampleInterval"),
    ("huge interval", {"sampleInterval": 1e300}, "out_of_range", "$.sampleInterval"),
    ("an interval below a millisecond", {"sampleInterval": 0.999}, "out_of_range", "$.sampleInterval"),
    ("an interval above a second", {"sampleInterval": 1_000.001}, "out_of_range", "$.sampleInterval"),
    ("a request above a second", {"requestedInterval": 1_001}, "out_of_range", "$.requestedInterval"),
    ("negative request", {"requestedInterval": -1}, "out_of_range", "$.requestedInterval"),
    ("rate of nothing", {"sampleRate": 0}, "out_of_range", "$.sampleRate"),
    ("slow rate of nothing", {"slowRate": 0}, "out_of_range", "$.slowRate"),
    ("rate above all", {"sampleRate": 1.01}, "out_of_range", "$.sampleRate"),
    ("long reason", {"reason": "x" * 101}, "too_long", "$.reason"),
    ("long agent", {"userAgent": "x" * 2001}, "too_long", "$.userAgent"),
    ("device is a word", {"device": "phone"}, "wrong_type", "$.device"),
    ("mark of no type", {"marks": [{"start": 1}]}, "missing_field", "$.marks[0]"),
    (
        "mark lasts below nothing",
        {"marks": [{"type": "a", "start": 1, "duration": -1}]},
        "out_of_range",
        "$.marks[0].duration",
    ),
    ("too many tags", {"tags": ["x"] * 21}, "too_many", "$.tags"),
    ("long tag", {"tags": {"a": "x" * 201}}, "too_long", "$.tags"),
    ("resources are no list", {"trace.resources": {}}, "wrong_type", "$.trace.resources"),
    ("resource is a number", {"trace.resources": [1]}, "wrong_type", "$.trace.resources[0]"),
    ("frame without a name", {"trace.frames": [{"line": 1}]}, "missing_field", "$.trace.frames[0]"),
    (
        "frame of no resource",
        {"trace.frames": [{"name": "a", "resourceId": 1}]},
        "dangling_id",
        "$.trace.frames[0].resourceId",
    ),
    (
        "negative resource",
        {"trace.frames": [{"name": "a", "resourceId": -1}]},
        "dangling_id",
        "$.trace.frames[0].resourceId",
    ),
    ("negative line", {"trace.frames": [{"name": "a", "line": -1}]}, "out_of_range", "$.trace.frames[0].line"),
    ("huge column", {"trace.frames": [{"name": "a", "column": 2**31}]}, "out_of_range", "$.trace.frames[0].column"),
    ("stack of no frame", {"trace.stacks": [{"frameId": 9}]}, "dangling_id", "$.trace.stacks[0].frameId"),
    (
        "stack is its own parent",
        {"trace.stacks": [*STACKS, {"frameId": 0, "parentId": 2}]},
        "parent_order",
        "$.trace.stacks[2].parentId",
    ),
    (
        "parent after its child",
        {"trace.stacks": [{"frameId": 0, "parentId": 1}, *STACKS]},
        "parent_order",
        "$.trace.stacks[0].parentId",
    ),
    (
        "stack of no parent",
        {"trace.stacks": [*STACKS, {"frameId": 0, "parentId": 9}]},
        "dangling_id",
        "$.trace.stacks[2].parentId",
    ),
    (
        "negative parent",
        {"trace.stacks": [*STACKS, {"frameId": 0, "parentId": -1}]},
        "dangling_id",
        "$.trace.stacks[2].parentId",
    ),
    (
        "sample of no stack",
        {"trace.samples": [{"timestamp": 1, "stackId": 2}]},
        "dangling_id",
        "$.trace.samples[0].stackId",
    ),
    (
        "negative stack",
        {"trace.samples": [{"timestamp": 1, "stackId": -1}]},
        "dangling_id",
        "$.trace.samples[0].stackId",
    ),
    ("sample without a time", {"trace.samples": [{"stackId": 0}]}, "missing_field", "$.trace.samples[0]"),
    ("time is a word", {"trace.samples": [{"timestamp": "1"}]}, "wrong_type", "$.trace.samples[0].timestamp"),
    ("huge time", {"trace.samples": [{"timestamp": 1e300}]}, "out_of_range", "$.trace.samples[0].timestamp"),
    (
        "long marker",
        {"trace.samples": [{"timestamp": 1, "marker": "x" * 101}]},
        "too_long",
        "$.trace.samples[0].marker",
    ),
]
RIGHT: list[tuple[str, Fields]] = [
    ("ids of zero", {"trace.samples": [{"timestamp": 0, "stackId": 0}]}),
    (
        "times that are negative, repeat and step back",
        {"trace.samples": [{"timestamp": t} for t in (-5.5, -5.5, 3, 2)]},
    ),
    ("an empty trace", {"trace": {"resources": [], "frames": [], "stacks": [], "samples": []}}),
    ("positions of zero", {"trace.frames": [{"name": "", "line": 0, "column": 0}] * 2}),
    (
        "null for what may be absent",
        {"traceId": None, "viewStart": None, "device": None, "tags": None, "isolated": None},
    ),
    ("unknown fields", {"future": {"deep": [1, {"a": None}]}, "trace.future": 1}),
    ("the longest texts", {"release": "r" * 200, "page": "/" * 400, "tags": {"a": "x" * 200}}),
    ("the highest numbers", {"seq": 2**31 - 1, "sampleInterval": 1_000, "requestedInterval": 1_000}),
    ("the least intervals", {"sampleInterval": 1, "requestedInterval": 0}),
    ("texts in other scripts", {"release": "版本 1", "page": "/商品/🛒"}),
    ("tags as a list", {"tags": ["a", "b"]}),
]


def make_changed(fields: Fields, view: str = "a") -> Fields:
    """Returns an envelope with fields replaced, by dotted path; `...` takes one away."""
    envelope = make_envelope(view, "A\nA B")
    for path, value in fields.items():
        target = envelope
        *above, name = path.split(".")
        for step in above:
            target = target[step]
        if value is ...:
            del target[name]
        else:
            target[name] = value
    return envelope


@pytest.mark.parametrize(
    ("fields", "reason", "path"), [case[1:] for case in WRONG], ids=[case[0].replace(" ", "-") for case in WRONG]
)
def test_a_wrong_envelope_is_refused_with_reason_path_and_sentence(
    endpoint: IngestServer, fields: Fields, reason: str, path: str
) -> None:
    answer = endpoint.post(make_changed(fields))
    assert (answer.status, answer.reason, answer.json["path"]) == (400, reason, path)
    assert answer.json["detail"].endswith(".")
    assert endpoint.receipts() == []
    assert endpoint.bodies() == []
    assert endpoint.refusals() == {reason: 1}


@pytest.mark.parametrize("fields", [case[1] for case in RIGHT], ids=[case[0].replace(" ", "-") for case in RIGHT])
def test_an_odd_but_right_envelope_is_taken(endpoint: IngestServer, fields: Fields) -> None:
    answer = endpoint.post(make_changed(fields))
    assert answer.json == {"accepted": 1, "rejected": []}
    assert endpoint.refusals() == {}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
@pytest.mark.parametrize("place", ["timeOrigin", "sampleInterval", "sampleRate", "viewStart"])
def test_numbers_that_are_none_are_refused(endpoint: IngestServer, number: str, place: str) -> None:
    body = json.dumps(make_changed({place: "PLACE"})).replace('"PLACE"', number).encode()
    answer = endpoint.post(body)
    assert answer.status == 400
    assert answer.reason in ("invalid_json", "out_of_range")


PLACES = [
    "release",
    "page",
    "url",
    "reason",
    "userAgent",
    "tags",
    "marks.name",
    "trace.name",
    "trace.resource",
    "unknown",
]


def make_halved(place: str, half: str) -> bytes:
    """Returns an envelope with an escape at a place."""
    fields: dict[str, Any] = {
        "tags": {"tags": ["PLACE"]},
        "marks.name": {"marks": [{"type": "mark", "start": 1, "name": "PLACE"}]},
        "trace.name": {"trace.frames": [{"name": "PLACE"}] * 4},
        "trace.resource": {"trace.resources": ["https://shop.example/PLACE.js"]},
    }
    return json.dumps(make_changed(fields.get(place, {place: "PLACE"}))).replace("PLACE", half).encode()


@pytest.mark.parametrize("kernel", ["pure", "auto"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("half", [r"a\ud83d", r"\udfffb", r"\uD83D\ud83d\ude00"])
@pytest.mark.parametrize("shape", ["one", "gzip", "array", "lines"])
def test_half_a_surrogate_pair_is_replaced_and_refuses_nothing(
    endpoint: IngestServer, settings: Settings, kernel: str, place: str, half: str, shape: str
) -> None:
    settings.KERNEL = kernel
    body = make_halved(place, half)
    shapes = {"one": body, "gzip": gzip.compress(body), "array": b"[%b]" % body, "lines": b"%b\n%b" % (body, body)}
    sent = shapes[shape]
    assert endpoint.post(sent).status == 202
    assert endpoint.refusals() == {}
    (stored,) = endpoint.bodies()
    json.dumps(json.loads(stored), ensure_ascii=False).encode()  # raises for a half
    assert b"\\ufffd" in stored


def test_half_a_surrogate_pair_where_a_word_is_wanted_is_refused_as_any_other_text(endpoint: IngestServer) -> None:
    body = json.dumps(make_changed({"viewId": "PLACE"})).replace("PLACE", r"\ud83d").encode()
    assert endpoint.post(body).reason == "invalid_value"


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"trace":[', b'{"trace":{"samples":['])
def test_json_that_is_nested_too_deeply_is_refused(endpoint: IngestServer, opening: bytes) -> None:
    answer = endpoint.post(opening * 100_000)
    assert answer.status in (202, 400)
    assert endpoint.receipts() == []
    assert set(endpoint.refusals()) <= {"too_nested", "invalid_json", "wrong_type"}


LIMITS: list[tuple[str, int, Callable[[int], Fields], str, str]] = [
    ("INGEST_MAX_SAMPLES", 3, lambda n: {"trace.samples": [{"timestamp": 1}] * n}, "too_many", "$.trace.samples"),
    ("INGEST_MAX_STACKS", 3, lambda n: {"trace.stacks": [{"frameId": 0}] * n}, "too_many", "$.trace.stacks"),
    ("INGEST_MAX_FRAMES", 3, lambda n: {"trace.frames": [{"name": "a"}] * n}, "too_many", "$.trace.frames"),
    ("INGEST_MAX_RESOURCES", 3, lambda n: {"trace.resources": ["a"] * n}, "too_many", "$.trace.resources"),
    ("INGEST_MAX_MARKS", 3, lambda n: {"marks": [{"type": "a", "start": 1}] * n}, "too_many", "$.marks"),
    ("INGEST_MAX_TAGS", 3, lambda n: {"tags": ["a"] * n}, "too_many", "$.tags"),
    ("INGEST_MAX_TEXT_CHARS", 5, lambda n: {"release": "a" * n}, "too_long", "$.release"),
    ("INGEST_MAX_PAGE_CHARS", 5, lambda n: {"page": "a" * n}, "too_long", "$.page"),
    ("INGEST_MAX_URI_CHARS", 40, lambda n: {"trace.resources": ["a" * n]}, "too_long", "$.trace.resources[0]"),
    (
        "INGEST_MAX_NAME_CHARS",
        5,
        lambda n: {"trace.frames": [{"name": "a" * n}] * 2},
        "too_long",
        "$.trace.frames[0].name",
    ),
    (
        "INGEST_MAX_DEPTH",
        3,
        lambda n: {"trace.stacks": [{"frameId": 0}] + [{"frameId": 0, "parentId": i} for i in range(n - 1)]},
        "too_deep",
        "$.trace.stacks[3]",
    ),
    (
        "INGEST_MAX_TIMESTAMP_MS",
        500,
        lambda n: {"trace.samples": [{"timestamp": n}]},
        "out_of_range",
        "$.trace.samples[0].timestamp",
    ),
]


@pytest.mark.parametrize(("name", "limit", "fields", "reason", "path"), LIMITS, ids=[case[0] for case in LIMITS])
def test_a_limit_takes_what_is_at_it_and_refuses_what_is_above(
    endpoint: IngestServer,
    settings: Settings,
    name: str,
    limit: int,
    fields: Callable[[int], Fields],
    reason: str,
    path: str,
) -> None:
    setattr(settings, name, limit)
    if name == "INGEST_MAX_TEXT_CHARS":
        assert endpoint.post(make_changed({"release": "r", **fields(limit)})).status == 202
    else:
        enough = {"trace.stacks": [{"frameId": 0}] * 2, "trace.samples": [], **fields(limit)}
        answer = endpoint.post(make_changed(enough))
        assert answer.status == 202, answer.json
    answer = endpoint.post(make_changed(fields(limit + 1)))
    assert (answer.status, answer.reason, answer.json["path"]) == (400, reason, path)


@pytest.mark.parametrize("shards", [1, 8])
def test_refusals_are_counted_by_reason_and_hour(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    monkeypatch.setattr("ingest.endpoint.outcomes.SHARDS", shards)
    endpoint.post(
        [make_changed({"seq": -1}), make_changed({"seq": -2}), make_changed({"release": ""}), make_envelope("b")]
    )
    endpoint.post(make_changed({"seq": -1}))
    assert endpoint.refusals() == {"out_of_range": 3, "invalid_value": 1}
    hours = endpoint.rows("SELECT DISTINCT hour_at FROM ingest_refusal WHERE project_id = %(project)s")
    assert all((hour.minute, hour.second, hour.microsecond) == (0, 0, 0) for (hour,) in hours)
    assert len(endpoint.receipts()) == 1


def test_refusals_by_key_origin_and_media_type_are_counted_for_the_key_they_name(endpoint: IngestServer) -> None:
    endpoint.rows("UPDATE projects_ingestkey SET origins = '{}' RETURNING 1")
    endpoint.post(make_envelope(), origin="https://evil.example")
    endpoint.post(make_envelope(), content_type="image/png")
    endpoint.post(make_envelope(), key="nobody")
    assert endpoint.refusals() == {"origin_not_allowed": 1, "unsupported_media": 1}


def test_a_refusal_does_not_repeat_what_was_sent(endpoint: IngestServer) -> None:
    answer = endpoint.post(make_changed({"viewId": "SECRET", "release": "SECRET" * 100}))
    assert b"SECRET" not in answer.content
