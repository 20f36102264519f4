"""The interval in use: the reported one, unless the trace disagrees with it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.observed import observe
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.intervals import MAX_POSTED_MS, MIN_GAPS, MIN_POSTED_MS, settle_interval
from profcore.trace.weights import to_us
from profcore.trace.wire import Envelope, Limits, Mark, Sample, Stack, Trace, decode_envelope
from profcore.trace.wire import Frame as WireFrame
from tests.corpus import corpus_envelopes
from tests.profcore.strategies import PROPERTY, mark_lists
from tests.profcore.trace.weights.weighing import weigh_samples


def spaced(count: int, gap_ms: float) -> list[Sample]:
    """Returns samples with a stack at equal distances."""
    return [Sample(index * gap_ms, 0) for index in range(count)]


@pytest.mark.parametrize("reported_ms", [2_147_483.0, 1_000.0, 25.0])
def test_a_hundred_samples_a_millisecond_apart_are_a_tenth_of_a_second_whatever_is_reported(reported_ms: float) -> None:
    weighed = weigh_samples(spaced(100, 1), [], interval_us=to_us(reported_ms))
    assert weighed.parts.js_us == weighed.parts.span_us == 100_000


def test_a_report_that_is_too_short_does_not_hide_time() -> None:
    weighed = weigh_samples(spaced(100, 20), [], interval_us=1_000)
    assert (weighed.parts.js_us, weighed.parts.unobserved_us) == (2_000_000, 0)


@pytest.mark.parametrize("reported_ms", [5.0, 8.0, 10.0, 16.0, 19.0, 20.0])
def test_a_report_within_a_factor_of_two_is_used(reported_ms: float) -> None:
    assert weigh_samples(spaced(100, 10), [], interval_us=to_us(reported_ms)).interval_us == to_us(reported_ms)


def test_bursts_do_not_make_a_report_too_long() -> None:
    # sixty ticks of 10 ms, each with four more samples within the next half millisecond
    samples = [Sample(tick * 10 + extra * 0.1) for tick in range(60) for extra in range(5)]
    weighed = weigh_samples(samples, [])
    assert weighed.measured_interval_us == 100
    assert weighed.interval_us == 10_000


def test_few_gaps_do_not_decide_and_those_of_zero_do_not_count() -> None:
    few = [*spaced(MIN_GAPS, 1), *[Sample(0.0)] * 100]
    assert weigh_samples(few, [], interval_us=10_000).interval_us == 10_000
    assert weigh_samples(spaced(MIN_GAPS + 1, 1), [], interval_us=10_000).interval_us == 1_000


def test_gaps_of_exactly_the_cap_are_not_asked() -> None:
    assert settle_interval(10_000, [100_000] * 500) == 10_000
    assert settle_interval(10_000, [100_001] * 500) == 100_001


def test_no_trace_waits_longer_than_a_second_for_its_last_sample() -> None:
    assert settle_interval(2_147_483_000, []) == 1_000_000
    assert settle_interval(10_000, [5_000_000] * 100) == 1_000_000


@PROPERTY
@given(
    st.lists(st.integers(-1_000, 3_000_000), max_size=80),
    mark_lists,
    st.floats(MIN_POSTED_MS, MAX_POSTED_MS) | st.sampled_from([MIN_POSTED_MS, MAX_POSTED_MS]),
)
def test_the_worst_posted_trace_lasts_a_second_longer_than_its_samples(
    times_us: list[int], marks: list[Mark], reported_ms: float
) -> None:
    samples = [Sample(us / 1000, None if us % 3 else us % 4) for us in times_us]
    parts = weigh_samples(samples, marks, interval_us=to_us(reported_ms)).parts
    assert (
        parts.js_us + parts.hidden_us + parts.engine_us + parts.idle_us + parts.unobserved_us + parts.profiler_us
        == parts.span_us
    )
    assert parts.span_us <= (max(times_us) - min(times_us) + 1_000_000 if times_us else 0)


def envelope_of_samples(samples: list[Sample], reported_ms: float) -> Envelope:
    """Returns an envelope of one function with samples."""
    wire = {
        "viewId": "6f9d2f0e-3a44-4d3a-9d0a-0a5f3c1e7b21",
        "seq": 0,
        "release": "1",
        "page": "/",
        "timeOrigin": 1.7e12,
        "sampleInterval": reported_ms,
        "trace": {"resources": [], "frames": [], "stacks": [], "samples": []},
    }
    envelope = decode_envelope(json.dumps(wire).encode(), Limits())
    envelope.trace = Trace([], [WireFrame("f")], [Stack(0)], samples)
    return envelope


@pytest.mark.parametrize(("reported_ms", "gap_ms"), [(1_000, 1), (1, 30), (10, 10), (900_000, 10)])
def test_timelines_use_the_interval_of_the_fold(reported_ms: float, gap_ms: float) -> None:
    envelope = envelope_of_samples([*spaced(50, gap_ms), Sample(90_000.0, 0)], reported_ms)
    fold = fold_trace(envelope, page="/", funcs=FuncTable())
    seen = observe(envelope, page="/", funcs=FuncTable())
    assert (seen.interval_us, seen.time) == (fold.interval_us, fold.parts)
    assert sum(seen.weight_us) == fold.parts.span_us - fold.parts.unobserved_us


def test_no_recorded_trace_disagrees_with_its_report() -> None:
    count = 0
    for _, wire in corpus_envelopes():
        envelope = decode_envelope(json.dumps(wire).encode(), Limits())
        fold = fold_trace(envelope, page="/", funcs=FuncTable())
        assert fold.interval_us == to_us(envelope.sampleInterval)
        count += 1
    assert count == 560
