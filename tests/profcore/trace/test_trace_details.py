"""What an envelope says about its view, read without the samples."""

import json
from typing import Any

import pytest

from profcore.trace.trace_details import TraceDetails, Vitals, join_vitals, read_details
from tests.envelopes import make_envelope


def details_of(**fields: Any) -> TraceDetails:
    return read_details(json.dumps(make_envelope("a", **fields)).encode())


def test_browser_machine_tags_and_reason_are_read() -> None:
    details = details_of(
        userAgent="Some/1.0", device={"memory": 4, "cores": 8}, tags={"b": "2", "a": "1"}, reason="pagehide"
    )
    assert details.user_agent == "Some/1.0"
    assert details.device is not None
    assert (details.device.memory, details.device.cores, details.device.mobile) == (4, 8, None)
    assert details.tags == ("a:1", "b:2")
    assert details.reason == "pagehide"
    assert details_of(tags=["z", "y"]).tags == ("y", "z")


@pytest.mark.parametrize(
    ("sent", "read"),
    [(1, 1), (1_200, 1_200), (0, 0), (-1, 0), (None, 0), (True, 0), ("7", 0), (1.5, 0), ([{}], 0), (10**18, 0)],
)
def test_marks_that_the_sender_left_out_are_a_number_or_none(sent: object, read: int) -> None:
    details = details_of(marksDropped=sent, reason="timer")
    assert (details.marks_dropped, details.reason) == (read, "timer")


def test_an_envelope_that_tells_nothing_has_no_facts() -> None:
    assert details_of() == TraceDetails()
    assert read_details(b"\xff not json") == TraceDetails()


def test_the_last_candidate_for_lcp_counts_and_the_clients_own_inp() -> None:
    marks = [
        {"type": "lcp", "start": 800},
        {"type": "largest-contentful-paint", "start": 1200.5},
        {"type": "fcp", "start": 300},
        {"type": "event", "start": 2000, "duration": 250},
        {"type": "INP", "start": 2000, "duration": 180},
    ]
    assert details_of(marks=marks).vitals == Vitals(lcp_us=1_200_500, fcp_us=300_000, inp_us=180_000)
    without = [mark for mark in marks if mark["type"] != "INP"]
    assert details_of(marks=without).vitals.inp_us == 250_000  # the longest interaction


def test_vitals_are_on_the_views_clock() -> None:
    origin = 1_700_000_000_000.0
    marks = [{"type": "lcp", "start": 900}]
    assert details_of(timeOrigin=origin, viewStart=origin + 400, marks=marks).vitals.lcp_us == 500_000


def test_the_vitals_of_a_view_are_the_latest_and_longest_of_its_traces() -> None:
    assert join_vitals([Vitals(5, None, 7), Vitals(9, 2, None), Vitals()]) == Vitals(9, 2, 7)
    assert join_vitals([]) == Vitals()
