"""Properties of the weights of any trace."""

from itertools import pairwise
from random import Random
from typing import Final

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from profcore.trace.mark_types import is_long_frame
from profcore.trace.weights import TIME_PART_NAMES, TimeParts, busy_ranges, to_us
from profcore.trace.wire import Mark, Sample
from tests.profcore.strategies import PROPERTY, mark_lists, sample_lists, times_ms
from tests.profcore.trace.weights.weighing import PROFILER_STACKS, weigh_samples

# What a browser says, what a hostile page says, and what an old envelope may say.
hostile_intervals: Final = st.sampled_from([1, 5, 1_000, 10_000, 16_000, 1_000_000, 2_147_483_000]) | st.integers(
    0, 2**31
)


def parts_sum(parts: TimeParts) -> int:
    """Returns the sum of the parts that make the span."""
    known_us = parts.js_us + parts.hidden_us + parts.engine_us + parts.idle_us
    return known_us + parts.unobserved_us + parts.profiler_us


@PROPERTY
@given(sample_lists(), mark_lists, hostile_intervals)
def test_the_parts_sum_to_the_span(samples: list[Sample], marks: list[Mark], interval_us: int) -> None:
    weighed = weigh_samples(samples, marks, interval_us=interval_us)
    times = [to_us(sample.timestamp) for sample in samples]
    span = max(times) - min(times) + weighed.interval_us if times else 0
    assert parts_sum(weighed.parts) == weighed.parts.span_us == span
    assert sum(weighed.stack_us) == weighed.parts.js_us
    assert sum(weighed.stack_samples) == weighed.parts.js_samples
    assert weighed.parts.samples == len(samples)
    assert min(getattr(weighed.parts, name) for name in TIME_PART_NAMES) >= 0
    assert 1 <= weighed.interval_us <= 1_000_000


@PROPERTY
@given(sample_lists(), mark_lists)
def test_a_kind_is_what_the_plain_words_of_the_rules_say(samples: list[Sample], marks: list[Mark]) -> None:
    counts = dict.fromkeys(("js", "hidden", "engine", "idle", "profiler"), 0)
    ordered = sorted(samples, key=lambda sample: to_us(sample.timestamp))
    for position in range(len(ordered)):
        counts[kind_by_plain_words(ordered, position, marks)] += 1
    parts = weigh_samples(samples, marks).parts
    assert counts == {kind: getattr(parts, f"{kind}_samples") for kind in counts}


def kind_by_plain_words(ordered: list[Sample], position: int, marks: list[Mark]) -> str:
    """Returns the kind of a sample by reading the rules one after the other."""
    sample, frames = ordered[position], [mark for mark in marks if mark.type not in {"longtask", "lcp"}]
    if sample.stackId is not None:
        return "profiler" if PROFILER_STACKS[sample.stackId] else "js"
    time = to_us(sample.timestamp)
    tasks = busy_ranges(marks)
    task = next((task for task in tasks if task[0] <= time < task[1]), None)
    is_marked = sample.marker in {"gc", "style", "layout", "paint"}
    if task is None and not is_marked and not any(is_rendered(frame, time) for frame in frames):
        return "idle"
    scripts = [script for frame in frames for script in msgspec.json.decode(frame.scripts)]
    ranges = [(to_us(script["start"]), to_us(script["start"] + script["duration"])) for script in scripts]
    if not frames or any(start <= time < end for start, end in ranges):
        return "hidden" if task is not None or is_marked else "idle"
    sides = 0
    for step in (-1, 1):
        at = position
        while 0 <= at < len(ordered) and ordered[at].stackId is None:
            at += step
        inside = task is not None and 0 <= at < len(ordered)
        sides += inside and task is not None and task[0] <= to_us(ordered[at].timestamp) < task[1]
    return "hidden" if sides == 2 else "engine"


def is_rendered(frame: Mark, time: int) -> bool:
    """Returns whether a time lies between `renderStart` and the end of a long animation frame."""
    start = msgspec.json.decode(frame.renderStart) if frame.renderStart else None
    if isinstance(start, bool) or not isinstance(start, int | float) or start == 0 or start < frame.start:
        return False
    return to_us(start) <= time < to_us(frame.start + frame.duration)


