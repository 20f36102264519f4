"""A view in chunks, as the snippet sends it: its marks in every format, and what two profilers record twice."""

import json
from typing import Any

import pytest

from profcore.formats.firefox.writer import write_views
from profcore.formats.registry import EXPORTERS
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import TimelineMark, describe_script, read_marks
from profcore.trace.weights import TimeParts
from profcore.trace.wire import Limits, decode_envelope
from tests.envelopes import TIME_ORIGIN_MS, make_envelope
from tests.profcore.formats.builders import timeline
from tests.profcore.formats.firefox.lint import load_good

Json = dict[str, Any]
TICK_MS = 10.0
SCRIPT = {
    "start": 101.5,
    "duration": 60,
    "executionStart": 103,
    "url": "https://shop.example/app.js?v=1",
    "function": "openCart",
    "position": 4_211,
    "forced": 21.5,
    "pause": 0,
    "invoker": "BUTTON#buy.onclick",
    "invokerType": "event-listener",
}
FRAME = {
    "type": "long-animation-frame",
    "start": 100,
    "duration": 80,
    "blockingDuration": 30,
    "renderStart": 170,
    "styleAndLayoutStart": 172,
    "firstUIEventTimestamp": 99,
    "scripts": [SCRIPT],
}
CLICK = {
    "type": "interaction",
    "start": 99,
    "duration": 88,
    "name": "click",
    "interactionId": 4_077,
    "processingStart": 102,
    "processingEnd": 163,
    "target": "BUTTON#buy",
}
LCP = {
    "type": "largest-contentful-paint",
    "start": 62.5,
    "size": 41_000,
    "element": "IMG.hero",
    "url": "https://shop.example/hero.webp?sig=1",
    "id": "hero",
}
OTHERS = [
    {"type": "first-contentful-paint", "start": 50},
    {"type": "layout-shift", "start": 180, "value": 0.07, "hadRecentInput": False},
    {"type": "mark", "start": 20, "name": "cart-open"},
    {"type": "measure", "start": 20, "duration": 160, "name": "cart"},
    {"type": "longtask", "start": 100, "duration": 70},
]
MARKS: list[Json] = [FRAME, CLICK, LCP, *OTHERS]


def make_chunk(seq: int, marks: list[Json], *, first_ms: float = 0.0, samples: int = 20, **fields: Any) -> Json:
    """Returns a chunk whose samples are ticks from `first_ms` on, on the document's clock."""
    envelope = make_envelope("v", "\n".join(["A"] * samples), seq=seq, marks=marks, reason="timer", **fields)
    for sample in envelope["trace"]["samples"]:
        sample["timestamp"] += first_ms
    return envelope


def markers(export_of: list[Json]) -> dict[str, list[Json]]:
    """Returns the data of the Firefox Profiler's markers by name."""
    profile = load_good(b"".join(write_views(timeline(*export_of))))
    table, strings = profile["threads"][0]["markers"], profile["shared"]["stringArray"]
    by_name: dict[str, list[Json]] = {}
    for row in range(table["length"]):
        data = {"start": table["startTime"][row], **table["data"][row]}
        by_name.setdefault(strings[table["name"][row]], []).append(data)
    return by_name


def test_the_firefox_profile_shows_every_type_with_its_facts() -> None:
    by_name = markers([make_chunk(0, MARKS)])
    (frame,) = by_name["Long animation frame"]
    assert frame["scripts"] == [["BUTTON#buy.onclick", "openCart", "https://shop.example/app.js", 60, 21.5]]
    assert (frame["blocking"], frame["until_render"], frame["until_layout"]) == (30, 70, 72)
    assert frame["details"] == [["firstUIEventTimestamp", "-1"]]
    (click,) = by_name["Interaction"]
    assert (click["event"], click["target"], click["interaction"]) == ("click", "BUTTON#buy", 4_077)
    assert (click["input_delay"], click["processing"], click["presentation"]) == (3, 61, 24)
    (lcp,) = by_name["LargestContentfulPaint"]
    assert (lcp["size"], lcp["element"], lcp["url"]) == (41_000, "IMG.hero", "https://shop.example/hero.webp")
    assert [paint["start"] for paint in by_name["FirstContentfulPaint"]] == [50]
    (shift,) = by_name["Layout shift"]
    assert (shift["value"], shift["details"]) == (0.07, [["hadRecentInput", "no"]])
    assert [mark["name"] for mark in by_name["UserTiming"]] == ["cart", "cart-open"]
    assert len(by_name["Long task"]) == 1


def test_a_trace_event_file_shows_every_type_with_its_facts() -> None:
    body = b"".join(EXPORTERS["trace-event"].write(timeline(make_chunk(0, MARKS))))
    events = json.loads(body)["traceEvents"]
    details = {event["name"]: event["args"] for event in events if event["name"].startswith("mark: ") and event["args"]}
    assert details["mark: long-animation-frame"]["script 1"] == (
        "BUTTON#buy.onclick openCart https://shop.example/app.js 60 ms, forced layout 21.5 ms"
    )
    assert details["mark: interaction click"]["target"] == "BUTTON#buy"
    assert details["mark: largest-contentful-paint"]["element"] == "IMG.hero"
    assert details["mark: layout-shift"]["value"] == 0.07
    names = {event["name"] for event in events}
    assert {"mark: first-contentful-paint", "mark: mark cart-open", "mark: measure cart", "mark: longtask"} <= names


