"""Both twins read the same windows of page views, and the same times of functions in them."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.demo.recordings import FOLDER
from profcore.errors import TraceError
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits
from profcore.vitals.func_times import FuncTimes
from profcore.vitals.view_readers import CompiledReader, PureReader, ReadView, ViewReader
from profcore.vitals.windows import ViewWindows
from tests.corpus import DATA, corpus_envelopes
from tests.profcore.strategies import PROPERTY, SNIPPET_ADDRESS, mark_lists, times_ms, traces
from tests.profcore.trace.wire.mangled import PATHS, json_values
from tests.profcore.trace.wire.refusals import changed, full_envelope
from tests.profcore.twins.comparing import MAX_BYTES, SentBody, kernel_module, needs_kernel, packed
from tests.properties import bounded

pytestmark = needs_kernel
LIMITS: Final = Limits()
Json = dict[str, Any]  # Any: JSON


def envelope_with(*marks: Json) -> Json:
    """Returns the full envelope with these marks, without markers: forced layout is shared out."""
    envelope = {**full_envelope(), "marks": list(marks)}
    for sample in envelope["trace"]["samples"]:
        sample.pop("marker", None)
    return envelope


class CountingReader(CompiledReader):
    """Counts the views that the kernel leaves to the reference."""

    def __init__(self, funcs: FuncTable) -> None:
        super().__init__(kernel_module(), funcs, LIMITS, max_bytes=MAX_BYTES)
        self.left = 0
        read = self._pure.read

        def note(*args: Any, **kwargs: Any) -> ReadView:  # Any: as `read` has them
            self.left += 1
            return read(*args, **kwargs)

        self._pure.read = note  # type: ignore[method-assign]  # of this reader only


def columns_of(times: FuncTimes) -> list[list[int]]:
    return [column.tolist() for column in times]


def answer_of(reader: ViewReader, view: Sequence[SentBody]) -> tuple[object, ...]:
    """Returns all that is read of a view, or its refusal."""

    def choose(windows: ViewWindows) -> ViewWindows:
        return windows

    try:
        read = reader.read(view, page="/cart", choose=choose, with_scripts=True)
    except TraceError as error:
        return error.reason, error.path, error.detail
    assert read.forced is not None
    return (
        read.windows,
        {window: (sums.length_us, list(sums.parts_us), columns_of(sums.funcs)) for window, sums in read.sums.items()},
        (read.forced.is_measured, read.forced.unattributed_us),
        (columns_of(read.forced.funcs), columns_of(read.forced.own)),
        read.hidden,
        read.slow_rate,
    )


def compare_readers(views: Iterable[Sequence[SentBody]]) -> int:
    """Reads views by each twin. Fails if an answer differs. Returns how many the kernel left to the reference."""
    pure_funcs, funcs = FuncTable(), FuncTable()
    pure, compiled = PureReader(pure_funcs, LIMITS), CountingReader(funcs)
    for view in views:
        assert answer_of(compiled, view) == answer_of(pure, view)
    assert funcs.keys == pure_funcs.keys
    return compiled.left


def test_recorded_views() -> None:
    views: defaultdict[str, list[SentBody]] = defaultdict(list)
    for body in gzip.decompress((FOLDER / "1.2.0.ndjson.gz").read_bytes()).splitlines():
        views[json.loads(body)["viewId"]].append(SentBody(gzip.compress(body), is_gzip=True))
    for _, wire in corpus_envelopes():
        views[wire["viewId"]].append(packed(wire))
    with gzip.open(DATA / "truth.jsonl.gz") as lines:
        for line in lines:
            wire = json.loads(line)["envelope"]
            views[wire["viewId"]].append(packed(wire))
    some = list(views.values())[::4]  # of each kind: all of them take half a minute
    assert len(some) > 200
    assert compare_readers(some) == 0


_texts: Final = st.sampled_from(["click", "pointerup", "", None])
_scripts: Final = st.lists(
    st.builds(
        lambda start, lasts, forced, url, position: {
            "start": start,
            "duration": lasts,
            "forced": forced,
            "url": url,
            "position": position,
        },
        times_ms,
        times_ms,
        st.integers(0, 400),
        st.sampled_from([SNIPPET_ADDRESS, "https://shop.example/app.js?v=1", "https://tag.example/t%7e.js", "", None]),
        st.sampled_from([-1, 0, 120]),
    ),
    max_size=4,
)
_ends: Final = st.integers(0, 300_000).map(lambda us: us / 1000)
_events: Final = st.builds(
    lambda start, lasts, kind, name, number, first, last: {
        "type": kind,
        "start": start,
        "duration": lasts,
        "name": name,
        "target": f"{name}:hover",
        "interactionId": number,
        "processingStart": first,
        "processingEnd": last,
    },
    times_ms | st.sampled_from([0, 8, 8.001, 16]),  # events end with one paint if they end within 8 ms
    st.sampled_from([0, 8, 16, 40, 160.0]),
    st.sampled_from(["interaction", "event", "inp", "first-input"]),
    _texts,
    st.sampled_from([7, 7, 8, 0, "7", None]),
    _ends,
    _ends,
)
_frames: Final = st.builds(
    lambda start, lasts, scripts: {
        "type": "long-animation-frame",
        "start": start,
        "duration": lasts,
        "scripts": scripts,
    },
    st.sampled_from([0, 10.5, 20, 60]),
    _ends,
    _scripts,
)


@st.composite
def views(draw: st.DrawFn) -> list[Json]:
    """Draws the envelopes of a view, whose traces may overlap and tell of the same marks."""
    shared = draw(st.lists(_events | _frames, max_size=6))
    has_markers = draw(st.booleans())  # else forced layout is shared out
    envelopes = []
    for number in range(draw(st.integers(1, 3))):
        full = full_envelope()
        marks = [*draw(mark_lists), *shared, *draw(st.lists(_events | _frames, max_size=3))]
        shift_ms = draw(st.sampled_from([0, 0, 20, 150.5, 400]))
        trace = draw(traces())
        if not has_markers:
            trace.samples = [msgspec.structs.replace(sample, marker=None) for sample in trace.samples]
        more = {"seq": draw(st.integers(0, 2)), "timeOrigin": full["timeOrigin"] + shift_ms, "trace": trace}
        envelopes.append({**full, **more, "marks": marks, "viewStart": draw(st.none() | st.just(full["timeOrigin"]))})
        envelopes[-1]["traceId"] = None if number else full["traceId"]
    return envelopes


@bounded(100)
@given(views())
def test_random_views(view: list[Json]) -> None:
    compare_readers([[SentBody(msgspec.json.encode(wire)) for wire in view]] * 2)


@PROPERTY
@given(st.sampled_from(["name", "target", "interactionId", "processingStart", "processingEnd", "scripts"]), st.data())
def test_any_value_of_a_fact(fact: str, data: st.DataObject) -> None:
    marks = [{**data.draw(mark), fact: data.draw(json_values)} for mark in (_events, _frames)]
    compare_readers([[SentBody(json.dumps(envelope_with(*marks)).encode())]])


@PROPERTY
@given(
    st.sampled_from(
        ["start", "startTime", "duration", "forced", "position", "url", "sourceURL", "function", "invoker", "other"]
    ),
    st.data(),
)
def test_any_value_of_a_scripts_fact(fact: str, data: st.DataObject) -> None:
    script = {"start": 0, "duration": 60, "forced": 30, "position": -1, "url": "https://tag.example/tag.js"}
    script[fact] = data.draw(json_values | st.sampled_from(["?only=query", "(profiler)", SNIPPET_ADDRESS]))
    frame = {"type": "loaf", "start": 0, "duration": 80, "scripts": [script]}
    compare_readers([[SentBody(json.dumps(envelope_with(frame)).encode())]])


@bounded(100)
@given(st.data())
def test_any_value_at_any_place(data: st.DataObject) -> None:
    path, value = data.draw(st.sampled_from(PATHS)), data.draw(json_values)
    compare_readers([[SentBody(json.dumps(changed(path, value)).encode())]])


@pytest.mark.parametrize("count", [0, 36, 41, 2_000])
def test_marks_and_scripts_with_many_facts(count: int) -> None:
    more = dict.fromkeys((f"a{number}" for number in range(count)), 1)
    script = {"duration": 1, "forced": 0.5, "url": "https://tag.example/tag.js", **more}
    marks = [
        {"type": "loaf", "start": 0, "duration": 80, "scripts": [{**script, "start": at} for at in range(25)]},
        {"type": "event", "start": 0, "duration": 80, "processingStart": 5, "processingEnd": 30, **more},
    ]
    compare_readers([[packed(envelope_with(*marks))]])


@pytest.mark.parametrize("apart_ms", [7.999, 8, 8.001])
def test_events_that_end_nearly_together(apart_ms: float) -> None:
    first = {"type": "event", "start": 0, "duration": 160, "name": "pointerup", "interactionId": 7}
    second = {**first, "start": 100, "duration": 60 + apart_ms, "name": "click"}
    times = [{"processingStart": 20, "processingEnd": 40}, {"processingStart": 110, "processingEnd": 150}]
    marks = [event | handlers for event, handlers in zip((first, second), times, strict=True)]
    assert compare_readers([[packed(envelope_with(*marks))]]) == 0


def test_frames_at_one_time_that_differ_are_two_and_left_to_the_reference() -> None:
    frame = {"type": "loaf", "start": 0, "duration": 80}
    same, other = [[packed(envelope_with(frame, {**frame, **more}))] for more in ({}, {"x": 1})]
    assert compare_readers([same]) == 0
    assert compare_readers([other]) == 1


def test_a_body_that_the_kernel_leaves_does_not_disturb_the_next_view() -> None:
    name = envelope_with({"type": "event", "start": 0, "duration": 80, "name": "a:b"})
    assert compare_readers([[packed(full_envelope())], [packed(full_envelope()), packed(name)]] * 2) == 2


def test_a_fault_of_the_kernel_leaves_the_view_to_the_reference() -> None:
    reader = CountingReader(FuncTable())
    ranges: dict[str, list[tuple[int, int]]] = {"lcp": [(-(2**62), 2**62), (0, 2**62)]}  # longer than a number holds
    read = reader.read(
        [packed(full_envelope())], page="/", choose=lambda _: ViewWindows(ranges=ranges), with_scripts=True
    )
    assert (reader.left, read.sums["lcp"].length_us) == (1, 2**63 + 2**62)


def test_an_error_of_the_func_table_comes_through() -> None:
    class Failing(FuncTable):
        def read_plain_uri(self, uri: str) -> tuple[str, str]:
            raise LookupError("of a test")

    with pytest.raises(LookupError, match="of a test"):
        answer_of(CountingReader(Failing()), [packed(full_envelope())])
