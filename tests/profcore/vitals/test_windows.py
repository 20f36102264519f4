"""The windows of a view: which paint, interaction and frames count, and where an interaction's parts end."""

from typing import Any

import pytest

from profcore.trace.marks import TimelineMark
from profcore.vitals.windows import ViewWindows, find_windows, unite

MS = 1_000


def mark(kind: str, start_ms: float, duration_ms: float = 0, **details: Any) -> TimelineMark:
    name = details.pop("name", "")
    return TimelineMark(
        type=kind, start_us=round(start_ms * MS), duration_us=round(duration_ms * MS), name=name, facts=details
    )


def event(start_ms: float, duration_ms: float, first_ms: float, last_ms: float, **details: Any) -> TimelineMark:
    """An interaction whose handlers run between two moments after its start."""
    return mark("interaction", start_ms, duration_ms, processingStart=first_ms, processingEnd=last_ms, **details)


def test_a_view_without_marks_has_no_windows() -> None:
    assert find_windows([]) == ViewWindows()


def test_the_last_candidate_ends_the_window_of_the_largest_paint() -> None:
    marks = [mark("largest-contentful-paint", at) for at in (900, 1_800, 400)]
    assert find_windows(marks).ranges == {"lcp": [(0, 1_800_000)]}


def test_a_paint_before_the_view_began_is_no_window() -> None:
    assert find_windows([mark("largest-contentful-paint", -20)]).ranges == {}


def test_the_longest_interaction_is_cut_at_its_handlers() -> None:
    windows = find_windows([event(100, 40, 1, 2), event(500, 200, 30, 150, name="click", target="button#buy")])
    assert windows.ranges == {
        "interaction": [(500_000, 700_000)],
        "input_delay": [(500_000, 530_000)],
        "processing": [(530_000, 650_000)],
        "presentation": [(650_000, 700_000)],
    }
    assert (windows.event, windows.target) == ("click", "button#buy")


def test_the_handlers_of_all_events_of_an_interaction_count() -> None:
    up = event(500, 208, 30, 31, interactionId=7, name="pointerup")
    click = event(500, 200, 31, 170, interactionId=7, name="click")
    other = event(500, 200, 2, 190, interactionId=8)
    earlier = event(380, 80, 1, 70, interactionId=7, name="pointerdown")  # it ends with another paint
    assert find_windows([up, click, other, earlier]).ranges["processing"] == [(530_000, 670_000)]


def test_an_interaction_without_times_of_its_handlers_has_no_parts() -> None:
    for details in ({}, {"processingStart": 5.0}, {"processingStart": "x", "processingEnd": 9.0}):
        windows = find_windows([mark("interaction-to-next-paint", 100, 80, **details)])
        assert windows.ranges == {"interaction": [(100_000, 180_000)]}


@pytest.mark.parametrize(("first", "last"), [(-5, 20), (20, 10), (300, 400)])
def test_odd_times_of_handlers_leave_parts_that_tile_the_interaction_or_none(first: float, last: float) -> None:
    windows = find_windows([event(100, 80, first, last)])
    parts = [windows.ranges.get(part) for part in ("input_delay", "processing", "presentation")]
    if parts != [None, None, None]:
        joined = [span for part in parts if part for span in part]
        assert unite(joined) == windows.ranges["interaction"]


def test_an_empty_part_is_a_part() -> None:
    windows = find_windows([event(100, 80, 0, 80)])
    assert windows.has("input_delay")
    assert windows.length_us("input_delay") == 0


def test_long_frames_are_united_and_counted() -> None:
    windows = find_windows([mark("long-animation-frame", start, 60) for start in (300, 100, 140)])
    assert (windows.ranges, windows.frames) == ({"long_frames": [(100_000, 200_000), (300_000, 360_000)]}, 3)


def test_only_slow_waits_are_kept() -> None:
    slow = find_windows([mark("largest-contentful-paint", 2_501), event(0, 201, 1, 2)]).only_slow()
    assert set(slow.ranges) == {"lcp", "interaction", "input_delay", "processing", "presentation"}
    good = [mark("largest-contentful-paint", 2_500), event(0, 200, 1, 2), mark("long-animation-frame", 0, 60)]
    assert set(find_windows(good).only_slow().ranges) == {"long_frames"}
