"""Numbers: finite, within bounds, and never so large that they are expensive."""

import pytest

from profcore.errors import Reason
from profcore.trace.wire import MAX_EPOCH_MS, MAX_INTERVAL_MS, MAX_POSITION, MAX_SEQ, MIN_EPOCH_MS, Limits
from tests.profcore.trace.wire.refusals import accepted, changed, refusal, refusal_error, with_raw

MONTH_MS = Limits().timestamp_ms
# path → the least and the greatest number taken
BOUNDS = {
    "$.seq": (0, MAX_SEQ),
    "$.timeOrigin": (MIN_EPOCH_MS, MAX_EPOCH_MS),
    "$.viewStart": (MIN_EPOCH_MS, MAX_EPOCH_MS),
    "$.sampleInterval": (0.001, MAX_INTERVAL_MS),
    "$.requestedInterval": (0, MAX_INTERVAL_MS),
    "$.marks[0].start": (-MONTH_MS, MONTH_MS),
    "$.marks[0].duration": (0, MONTH_MS),
    "$.trace.samples[1].timestamp": (-MONTH_MS, MONTH_MS),
    "$.trace.frames[1].line": (0, MAX_POSITION),
    "$.trace.frames[1].column": (0, MAX_POSITION),
}
FLOATS = [
    "$.timeOrigin",
    "$.viewStart",
    "$.sampleInterval",
    "$.requestedInterval",
    "$.sampleRate",
    "$.slowRate",
    "$.device.memory",
    "$.device.cores",
    "$.marks[0].start",
    "$.marks[0].duration",
    "$.trace.samples[1].timestamp",
]
INTEGERS = ["$.seq", "$.trace.frames[1].line", "$.trace.frames[1].column"]
IDS = ["$.trace.frames[1].resourceId", "$.trace.stacks[1].frameId", "$.trace.samples[1].stackId"]


@pytest.mark.parametrize(("path", "bounds"), BOUNDS.items())
def test_the_least_and_the_greatest_number_are_taken(path: str, bounds: tuple[float, float]) -> None:
    for value in bounds:
        accepted(changed(path, value))


@pytest.mark.parametrize(("path", "bounds"), BOUNDS.items())
def test_a_number_beyond_its_bounds_is_refused_where_it_stands(path: str, bounds: tuple[float, float]) -> None:
    least, greatest = bounds
    below = -1 if least == 0 else least * (2 if least < 0 else 0.5)
    for value in (below, greatest + 1):
        assert refusal(changed(path, value)) == (Reason.OUT_OF_RANGE, path)


@pytest.mark.parametrize("rate", [0, -0.5, 1.0001, 2])
def test_a_sampling_rate_is_a_share(rate: float) -> None:
    assert refusal(changed("$.sampleRate", rate)) == (Reason.OUT_OF_RANGE, "$.sampleRate")
    assert refusal(changed("$.slowRate", rate)) == (Reason.OUT_OF_RANGE, "$.slowRate")
    assert accepted(changed("$.sampleRate", 1e-9)).sampleRate == 1e-9


@pytest.mark.parametrize("path", FLOATS + INTEGERS + IDS)
@pytest.mark.parametrize("word", [b"NaN", b"Infinity", b"-Infinity", b"nan", b"0x10", b"1.", b".5", b"+1"])
def test_what_json_does_not_call_a_number_is_refused(path: str, word: bytes) -> None:
    assert refusal(with_raw(path, word)) == (Reason.INVALID_JSON, "$")


@pytest.mark.parametrize("path", FLOATS + INTEGERS + IDS)
@pytest.mark.parametrize("word", [b"1e999", b"-1e999"])
def test_a_number_that_no_float_can_hold_is_out_of_range(path: str, word: bytes) -> None:
    assert refusal(with_raw(path, word)) == (Reason.OUT_OF_RANGE, path)


@pytest.mark.parametrize("digits", [20, 400, 4_300, 4_301, 100_000])
@pytest.mark.parametrize("sign", [b"", b"-"])
@pytest.mark.parametrize("path", [*FLOATS[:2], *INTEGERS])
def test_an_endless_integer_is_out_of_range_and_not_repeated_in_the_answer(path: str, digits: int, sign: bytes) -> None:
    error = refusal_error(with_raw(path, sign + b"9" * digits))
    assert (error.reason, error.path) == (Reason.OUT_OF_RANGE, path)
    assert len(error.detail) < 100


@pytest.mark.parametrize("digits", [20, 4_300])
def test_an_endless_id_dangles_and_is_not_repeated_in_the_answer(digits: int) -> None:
    error = refusal_error(with_raw("$.trace.samples[1].stackId", b"9" * digits))
    assert (error.reason, error.path) == (Reason.DANGLING_ID, "$.trace.samples[1].stackId")
    assert len(error.detail) < 100


def test_samples_may_lie_before_the_time_origin() -> None:
    assert accepted(changed("$.trace.samples[0].timestamp", -12.5)).trace.samples[0].timestamp == -12.5


def test_samples_may_repeat_a_time_and_step_back() -> None:
    samples = [{"timestamp": 20}, {"timestamp": 20}, {"timestamp": 17.7}]
    assert [s.timestamp for s in accepted(changed("$.trace.samples", samples)).trace.samples] == [20, 20, 17.7]


def test_large_positions_arrive_unclipped() -> None:
    envelope = accepted(changed("$.trace.frames[0].column", 20_000_020))
    assert envelope.trace.frames[0].column == 20_000_020
