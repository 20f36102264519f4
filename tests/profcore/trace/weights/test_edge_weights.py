"""Recorded traces of real browsers' effects on time."""

from itertools import pairwise

import pytest

from profcore.trace.weights import MARKERS
from tests.profcore.edge import EdgeTrace, edge_meta


def busy(start: float, duration: float) -> list[dict[str, object]]:
    """Returns the marks of one long task in the wire's shape."""
    return [{"type": "longtask", "start": start, "duration": duration}]


# Samples without a stack


def test_a_busy_loop_without_stacks_is_hidden_time_once_a_long_task_says_so() -> None:
    silent = EdgeTrace("stackless-busy-loop")
    marked = EdgeTrace("stackless-busy-loop", marks=busy(3_690, 502))
    assert silent.parts.idle_samples == marked.parts.hidden_samples == 147
    assert marked.parts.idle_us == 0
    assert marked.parts.hidden_us == silent.parts.idle_us > 450_000
    assert marked.parts.js_us == silent.parts.js_us
    for column in ("self_us", "total_us", "self_samples", "total_samples"):  # hidden time is nobody's self time
        assert getattr(marked.fold.sums, column) == getattr(silent.fold.sums, column)
    # but it is known who had the thread: 147 samples without a stack, and a few that show the loop
    sums = marked.fold.sums
    assert sum(sums.hidden_us.values()) + sum(sums.uncertain_us.values()) > 0.95 * marked.parts.hidden_us


def test_garbage_collection_without_stacks_is_hidden_time_once_a_long_task_says_so() -> None:
    started, ended = edge_meta("gc")["extra"]["t0"], edge_meta("gc")["extra"]["t1"]
    silent, marked = EdgeTrace("gc"), EdgeTrace("gc", marks=busy(started, ended - started))
    assert (silent.parts.idle_samples, silent.parts.hidden_samples) == (75, 0)
    assert (marked.parts.idle_samples, marked.parts.hidden_samples) == (0, 75)


def test_an_idle_page_is_idle_all_through() -> None:
    edge = EdgeTrace("idle-5s")
    assert edge.parts.idle_samples == 492
    assert edge.parts.idle_us == edge.parts.span_us
    assert edge.parts.span_us == pytest.approx(5_000_000, rel=0.01)


def test_a_page_in_the_back_forward_cache_goes_on_being_sampled_and_is_idle() -> None:
    edge = EdgeTrace("bfcache-restored")
    noted = {event: ms for ms, event in edge_meta("bfcache-restored")["log"] if event in ("freeze", "resume")}
    frozen = [s for s in edge.envelope.trace.samples if noted["freeze"] < s.timestamp < noted["resume"]]
    assert len(frozen) > 100
    assert all(sample.stackId is None for sample in frozen)
    assert edge.parts.unobserved_us == 0


# Intervals and buffers


def test_a_trace_stopped_at_once_has_one_sample_that_weighs_one_interval() -> None:
    edge = EdgeTrace("immediate-stop")
    assert (edge.parts.samples, edge.parts.span_us, edge.parts.js_us) == (1, 10_000, 10_000)
    assert edge.fold.measured_interval_us is None


def test_a_trace_without_a_buffer_is_empty_and_valid() -> None:
    edge = EdgeTrace("maxbuffersize-0")
    assert edge.parts.span_us == edge.parts.samples == 0
    assert edge.keys == []


def test_a_full_buffer_keeps_the_first_samples() -> None:
    edge = EdgeTrace("buffer-full", reason="samplebufferfull")
    assert edge.parts.samples == 5
    assert edge.parts.span_us == edge.times_us()[-1] - edge.times_us()[0] + 10_000


def test_a_fractional_interval_is_reported_wrong_and_measured_right() -> None:
    edge = EdgeTrace("interval-10.5-reports-10")
    assert edge_meta("interval-10.5-reports-10")["requested"] == 10.5
    assert edge.envelope.sampleInterval == 10
    assert edge.fold.measured_interval_us == pytest.approx(20_000, rel=0.02)
    assert edge.fold.interval_us == edge.fold.measured_interval_us  # the report is off by a factor of two: not used
    assert edge.parts.unobserved_us == 0


@pytest.mark.parametrize(
    ("name", "effective_ms"),
    [("multi-p10", 10), ("multi-p20", 20), ("multi-p33", 40), ("multi-p50", 50), ("multi-p100", 100)],
)
def test_five_profilers_at_once_disturb_counts_but_not_time(name: str, effective_ms: int) -> None:
    edge = EdgeTrace(name)
    assert edge.envelope.sampleInterval == effective_ms
    # each new profiler adds a sample to all running ones: more samples than ticks, and yet the same span
    assert edge.parts.samples * effective_ms * 1000 > edge.parts.span_us
    assert edge.parts.span_us == pytest.approx(800_000, rel=0.2)


# Clocks and markers


@pytest.mark.parametrize(("name", "step_us"), [("markers-flag-off-nocoi", 100), ("markers-flag-off-coi", 5)])
def test_the_clock_has_the_resolution_of_its_page(name: str, step_us: int) -> None:
    times = EdgeTrace(name).times_us()
    assert {time % step_us for time in times} == {0}
    assert {time % (step_us * 2) for time in times} == {0, step_us}


def test_without_the_flag_there_are_no_markers() -> None:
    assert EdgeTrace("markers-flag-off-coi").fold.marker_us is None


def test_markers_without_isolation_are_layout_and_style_alone() -> None:
    marker_us = EdgeTrace("markers-flag-on-nocoi").fold.marker_us
    assert marker_us is not None
    assert {word for word, us in zip(MARKERS, marker_us, strict=True) if us} == {"layout", "style"}


def test_markers_make_hidden_time_of_samples_without_a_stack() -> None:
    edge = EdgeTrace("markers-flag-on-coi")
    counts = edge_meta("markers-flag-on-coi")["markerCounts"]
    hidden = counts["gc/nostack"] + counts["paint/nostack"] + counts["style/nostack"]
    assert edge.parts.hidden_samples == hidden == 20
    assert edge.parts.idle_samples == counts["-/nostack"] == 116
    assert edge.parts.js_samples + edge.parts.profiler_samples == 322 - 136  # layout with a stack stays js
    assert edge.fold.marker_us is not None
    assert {word for word, us in zip(MARKERS, edge.fold.marker_us, strict=True) if us} == {
        "script",
        "gc",
        "style",
        "layout",
        "paint",
    }


def test_samples_that_share_a_time_weigh_nothing_but_the_last() -> None:
    edge = EdgeTrace("markers-flag-off-nocoi")
    gaps = [later - earlier for earlier, later in pairwise(sorted(edge.times_us()))]
    assert 0 in gaps
    assert edge.parts.span_us == sum(gaps) + 10_000
