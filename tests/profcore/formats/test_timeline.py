"""One view on one clock: everything that the fold sums, sample by sample, over all traces of the view."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profcore.formats.timeline import NO_STACK, ViewTimeline, ViewTrace, build_timeline
from profcore.sums.fold import FOLD_VERSION, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import MAX_FACT_CHARS, read_marks
from profcore.trace.weights import KIND_ENGINE, KIND_HIDDEN, KIND_IDLE, KIND_JS, KIND_PROFILER, MARKERS
from profcore.trace.wire import Envelope, Frame, Limits, Mark, Sample, Stack, Trace, decode_envelope
from tests.acceptance.recorded import Group, groups, recorded_traces
from tests.envelopes import TIME_ORIGIN_MS, make_envelope
from tests.profcore.strategies import mark_lists

KINDS = {KIND_JS: "js", KIND_HIDDEN: "hidden", KIND_ENGINE: "engine", KIND_IDLE: "idle", KIND_PROFILER: "profiler"}


def trace_of(columns: str = "A\nA B\n-", **fields: Any) -> ViewTrace:
    body = json.dumps(make_envelope("a", columns, **fields)).encode()
    return ViewTrace(decode_envelope(body, Limits()), read_marks(body, page_url=None, page="/cart"))


def timeline_of(*traces: ViewTrace, funcs: FuncTable | None = None) -> ViewTimeline:
    return build_timeline(traces, page="/cart", funcs=FuncTable() if funcs is None else funcs)


def sample_lines(view: ViewTimeline, funcs: FuncTable) -> list[str]:
    """Returns a line per sample: time in ms, kind, weight in ms, and its stack or the stack it is attributed to."""
    samples = view.samples
    lines = []
    for row, time_us in enumerate(samples.time_us):
        path, node = [], samples.stack[row] if samples.stack[row] >= 0 else samples.hidden_stack[row]
        while node >= 0:
            path.append(funcs.keys[view.func[node]].name)
            node = view.prefix[node]
        kind = KINDS[samples.kind[row]]
        fields = [f"{time_us / 1000:g}", kind, f"{samples.weight_us[row] / 1000:g}", *reversed(path)]
        lines.append(" ".join(fields))
    return lines


def test_samples_stand_at_their_time_with_their_kind_and_weight() -> None:
    funcs = FuncTable()
    view = timeline_of(
        trace_of("A\nA B\n-\nA C\n-", marks=[{"type": "longtask", "start": 0, "duration": 35}]), funcs=funcs
    )
    assert sample_lines(view, funcs) == ["0 js 10 A", "10 js 10 A B", "20 hidden 10 A B", "30 js 10 A C", "40 idle 10"]
    assert view.long_tasks == [(0, 35_000)]


def test_times_are_counted_from_the_start_of_the_view() -> None:
    funcs = FuncTable()
    view = timeline_of(trace_of("A\n-", timeOrigin=TIME_ORIGIN_MS, viewStart=TIME_ORIGIN_MS + 5), funcs=funcs)
    assert sample_lines(view, funcs) == ["-5 js 10 A", "5 idle 10"]
    assert view.started_at_ms == TIME_ORIGIN_MS + 5


def test_traces_of_one_view_are_joined_on_one_clock_in_any_order() -> None:
    first = trace_of("A\nA B", seq=0, viewStart=TIME_ORIGIN_MS)
    second = trace_of("A\nC", seq=1, timeOrigin=TIME_ORIGIN_MS + 1_000, viewStart=TIME_ORIGIN_MS)
    funcs = FuncTable()
    view = timeline_of(second, first, funcs=funcs)
    assert sample_lines(view, funcs) == ["0 js 10 A", "10 js 10 A B", "1000 js 10 A", "1010 js 10 C"]
    assert [(trace.seq, trace.start_us, trace.end_us, trace.lane) for trace in view.traces] == [
        (0, 0, 20_000, 0),
        (1, 1_000_000, 1_020_000, 0),
    ]
    assert len(view.func) == 3, "equal call paths of two traces are one stack"
    assert view.overlap_us == 0
    assert view.time.span_us == 40_000


def test_profilers_that_ran_at_once_are_told_apart() -> None:
    first = trace_of("A\nA\nA\nA", seq=0)
    second = trace_of("B\nB\nB", seq=1, timeOrigin=TIME_ORIGIN_MS + 15, viewStart=TIME_ORIGIN_MS)
    third = trace_of("C", seq=2, timeOrigin=TIME_ORIGIN_MS + 30, viewStart=TIME_ORIGIN_MS)
    view = timeline_of(first, second, third)
    assert [trace.lane for trace in view.traces] == [0, 1, 0]
    assert view.lanes == 2
    assert view.overlap_us == 15_000
    assert view.samples.time_us == sorted(view.samples.time_us)
    assert [view.samples.trace[row] for row in range(8)] == [0, 0, 1, 0, 1, 0, 2, 1]
    assert view.time.span_us == 80_000, "time is counted as the fold counts it: once for each trace"


def test_a_trace_that_follows_within_the_last_interval_does_not_overlap() -> None:
    first = trace_of("A\nA", seq=0)
    second = trace_of("B", seq=1, timeOrigin=TIME_ORIGIN_MS + 14, viewStart=TIME_ORIGIN_MS)
    assert (timeline_of(first, second).lanes, timeline_of(first, second).overlap_us) == (1, 0)


def test_a_gap_beyond_the_cap_is_shown() -> None:
    envelope = make_envelope()
    envelope["trace"]["samples"] = [{"timestamp": 5, "stackId": 0}, {"timestamp": 255, "stackId": 0}]
    view = timeline_of(ViewTrace(decode_envelope(json.dumps(envelope).encode(), Limits())))
    assert view.gaps == [(105_000, 255_000, 0)]
    assert view.samples.weight_us == [100_000, 10_000]
    assert view.time.unobserved_us == 150_000


def test_why_a_trace_ended_and_how_it_was_sampled_is_kept() -> None:
    trace = trace_of(reason="buffer-full", requestedInterval=5, traceId="6f1d9d0e-6a43-5b53-9f5e-0d3b6c1c2a10")
    (ended,) = timeline_of(trace).traces
    assert (ended.end_reason, ended.reason) == ("samplebufferfull", "buffer-full")
    assert (ended.requested_interval_us, ended.interval_us, ended.measured_interval_us) == (5_000, 10_000, 10_000)
    assert ended.trace_id == "6f1d9d0e-6a43-5b53-9f5e-0d3b6c1c2a10"


def test_a_trace_without_samples_is_there_and_takes_no_time() -> None:
    empty = trace_of(seq=1)
    empty.envelope.trace.samples = []
    view = timeline_of(empty, trace_of(seq=0))
    assert [(trace.seq, trace.end_us - trace.start_us) for trace in view.traces] == [(0, 30_000), (1, 0)]
    assert len(timeline_of(empty).samples) == 0


def test_a_view_without_traces_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one trace"):
        timeline_of()


MARKS = [
    {"type": "LCP", "start": 812.5, "size": 4_200, "url": "https://shop.example/hero.webp?sig=secret", "id": "hero"},
    {"type": "event", "name": "click", "start": 900, "duration": 120, "interactionId": 7, "processingStart": 905},
    {
        "type": "long-animation-frame",
        "start": 1_000,
        "duration": 80,
        "blockingDuration": 30,
        "scripts": [{"invoker": "BUTTON#buy.onclick", "sourceURL": "https://shop.example/app.js?v=1", "duration": 60}],
    },
    {"type": "measure", "name": "hydrate", "start": 100, "duration": 40, "detail": {"component": "Cart", "deep": {}}},
]


def test_marks_keep_what_else_the_client_said_of_them() -> None:
    view = timeline_of(trace_of(marks=MARKS))
    by_type = {mark.type: mark for mark in view.marks}
    assert [mark.type for mark in view.marks] == [
        "measure", "largest-contentful-paint", "interaction", "long-animation-frame",
    ]  # fmt: skip
    lcp = by_type["largest-contentful-paint"]
    assert (lcp.start_us, lcp.facts) == (
        812_500,
        {"id": "hero", "size": 4_200, "url": "https://shop.example/hero.webp"},
    )
    assert (by_type["interaction"].name, by_type["interaction"].facts["interactionId"]) == ("click", 7)
    frame = by_type["long-animation-frame"]
    assert frame.end_us == 1_080_000
    assert frame.scripts == (
        {"duration": 60, "invoker": "BUTTON#buy.onclick", "sourceURL": "https://shop.example/app.js"},
    )
    assert by_type["measure"].facts == {"detail.component": "Cart"}


def test_a_mark_in_several_traces_is_there_once_on_the_views_clock() -> None:
    first = trace_of(seq=0, marks=MARKS[:1], viewStart=TIME_ORIGIN_MS)
    second = trace_of(
        seq=1,
        timeOrigin=TIME_ORIGIN_MS + 500,
        viewStart=TIME_ORIGIN_MS,
        marks=[{**MARKS[0], "start": 312.5}, {"type": "longtask", "start": 0, "duration": 60}],
    )
    view = timeline_of(first, second)
    assert [(mark.type, mark.start_us) for mark in view.marks] == [
        ("longtask", 500_000),
        ("largest-contentful-paint", 812_500),
    ]
    assert view.long_tasks == [(500_000, 560_000)]


@pytest.mark.parametrize(
    "fact",
    [
        "x" * 100_000,
        {"deep": {"deeper": [1]}},
        [1, 2],
        None,
        True,
        1e308,
        -(10**30),
        10**400,
        {str(n): n for n in range(900)},
    ],
)
def test_no_fact_of_a_mark_is_too_odd(fact: object) -> None:
    body = json.dumps({"marks": [{"type": "odd", "start": 0, "name": fact, "scripts": fact, "x": fact}]}).encode()
    (mark,) = read_marks(body, page_url=None, page="/")
    assert len(mark.facts) <= 40
    assert all(len(str(value)) <= MAX_FACT_CHARS for value in mark.facts.values())


@pytest.mark.parametrize(
    ("key", "text", "kept"),
    [
        ("url", "https://me:pw@shop.example/a?token=1#x", "https://shop.example/a"),
        ("url", "/relative?token=1", "/relative"),
        ("attribution.src", "app.js?token=1", "app.js"),
        ("invoker", "Window.fetch https://shop.example/api?token=1 then", "Window.fetch https://shop.example/api then"),
        ("target", "img[src='data:image/png;base64,AAAA']", "img[src='data:"),
        ("target", "BUTTON#buy", "BUTTON#buy"),
        ("name", "chrome-extension://abcdef/x.js", "chrome-extension:"),
    ],
)
def test_urls_in_facts_lose_what_may_be_secret(key: str, text: str, kept: str) -> None:
    outer, _, inner = key.partition(".")
    body = json.dumps({"marks": [{"type": "x", "start": 0, outer: {inner: text} if inner else text}]}).encode()
    (mark,) = read_marks(body, page_url=None, page="/")
    assert {"name": mark.name, **mark.facts}[key] == kept


def test_moments_are_counted_from_the_marks_start_and_0_is_left_out() -> None:
    mark = {"type": "event", "start": 100, "processingStart": 130.5, "processingEnd": 0, "loadTime": 90, "value": 0}
    (read,) = read_marks(json.dumps({"marks": [mark]}).encode(), page_url=None, page="/")
    assert read.facts == {"processingStart": 30.5, "loadTime": -10, "value": 0}


def test_marks_that_cannot_be_read_are_left_out() -> None:
    assert read_marks(b"{", page_url=None, page="/") == []
    body = b'{"marks": [{"type": 1, "start": 0}, {"type": "x", "start": "0"}, {"type": "x", "start": 1}]}'
    assert [mark.start_us for mark in read_marks(body, page_url=None, page="/")] == [1_000]


def sums_of(view: ViewTimeline, funcs: FuncTable) -> dict[str, Any]:
    """Returns the sums of a timeline, with the fold's names."""
    samples = view.samples
    parts = dict.fromkeys(KINDS.values(), (0, 0))
    self_us: dict[int, int] = {}
    hidden_us: dict[int, int] = {}
    markers: dict[str, int] = {}
    for row, kind in enumerate(samples.kind):
        weight = samples.weight_us[row]
        parts[KINDS[kind]] = (parts[KINDS[kind]][0] + weight, parts[KINDS[kind]][1] + 1)
        if kind == KIND_JS:
            func = view.func[samples.stack[row]]
            self_us[func] = self_us.get(func, 0) + weight
        if samples.hidden_stack[row] != NO_STACK and weight:
            func = view.func[samples.hidden_stack[row]]
            hidden_us[func] = hidden_us.get(func, 0) + weight
        if samples.marker[row] >= 0:
            markers[MARKERS[samples.marker[row]]] = markers.get(MARKERS[samples.marker[row]], 0) + weight
    return {"parts": parts, "self": self_us, "hidden": hidden_us, "markers": markers}


