"""Both twins answer alike, whatever is sent: shapes that are dear to fold, broken envelopes, broken gzip."""

import gzip
import json
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.trace.wire import Limits
from tests.hostile.cases import BodyCase
from tests.hostile.core_parts import ENVELOPES, LIMITS
from tests.hostile.shapes import SHAPES, TraceShape, make_envelope
from tests.profcore.strategies import PROPERTY, mark_lists, traces
from tests.profcore.trace.wire.mangled import PATHS, json_values
from tests.profcore.trace.wire.refusals import body_of, changed, full_envelope
from tests.profcore.twins.comparing import CELLS, VIEWS, SentBody, SentTrace, compare_twins, needs_kernel
from tests.properties import bounded

pytestmark = needs_kernel
BODY = body_of(full_envelope())
SNIPPET = full_envelope()["snippet"]
PIECES = [b"null", b"-", b"0", b"e5", b".0", b"\\u0041", b"\\ud800"]


def gzip_of(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_shapes_that_are_expensive_to_fold(shape: TraceShape) -> None:
    body = SentBody(gzip_of(msgspec.json.encode(make_envelope(shape, 600, 400))), is_gzip=True)
    assert compare_twins([SentTrace(body)]).left == 0


@bounded(150)
@given(st.lists(st.tuples(ENVELOPES, st.sampled_from(CELLS), st.sampled_from(VIEWS)), min_size=1, max_size=3))
def test_hostile_envelopes(cases: list[tuple[BodyCase, str, Any]]) -> None:
    compare_twins([SentTrace(SentBody(case.body), "/", cell, view_id) for case, cell, view_id in cases], LIMITS)


@bounded(150)
@given(st.data())
def test_any_value_at_any_place(data: st.DataObject) -> None:
    path, value = data.draw(st.sampled_from(PATHS)), data.draw(json_values)
    body = json.dumps(changed(path, value)).encode()
    compare_twins([SentTrace(SentBody(BODY)), SentTrace(SentBody(body))])


@bounded(150)
@given(st.data())
def test_any_bytes_at_any_place(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(BODY) - 1))
    cut = data.draw(st.integers(0, 3))
    more = data.draw(
        st.binary(max_size=4) | st.sampled_from([b"null", b"-", b"0", b"e5", b".0", b"\\u0041", b"\\ud800"])
    )
    compare_twins([SentTrace(SentBody(BODY[:start] + more + BODY[start + cut :]))])


HALVED = st.lists(st.sampled_from(["\ud83d", "\ude00", "😀", "\\", "a", "u", '"']), max_size=6).map("".join)


@bounded(150)
@given(st.sampled_from(["$.trace.frames[0].name", "$.trace.samples[2].marker", "$.release", "$.tags.team"]), HALVED)
def test_half_a_surrogate_pair_anywhere_is_no_reason_to_refuse(path: str, text: str) -> None:
    body = json.dumps(changed(path, f"x{text}")).encode()
    outcome = compare_twins([SentTrace(SentBody(BODY)), SentTrace(SentBody(body))])
    assert outcome.refused == 0


@PROPERTY
@given(traces(), mark_lists, st.floats(0.001, 100), st.sampled_from([SNIPPET, {"version": "1.0.0"}, None]))
def test_random_traces(trace: Any, marks: Any, interval_ms: float, snippet: Any) -> None:
    wire = {**full_envelope(), "trace": trace, "marks": marks, "sampleInterval": interval_ms, "snippet": snippet}
    outcome = compare_twins([SentTrace(SentBody(msgspec.json.encode(wire)))] * 2)
    assert outcome.left == 0


@pytest.mark.parametrize("number", [2**53, 10**30])
def test_whole_numbers_beyond_the_exact_ones_are_left_to_the_pure_twin(number: int) -> None:
    frame = {"type": "loaf", "start": 0, "duration": 100, "scripts": [], "renderStart": number}
    outcome = compare_twins([SentTrace(SentBody(msgspec.json.encode({**full_envelope(), "marks": [frame]})))])
    assert (outcome.folded, outcome.left) == (1, 1)


@pytest.mark.parametrize(
    "sent",
    [
        gzip_of(BODY)[:-1],
        gzip_of(BODY)[:-9],
        gzip_of(BODY)[:20],
        gzip_of(BODY)[:10],
        b"\x1f\x8b",
        gzip_of(BODY) + b"\0",
        gzip_of(BODY) + gzip_of(b""),
        gzip_of(BODY[:50]) + gzip_of(BODY[50:]),
        gzip_of(BODY)[:-8] + b"\0" * 8,
        gzip_of(BODY)[:-4] + b"\xff\xff\xff\xff",
        gzip_of(BODY)[:3] + b"\x08" + gzip_of(BODY)[4:10] + b"name\0" + gzip_of(BODY)[10:],
        gzip_of(BODY)[:3] + b"\xe0" + gzip_of(BODY)[4:],
        zlib.compress(BODY),
        BODY,
        b"",
    ],
)
def test_gzip_that_is_not_one_plain_member(sent: bytes) -> None:
    compare_twins([SentTrace(SentBody(sent, is_gzip=True))])


@pytest.mark.parametrize("room", [-1, 0, 1])
def test_a_body_expands_up_to_the_bound_and_no_further(room: int) -> None:
    body = SentBody(gzip_of(BODY), is_gzip=True, max_bytes=len(BODY) + room)
    outcome = compare_twins([SentTrace(body)])
    assert (outcome.refused, outcome.left) == (int(room < 0), 0)


def test_limits_are_those_of_the_pure_twin() -> None:
    """The envelope at each limit is folded by the kernel, the one beyond is refused."""
    trace = full_envelope()["trace"]
    names = {"samples": 3, "stacks": 2, "frames": 2, "resources": 1, "marks": 1, "tags": 1}
    assert {name: len(trace[name]) for name in trace} == {name: names[name] for name in trace}
    for name, count in names.items():
        for limit, refused in ((count, 0), (count - 1, 1)):
            outcome = compare_twins([SentTrace(SentBody(BODY))], Limits(**{name: limit}))
            assert (outcome.refused, outcome.left) == (refused, 0), name
