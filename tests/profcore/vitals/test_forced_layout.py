"""Forced layout of a view, by function: measured by markers, or shared out from long animation frames."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.timeline import ViewTimeline, ViewTrace, build_timeline
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import read_marks
from profcore.trace.wire import decode_envelope
from profcore.vitals.forced_layout import ForcedLayout, find_scripts, share_out, sum_forced_layout
from profcore.vitals.window_sums import tile_samples
from tests.envelopes import make_envelope
from tests.profcore.strategies import PROPERTY
from tests.profcore.vitals.recorded import LIMITS, join, recorded_views

APP: Final = "https://shop.example/app.js"
OTHER: Final = "https://tags.example/tag.js"
Json = dict[str, Any]  # Any: JSON


def frame(*scripts: Json, start: float = 0.0, duration: float = 100.0) -> Json:
    return {"type": "long-animation-frame", "start": start, "duration": duration, "scripts": list(scripts)}


def script(start: float, duration: float, forced: object, url: str = APP) -> Json:
    return {"start": start, "duration": duration, "forced": forced, "url": url}


def sum_joined(timeline: ViewTimeline, funcs: FuncTable) -> ForcedLayout:
    return sum_forced_layout(timeline, find_scripts(timeline.marks), funcs.keys, tile_samples(timeline))


def look(columns: str, *marks: Json, **fields: Any) -> tuple[ForcedLayout, dict[str, int]]:  # Any: JSON
    """Returns the forced layout of a view, samples 10 ms apart from 0, and self µs by the names of its functions."""
    envelopes = [make_envelope("a", columns, marks=list(marks), **fields)]
    funcs = FuncTable()
    forced = sum_joined(join(envelopes, funcs), funcs)
    self_us = forced.funcs.by_func(forced.funcs.self_us)
    return forced, {funcs.keys[index].name: us for index, us in self_us.items()}


def test_a_scripts_forced_time_goes_to_what_ran_in_it_by_its_own_time() -> None:
    forced, self_us = look("A\nA B\nA B\nA B\nC\nC", frame(script(0, 40, 20), script(40, 20, 1)))
    assert self_us == {"A": 5_000, "B": 15_000, "C": 1_000}
    assert (forced.total_us, forced.unattributed_us, forced.is_measured) == (21_000, 0, False)
    assert sorted(forced.funcs.total_us) == [1_000, 15_000, 20_000]  # A called B
    assert sorted(forced.own.self_us) == [10_000, 20_000, 30_000]


def test_a_script_that_forced_little_says_who_does_not_force() -> None:
    columns = "A\nB\nA\nB\nB\nB\nA\nC"
    _, self_us = look(columns, frame(script(0, 20, 10), script(20, 20, 10), script(40, 20, 0), script(60, 20, 12)))
    assert sum(self_us.values()) == 32_000
    assert self_us["A"] > 29_000  # without the third script it would have about the half


def test_functions_that_force_in_part_keep_their_part() -> None:
    _, self_us = look("A\nA\nB\nB\nA\nB", frame(script(0, 20, 10), script(20, 20, 4), script(40, 20, 7)))
    assert self_us == {"A": 15_000, "B": 6_000}


def test_only_samples_that_begin_in_the_script_count_and_only_until_it_ends() -> None:
    _, self_us = look("A\nB\nC\nC", frame(script(5, 20, 18)))
    assert self_us == {"B": 12_000, "C": 6_000}


def test_what_other_scripts_ran_gets_nothing() -> None:
    columns, where = "A\nB", script(0, 20, 8, OTHER)
    forced, self_us = look(columns, frame(where))
    assert (self_us, forced.unattributed_us) == ({}, 8_000)
    trace = make_envelope("a", "A\nB\nA B")["trace"]
    trace["resources"].append(f"{OTHER}?key=1")
    trace["frames"][1]["resourceId"] = 1
    forced, self_us = look(columns, frame(script(0, 30, 8, f"{OTHER}?key=2")), trace=trace)
    assert self_us == {"B": 8_000}
    forced, self_us = look(columns, frame(script(0, 30, 8)), trace=trace)
    assert self_us == {"A": 4_000, "B": 4_000}  # B where A called it


@pytest.mark.parametrize("url", ["", "https://shop.example/" + "x" * 400], ids=["none", "cut"])
def test_without_an_address_all_samples_count(url: str) -> None:
    assert look("A", frame(script(0, 10, 5, url)))[1] == {"A": 5_000}


def test_without_samples_it_is_unattributed() -> None:
    forced, self_us = look("-\n-\nA", frame(script(0, 10, 5), script(11, 4, 3)))
    assert (self_us, forced.unattributed_us, forced.total_us) == ({}, 8_000, 8_000)


def test_hidden_samples_count_for_the_function_that_they_are_attributed_to() -> None:
    task = {"type": "longtask", "start": 0, "duration": 50}
    forced, self_us = look("A\n-\n-\nA", frame(script(0, 40, 30)), task)
    assert self_us == {"A": 30_000}
    assert forced.own.hidden_us.sum() == 20_000


def test_markers_are_used_alone_where_there_are_any() -> None:
    trace = make_envelope("a", "A\nA B\nA B\nA B\n-\nA")["trace"]
    for sample, marker in zip(trace["samples"], ["script", "layout", "style", "paint", "layout", "gc"], strict=True):
        sample["marker"] = marker
    forced, self_us = look("", frame(script(0, 60, 50)), trace=trace)
    assert (self_us, forced.is_measured) == ({"B": 20_000}, True)
    assert (forced.total_us, forced.unattributed_us) == (20_000, 0)
    assert sorted(forced.funcs.total_us) == [20_000, 20_000]


def test_overlapping_scripts_count_their_time_once() -> None:
    forced, self_us = look("A\nB\nC\nC", frame(script(0, 20, 20), script(10, 20, 20), script(0, 20, 20)))
    assert self_us == {"A": 10_000, "B": 10_000, "C": 10_000}
    assert forced.total_us == 30_000


@pytest.mark.parametrize(
    ("forced_ms", "wanted_us"),
    [(25, 20_000), (1e300, 20_000), (10**400, 0), (-3, 0), ("12", 0), (True, 0), (None, 0), (0.0004, 0)],
    ids=str,
)
def test_what_is_forced_is_a_number_of_at_most_the_scripts_length(forced_ms: object, wanted_us: int) -> None:
    assert look("A\nA", frame(script(0, 20, forced_ms)))[0].total_us == wanted_us


@pytest.mark.parametrize(
    ("start", "duration", "wanted_us"),
    [(-50, 20, 5_000), (90, 1e300, 5_000), (1e300, 20, 0), (0, -5, 0), (99, 50, 1_000)],
)
def test_a_script_lies_in_its_frame(start: float, duration: float, wanted_us: int) -> None:
    assert look("A\nA", frame(script(start, duration, 5)))[0].total_us == wanted_us


def test_the_snippets_own_scripts_are_left_out() -> None:
    snippet = "https://shop.example/snippet.js"
    forced, _ = look("A", frame(script(0, 10, 5, snippet)), snippet={"version": "1.1.1", "url": snippet})
    assert forced.total_us == 0


def test_the_browsers_own_names_are_read() -> None:
    entry = {"startTime": 0, "duration": 10, "forcedStyleAndLayoutDuration": 5, "sourceURL": APP}
    assert look("A", frame(entry))[1] == {"A": 5_000}


@pytest.mark.parametrize("release", ["1.0.0", "1.2.0"])
def test_recorded_views_keep_all_of_it(release: str) -> None:
    total_us = unattributed_us = 0
    for envelopes in recorded_views(release, 8):
        frames = {
            (mark["start"], mark["duration"]): mark
            for envelope in envelopes
            for mark in envelope["marks"]
            if mark["type"] == "long-animation-frame"
        }
        wanted_us = sum(
            round(entry["forced"] * 1000)
            for mark in frames.values()
            for entry in mark["scripts"]
            if entry["url"] != envelopes[0]["snippet"]["url"]
        )
        funcs = FuncTable()
        forced = sum_joined(join(envelopes, funcs), funcs)
        assert abs(forced.total_us - wanted_us) <= len(frames)
        assert {*forced.funcs.func.tolist()} <= {*forced.own.func.tolist()}
        total_us += forced.total_us
        unattributed_us += forced.unattributed_us
    assert unattributed_us < 0.1 * total_us


numbers = st.floats(-1e9, 1e9) | st.integers(-100, 200) | st.sampled_from([1e308, -1e308, None, "x", True])
facts = st.fixed_dictionaries(
    {"start": numbers, "duration": numbers, "forced": numbers, "url": st.sampled_from([APP, OTHER, ""])}
)


@PROPERTY
@given(st.lists(st.lists(facts, max_size=5), max_size=3), st.lists(st.sampled_from(["A", "A B", "B A A", "-"])))
def test_any_scripts_add_up_and_take_no_longer_than_their_frames(scripts: list[list[Json]], rows: list[str]) -> None:
    marks = [frame(*entries, start=at * 50) for at, entries in enumerate(scripts)]  # they overlap
    body = json.dumps(make_envelope("a", "\n".join(rows), marks=marks)).encode()
    trace = ViewTrace(decode_envelope(body, LIMITS), read_marks(body, page_url=None, page="/"))
    funcs = FuncTable()
    forced = sum_joined(build_timeline([trace], page="/", funcs=funcs), funcs)
    assert 0 <= forced.unattributed_us <= forced.total_us <= 200_000
    assert all(forced.funcs.self_us <= forced.funcs.total_us)


@PROPERTY
@given(st.integers(0, 10**12), st.lists(st.floats(1e-300, 1e9) | st.just(0.0), min_size=1))
def test_a_shared_time_adds_up_and_is_in_proportion(us: int, weights: list[float]) -> None:
    parts = dict(share_out(us, dict(enumerate(weights))))
    assert sum(parts.values()) == (us if any(weights) else 0)
    assert all(abs(part - us * (weights[key] / sum(weights))) <= 1.001 for key, part in parts.items())