def folded(envelope: Envelope, funcs: FuncTable) -> dict[str, Any]:
    fold = fold_trace(envelope, page=envelope.page or "/cart", funcs=funcs)
    time = fold.parts
    return {
        "parts": {
            "js": (time.js_us, time.js_samples),
            "hidden": (time.hidden_us, time.hidden_samples),
            "engine": (time.engine_us, time.engine_samples),
            "idle": (time.idle_us, time.idle_samples),
            "profiler": (time.profiler_us, time.profiler_samples),
        },
        "self": fold.sums.self_us,
        "hidden": fold.sums.hidden_us,
        "markers": {
            marker: us
            for marker, us in zip(MARKERS, fold.marker_us or [0] * len(MARKERS), strict=True)
            if us or any(sample.marker == marker for sample in envelope.trace.samples)
        },
    }


@pytest.mark.parametrize("group", groups()[::9], ids=" ".join)
def test_recorded_samples_add_up_to_what_the_fold_counts(group: Group) -> None:
    for envelope in recorded_traces()[group][:8]:
        funcs = FuncTable()
        view = build_timeline([ViewTrace(envelope)], page=group[2], funcs=funcs)
        assert sums_of(view, funcs) == folded(envelope, funcs)
        assert sum(end - start for start, end, _ in view.gaps) == view.time.unobserved_us