@PROPERTY
@given(sample_lists(), mark_lists)
def test_rendering_only_makes_idle_time_the_engines(samples: list[Sample], marks: list[Mark]) -> None:
    parts, without = weigh_samples(samples, marks).parts, weigh_samples(samples, without_rendering(marks)).parts
    assert parts.engine_us >= without.engine_us
    assert parts.engine_samples >= without.engine_samples
    assert parts.engine_us + parts.idle_us == without.engine_us + without.idle_us
    assert parts.engine_samples + parts.idle_samples == without.engine_samples + without.idle_samples
    for name in ("js_us", "hidden_us", "profiler_us", "unobserved_us", "span_us"):
        assert getattr(parts, name) == getattr(without, name)


def without_rendering(marks: list[Mark]) -> list[Mark]:
    """Returns marks without what they tell of rendering."""
    return [msgspec.structs.replace(mark, renderStart=msgspec.Raw(b"")) for mark in marks]


@PROPERTY
@given(sample_lists(), mark_lists)
def test_scripts_of_frames_only_part_what_is_hidden_without_them(samples: list[Sample], marks: list[Mark]) -> None:
    parts = weigh_samples(samples, without_rendering(marks)).parts
    without = weigh_samples(samples, [mark for mark in marks if not is_long_frame(mark)]).parts
    assert without.engine_us == without.engine_samples == 0
    assert parts.hidden_us + parts.engine_us == without.hidden_us
    assert parts.hidden_samples + parts.engine_samples == without.hidden_samples
    for name in ("js_us", "idle_us", "profiler_us", "unobserved_us", "span_us"):
        assert getattr(parts, name) == getattr(without, name)


@PROPERTY
@given(sample_lists(), mark_lists)
def test_the_same_sample_twice_changes_counts_and_no_time(samples: list[Sample], marks: list[Mark]) -> None:
    once = weigh_samples(sorted(samples, key=lambda sample: to_us(sample.timestamp)), marks)
    twice = weigh_samples([copy for sample in samples for copy in (sample, sample)], marks)
    assert twice.stack_us == once.stack_us
    assert twice.marker_us == once.marker_us
    assert twice.measured_interval_us == once.measured_interval_us
    assert [getattr(twice.parts, name) for name in TIME_PART_NAMES if name.endswith("_us")] == [
        getattr(once.parts, name) for name in TIME_PART_NAMES if name.endswith("_us")
    ]
    assert twice.parts.samples == 2 * once.parts.samples


@PROPERTY
@given(sample_lists(), mark_lists, st.randoms(use_true_random=False))
def test_samples_of_different_times_weigh_the_same_in_any_order(
    samples: list[Sample], marks: list[Mark], chance: Random
) -> None:
    different = list({to_us(sample.timestamp): sample for sample in samples}.values())
    shuffled = list(different)
    chance.shuffle(shuffled)
    assert weigh_samples(shuffled, marks) == weigh_samples(different, marks)


@PROPERTY
@given(mark_lists)
def test_busy_ranges_are_in_order_and_cover_what_the_long_tasks_cover(marks: list[Mark]) -> None:
    ranges = busy_ranges(marks)
    assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    assert all(start < end for start, end in ranges)
    tasks = [(to_us(m.start), to_us(m.start + m.duration)) for m in marks if m.type == "longtask"]
    edges = {edge for bounds in (*tasks, *ranges) for edge in bounds}
    for time in {edge + step for edge in edges for step in (-1, 0, 1)}:
        assert any(a <= time < b for a, b in ranges) == any(a <= time < b for a, b in tasks)


@PROPERTY
@given(sample_lists(), sample_lists(), mark_lists)
def test_parts_add_up_over_traces(first: list[Sample], second: list[Sample], marks: list[Mark]) -> None:
    one, two = weigh_samples(first, marks).parts, weigh_samples(second, marks).parts
    both = TimeParts()
    both.add(one)
    both.add(two)
    for name in TIME_PART_NAMES:
        assert getattr(both, name) == getattr(one, name) + getattr(two, name)
    assert parts_sum(both) == both.span_us


@PROPERTY
@given(times_ms)
def test_a_time_in_whole_microseconds_comes_back(ms: float) -> None:
    assert abs(to_us(ms) - ms * 1000) < 0.001
