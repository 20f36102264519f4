"""Histograms: every value is in one bar, bars lie side by side, and percentiles stand where their value is."""

import pytest

from dashboard.layout.histogram import SCALES, Scale, build_histogram

US = [0, 400, 999, 1_000, 12_345, 12_345, 50_000, 999_999, 1_000_000, 9_876_543_210]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("values", [US, [0], [0, 0], [7], [1_000_000] * 30, list(range(0, 100_000, 37))])
def test_every_value_is_in_one_bar(scale: Scale, values: list[int]) -> None:
    histogram = build_histogram(sorted(values), scale, [])
    assert histogram is not None
    assert sum(bar.count for bar in histogram.bars) == len(values)
    for bar in histogram.bars:
        assert bar.count == sum(bar.low_us <= us < bar.high_us for us in values)
        assert bar.share == pytest.approx(bar.count / len(values))
    for one, other in zip(histogram.bars, histogram.bars[1:], strict=False):
        assert one.high_us <= other.low_us
        assert float(one.x[:-1]) + float(one.width[:-1]) <= float(other.x[:-1])


@pytest.mark.parametrize("scale", SCALES)
def test_marks_stand_in_the_bar_of_their_value(scale: Scale) -> None:
    values = sorted(us for us in US if us < 2_000_000)
    histogram = build_histogram(values, scale, [("p50", 12_345), ("p99", 1_000_000)])
    assert histogram is not None
    for mark in histogram.marks:
        bar = next(bar for bar in histogram.bars if bar.low_us <= mark.us < bar.high_us)
        x, left, width = (float(text[:-1]) for text in (mark.x, bar.x, bar.width))
        assert left - 0.2 <= x <= left + width + 0.2
    assert [mark.is_late for mark in histogram.marks] == [False, True]


def test_of_two_close_marks_the_second_has_its_word_a_line_higher() -> None:
    values = [1_000 * us for us in range(1, 1_001)]
    histogram = build_histogram(values, "linear", [("p50", 500_000), ("p95", 950_000), ("p99", 990_000)])
    assert histogram is not None
    assert [mark.is_high for mark in histogram.marks] == [False, False, True]


def test_without_values_there_is_none() -> None:
    assert build_histogram([], "log", []) is None


def test_the_axis_has_few_round_ticks() -> None:
    even = build_histogram([0, 1_234_567], "linear", [])
    assert even is not None
    assert [tick.us for tick in even.ticks] == [0, 500_000, 1_000_000]
    assert [tick.word for tick in even.ticks] == ["0", "0.5\u202fs", "1\u202fs"]
    log = build_histogram([0, 1_234_567], "log", [])
    assert log is not None
    assert [tick.us for tick in log.ticks] == [1_000, 10_000, 100_000, 1_000_000]
    assert [tick.word for tick in log.ticks] == ["1\u202fms", "10\u202fms", "100\u202fms", "1\u202fs"]
