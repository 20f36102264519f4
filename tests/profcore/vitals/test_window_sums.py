"""What ran in the windows of a view: held against an oracle on recorded views, and against the fold on any samples."""

import json
from collections import Counter
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.blobs import IntColumn
from profcore.sums.fold import FUNC_SUM_NAMES, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Envelope, Frame, Mark, Sample, Stack, Trace, decode_envelope
from profcore.vitals.window_sums import WINDOW_PARTS, WindowSums, sum_windows, tile_samples
from profcore.vitals.windows import WINDOWS, ViewWindows, find_windows
from tests.envelopes import make_envelope
from tests.profcore.strategies import PROPERTY, mark_lists, sample_lists
from tests.profcore.vitals.oracle import hidden_in, script_in, windows_of
from tests.profcore.vitals.recorded import LIMITS, join, recorded_views

COLUMNS: Final = ("self_us", "total_us", "hidden_us")


def column_of(window: WindowSums, name: str) -> dict[int, int]:
    column: IntColumn = getattr(window.funcs, name)
    return window.funcs.by_func(column)


def named(column: dict[int, int], funcs: FuncTable) -> Counter[Any]:
    sums: Counter[Any] = Counter()
    for index, us in column.items():
        key = funcs.keys[index]
        sums[key.line, key.column, key.name] += us
    return +sums


def without_uri(sums: Counter[Any]) -> Counter[Any]:
    short: Counter[Any] = Counter()
    for (_, line, column, name), us in sums.items():
        short[line, column, name] += us
    return short


@pytest.mark.parametrize("release", ["1.0.0", "1.2.0"])
def test_recorded_views_have_the_oracles_windows_and_script_times(release: str) -> None:
    views = recorded_views(release, 8)
    assert len(views) == 8
    for envelopes in views:
        funcs = FuncTable()
        timeline = join(envelopes[::-1], funcs)  # in any order
        windows = find_windows(timeline.marks)
        wanted = windows_of(envelopes)
        assert {window: list(ranges) for window, ranges in windows.ranges.items()} == {
            window: [span for span in ranges if span[0] < span[1]] for window, ranges in wanted.items()
        }
        by_window = sum_windows(timeline, windows, tile_samples(timeline))
        assert set(by_window) == set(WINDOWS)
        for window, ranges in wanted.items():
            self_us, everything = script_in(envelopes, ranges)
            assert named(column_of(by_window[window], "self_us"), funcs) == without_uri(self_us)
            assert named(column_of(by_window[window], "total_us"), funcs) == without_uri(everything)
            parts = dict(zip(WINDOW_PARTS, by_window[window].parts_us, strict=True))
            assert parts["script"] == sum(self_us.values())
            assert parts["hidden"] == hidden_in(envelopes, ranges)
            assert by_window[window].script_us == parts["script"] + parts["hidden"]
            assert sum(parts.values()) == sum(end - start for start, end in ranges)
        tiles = [by_window[part] for part in ("input_delay", "processing", "presentation")]
        assert add(tiles) == add([by_window["interaction"]])


def add(windows: list[WindowSums]) -> tuple[list[int], list[dict[int, int]]]:
    """Returns the sums of several windows: parts, and columns of funcs."""
    parts = [sum(column) for column in zip(*(window.parts_us for window in windows), strict=True)]
    columns = []
    for name in COLUMNS:
        column: Counter[int] = Counter()
        for window in windows:
            column.update(column_of(window, name))
        columns.append(dict(+column))
    return parts, columns


def envelope_of(samples: list[Sample], marks: list[Mark]) -> Envelope:
    made = decode_envelope(json.dumps(make_envelope("a")).encode(), LIMITS)
    frames = [Frame("A", 0, 1, 1), Frame("Profiler"), Frame("B")]
    stacks = [Stack(0), Stack(2, 0), Stack(1, 1), Stack(0, 1)]
    made.trace = Trace(["https://shop.example/app.js"], frames, stacks, samples)
    made.marks = marks
    return made


@PROPERTY
@given(sample_lists(), mark_lists, st.integers(-3_000, 400_000))
def test_a_window_over_the_whole_view_is_its_fold_and_two_halves_are_the_whole(
    samples: list[Sample], marks: list[Mark], cut_us: int
) -> None:
    envelope, funcs = envelope_of(samples, marks), FuncTable()
    timeline = build_timeline([ViewTrace(envelope)], page="/", funcs=funcs)
    start, end = -10_000_000, 100_000_000
    whole, left, right = (
        sum_windows(timeline, ViewWindows(ranges={"lcp": [span]}), tile_samples(timeline))["lcp"]
        for span in ((start, end), (start, cut_us), (cut_us, end))
    )
    fold = fold_trace(envelope, page="/", funcs=funcs)
    assert set(COLUMNS) <= set(FUNC_SUM_NAMES)
    for name in COLUMNS:
        assert column_of(whole, name) == {f: us for f, us in getattr(fold.sums, name).items() if us}
    parts = dict(zip(WINDOW_PARTS, whole.parts_us, strict=True))
    time = fold.parts
    assert [parts[name] for name in WINDOW_PARTS[:-1]] == [
        time.js_us,
        time.hidden_us,
        time.engine_us,
        time.idle_us,
        time.profiler_us,
    ]
    assert sum(whole.parts_us) == end - start
    assert add([left, right]) == add([whole])


def test_where_two_profilers_ran_at_once_one_of_them_counts() -> None:
    envelopes = [make_envelope("a", "A\nA\nA\nA", seq=seq) for seq in (0, 1)]
    funcs = FuncTable()
    timeline = join([{**envelope, "marks": []} for envelope in envelopes], funcs)
    by_window = sum_windows(timeline, ViewWindows(ranges={"lcp": [(0, 30_000)]}), tile_samples(timeline))
    assert by_window["lcp"].parts_us == [30_000, 0, 0, 0, 0, 0]