samples = st.lists(
    st.builds(
        Sample,
        timestamp=st.integers(-50, 400).map(float) | st.floats(-50, 400),
        stackId=st.none() | st.integers(0, 3),
        marker=st.sampled_from([None, "gc", "layout", "script", "paint", "other"]),
    ),
    max_size=25,
)
tasks = st.lists(st.builds(Mark, st.just("longtask"), st.floats(-50, 400), st.floats(0, 200)), max_size=3)


@settings(deadline=None)
@given(samples, tasks | mark_lists, st.randoms(use_true_random=False))
def test_any_samples_add_up_to_what_the_fold_counts(rows: list[Sample], marks: list[Mark], chance: Random) -> None:
    given_ = trace_of("A").envelope
    frames = [Frame("A", 0, 1, 1), Frame("Profiler"), Frame("B")]
    stacks = [Stack(0), Stack(2, 0), Stack(1, 1), Stack(0, 1)]
    given_.trace = Trace(["https://shop.example/app.js"], frames, stacks, rows)
    given_.marks = marks
    funcs = FuncTable()
    view = build_timeline([ViewTrace(given_)], page="/cart", funcs=funcs)
    ours, theirs = sums_of(view, funcs), folded(given_, funcs)
    assert (ours["parts"], ours["self"], ours["hidden"]) == (theirs["parts"], theirs["self"], theirs["hidden"])
    assert sum(end - start for start, end, _ in view.gaps) == view.time.unobserved_us
    assert all(prefix < stack for stack, prefix in enumerate(view.prefix))


def test_the_fold_that_timelines_follow_is_the_one_in_use() -> None:
    assert FOLD_VERSION == 5, "a changed rule of the fold changes profcore/formats/observed.py too"


def test_equal_traces_in_another_order_give_equal_timelines() -> None:
    traces = [trace_of("A\nB", seq=n, timeOrigin=TIME_ORIGIN_MS + 7 * n, viewStart=TIME_ORIGIN_MS) for n in range(5)]
    first = timeline_of(*traces)
    assert replace(timeline_of(*reversed(traces)), func=first.func) == first


def test_a_trace_is_let_go_before_the_next_one_is_taken() -> None:
    envelopes = [
        decode_envelope(json.dumps(make_envelope("a", "A B\nA C", seq=seq)).encode(), Limits()) for seq in range(3)
    ]
    before = [sys.getrefcount(envelopes[at]) for at in range(3)]
    held: list[int] = []

    def take() -> Iterator[ViewTrace]:
        for number, envelope in enumerate(envelopes):
            held.extend(sys.getrefcount(envelopes[at]) - before[at] for at in range(number))
            yield ViewTrace(envelope)

    build_timeline(take(), page="/cart", funcs=FuncTable())
    assert held == [0, 0, 0]  # of the first before the second, and of both before the third