@pytest.mark.parametrize("name", [name for name, exporter in EXPORTERS.items() if exporter.write_timeline is not None])
def test_every_format_of_single_views_takes_these_marks(name: str) -> None:
    with_marks = b"".join(EXPORTERS[name].write(timeline(make_chunk(0, MARKS))))
    assert with_marks
    assert b"?sig=" not in with_marks


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (SCRIPT, "BUTTON#buy.onclick openCart https://shop.example/app.js?v=1 60 ms, forced layout 21.5 ms"),
        ({"invoker": "", "invokerType": "user-callback", "function": "", "duration": 9.25}, "user-callback 9.25 ms"),
        ({"sourceFunctionName": "f", "sourceURL": "/a.js", "forcedStyleAndLayoutDuration": 4},
         "f /a.js 0 ms, forced layout 4 ms"),
        ({"duration": "long", "forced": True}, "0 ms"),
        ({}, "0 ms"),
    ],
)  # fmt: skip
def test_a_script_of_a_long_frame_is_one_line(script: Json, line: str) -> None:
    assert describe_script(script) == line


def marks_of(*chunks: Json) -> list[TimelineMark]:
    (view,) = timeline(*chunks).views
    return list(view.marks)


def test_a_mark_in_two_chunks_is_there_once_even_if_they_know_different_facts() -> None:
    task = {"type": "longtask", "start": 190, "duration": 70}
    known_later = {**FRAME, "blockingDuration": 31, "scripts": []}
    first = make_chunk(0, [FRAME, CLICK, task, LCP])
    second = make_chunk(1, [known_later, CLICK, task, {**LCP, "start": 260}], first_ms=200)
    marks = marks_of(second, first)
    assert [(mark.type, mark.start_us) for mark in marks] == [
        ("largest-contentful-paint", 62_500),
        ("interaction", 99_000),
        ("long-animation-frame", 100_000),
        ("longtask", 190_000),
        ("largest-contentful-paint", 260_000),
    ]
    assert len(marks[2].scripts) == 1


def test_different_marks_of_one_moment_are_all_there() -> None:
    down, up = ({**CLICK, "name": name} for name in ("pointerdown", "pointerup"))
    shifts = [{"type": "layout-shift", "start": 180, "value": value} for value in (0.1, 0.2)]
    assert len(marks_of(make_chunk(0, [down, up, *shifts]), make_chunk(1, [up], first_ms=200))) == 4


CHUNKS, CHUNK_SAMPLES = 6, 1_000  # a minute


@pytest.mark.parametrize("overlap_ms", [-TICK_MS, 0.0, TICK_MS / 2, TICK_MS])
def test_profilers_that_overlap_count_so_much_time_twice(overlap_ms: float) -> None:
    """At each change of profilers the overlap counts twice, and so does the older one's last interval.

    With an overlap of a tick that is 100 ms of a minute, 0.17 %. The timeline says only the overlap. A new profiler
    that starts a tick after the last sample of the older one counts nothing twice.
    """
    step_ms = (CHUNK_SAMPLES - 1) * TICK_MS - overlap_ms
    chunks = [
        make_chunk(seq, [], first_ms=seq * step_ms, samples=CHUNK_SAMPLES, viewStart=TIME_ORIGIN_MS)
        for seq in range(CHUNKS)
    ]
    recorded_ms = (CHUNKS - 1) * step_ms + CHUNK_SAMPLES * TICK_MS
    folded = TimeParts()
    for chunk in chunks:
        envelope = decode_envelope(json.dumps(chunk).encode(), Limits())
        folded.add(fold_trace(envelope, page="/cart", funcs=FuncTable()).parts)
    (view,) = timeline(*chunks).views
    twice_ms = folded.span_us / 1_000 - recorded_ms
    assert twice_ms == pytest.approx((CHUNKS - 1) * (overlap_ms + TICK_MS))
    assert twice_ms / recorded_ms < 0.0017
    assert view.time.span_us == folded.span_us, "the timeline counts as the fold does"
    assert view.overlap_us / 1_000 == pytest.approx((CHUNKS - 1) * max(overlap_ms, 0))
    assert view.lanes == (2 if overlap_ms > 0 else 1)


def test_marks_of_a_soft_navigation_stand_on_the_views_own_clock() -> None:
    chunk = make_chunk(0, [CLICK], viewStart=TIME_ORIGIN_MS + 90, navigation="route")
    body = json.dumps(chunk).encode()
    trace = ViewTrace(decode_envelope(body, Limits()), read_marks(body, page_url=None, page="/cart"))
    view = build_timeline([trace], page="/cart", funcs=FuncTable())
    assert [mark.start_us for mark in view.marks] == [9_000]
