"""The timeline's pure modules in Node: samples become bars and stretches, marks come into lanes, sums are equal."""

import json
from itertools import islice
from typing import Any

import pytest

from aggregate.selectors.exports.view_timelines import NamedTimeline
from dashboard.api.slices.timeline import TimelineAnswer
from dashboard.web.answers import write_json
from profcore.formats.slice import ExportFunc
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Envelope, Limits, decode_envelope
from tests.corpus import corpus_envelopes
from tests.envelopes import TIME_ORIGIN_MS, make_envelope
from tests.format_judges import run_node


def answer_of(*envelopes: Envelope) -> dict[str, Any]:
    """Returns the answer of `views/{id}/timeline` for the traces of one view."""
    funcs = FuncTable()
    view = build_timeline([ViewTrace(envelope) for envelope in envelopes], page="/a", funcs=funcs)
    rows = [
        ExportFunc(label=key.name, name=key.name, uri=key.uri, line=key.line, column=key.column) for key in funcs.keys
    ]
    answer = TimelineAnswer.of(NamedTimeline(view, rows, [str(n) for n, _ in enumerate(rows)]))
    read: dict[str, Any] = json.loads(write_json(answer))
    return read


def envelope_of(columns: str, **fields: Any) -> Envelope:
    return decode_envelope(json.dumps(make_envelope("a", columns, **fields)).encode(), Limits())


def run(operation: str, answer: dict[str, Any], **asked: object) -> Any:  # Any: JSON
    return run_node("timeline.mjs", operation, given={"answer": answer, "asked": asked})


def sums_of(answer: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {row["name"]: row for row in run("sums", answer)}


CALLS = "A\nA B\nA B\nA C\n-\nA C\nD"


def test_samples_that_follow_each_other_are_one_bar_a_call() -> None:
    answer = answer_of(envelope_of(CALLS))
    assert run("bars", answer) == [
        [["A", 0, 40, 4], ["A", 50, 60, 1], ["D", 60, 70, 1]],
        [["B", 10, 30, 2], ["C", 30, 40, 1], ["C", 50, 60, 1]],
    ]
    assert run("bounds", answer) == [0, 70]
    places = run("places", answer)
    assert places[0] == [[0, 1]]
    assert places[1][0] == [0, pytest.approx(40 / 70)]
    assert places[2][2] == [pytest.approx(50 / 70), pytest.approx(10 / 70)]


def test_a_gap_ends_a_bar_though_the_stack_is_the_same() -> None:
    envelope = make_envelope("a", "A\nA\nA")
    envelope["trace"]["samples"][2]["timestamp"] = 500
    answer = answer_of(decode_envelope(json.dumps(envelope).encode(), Limits()))
    assert run("bars", answer) == [[["A", 0, 110, 2], ["A", 500, 510, 1]]]
    assert run("segments", answer) == [["js", 0, 110, 2], ["unobserved", 110, 500, 0], ["js", 500, 510, 1]]


def test_hidden_time_stands_below_its_function_or_at_the_root() -> None:
    task = [{"type": "longtask", "start": 0, "duration": 40}, {"type": "longtask", "start": 60, "duration": 20}]
    answer = answer_of(envelope_of("A B\n-\n-\nA B\n-\n-\n-\n-", marks=task))
    assert run("bars", answer) == [
        [["A", 0, 40, 4], ["(hidden)", 60, 80, 2]],
        [["B", 0, 40, 4]],
        [["(hidden)", 10, 30, 2]],
    ]
    sums = sums_of(answer)
    assert (sums["B"]["self"], sums["B"]["total"], sums["B"]["hidden"]) == (20, 20, 20)
    assert (sums["A"]["self"], sums["A"]["total"], sums["A"]["samples"]) == (0, 20, 2)


def test_recursion_counts_once_a_sample() -> None:
    sums = sums_of(answer_of(envelope_of("A B A\nA B A")))
    assert (sums["A"]["self"], sums["A"]["total"], sums["A"]["samples"]) == (20, 20, 2)


def test_traces_of_a_view_are_on_one_clock_and_before_its_start_too() -> None:
    early = envelope_of("A", viewStart=TIME_ORIGIN_MS + 40)
    late = envelope_of("B", seq=1, timeOrigin=TIME_ORIGIN_MS + 100, viewStart=TIME_ORIGIN_MS + 40)
    answer = answer_of(early, late)
    assert run("bars", answer) == [[["A", -40, -30, 1], ["B", 60, 70, 1]]]
    assert run("bounds", answer) == [-40, 70]


def test_profilers_that_ran_at_once_are_shown_one_at_a_time() -> None:
    answer = answer_of(envelope_of("A\nA\nA"), envelope_of("B\nB", seq=1, timeOrigin=TIME_ORIGIN_MS + 5))
    assert run("bars", answer) == [[["A", 0, 30, 3]]]
    assert run("bars", answer, lane=1) == [[["B", 5, 25, 2]]]


def test_a_view_without_samples_has_no_bars() -> None:
    answer = answer_of(envelope_of("-\n-"))
    assert run("bars", answer) == []
    assert run("segments", answer) == [["idle", 0, 20, 2]]
    empty = answer_of(envelope_of(""))
    assert run("bounds", empty) == [0, 1]
    assert run("segments", empty) == []


def test_marks_come_into_lanes_by_what_they_are_and_rows_by_time() -> None:
    marks = [
        {"type": "lcp", "start": 30},
        {"type": "longtask", "start": 0, "duration": 60},
        {"type": "measure", "start": 0, "duration": 50},
        {"type": "measure", "start": 20, "duration": 50},
        {"type": "mark", "start": 60},
        {"type": "visibility", "start": 1},
    ]
    lanes = dict(run("lanes", answer_of(envelope_of("A", marks=marks))))
    assert lanes == {
        "Vitals": [["LCP"]],
        "Long tasks": [["Long task"]],
        "User timing": [["Measure", "Mark"], ["Measure"]],
        "Other marks": [["visibility"]],
    }


def test_arrows_walk_in_time() -> None:
    keys = ["callee", "next", "next", "previous", "callee", "caller", "caller"]
    assert run("walk", answer_of(envelope_of(CALLS)), keys=keys) == ["A", "A", "D", "A", "C", "A", "all"]


def test_what_is_drawn_of_recorded_views_adds_up_to_what_the_fold_counts() -> None:
    for _, recorded in islice(corpus_envelopes(), 0, None, 70):
        envelope = decode_envelope(json.dumps(recorded).encode(), Limits())
        answer = answer_of(envelope)
        parts = fold_trace(envelope, page="/a", funcs=FuncTable()).parts
        drawn = dict.fromkeys(("js", "hidden", "engine", "idle", "unobserved", "profiler"), 0.0)
        for kind, start, end, _ in run("segments", answer):
            drawn[kind] += end - start
        for kind, ms in drawn.items():
            assert ms * 1000 == pytest.approx(getattr(parts, f"{kind}_us"), abs=1), kind
        assert sum(row["self"] for row in run("sums", answer)) * 1000 == pytest.approx(parts.js_us, abs=1)
