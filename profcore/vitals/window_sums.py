"""What ran in the windows of a view: integer sums of µs by func and by part of time.

A sample stands for the time from it to the next one, up to the cap on gaps (profcore/trace/weights.py). A window gets
the part of this time that lies in it. So for each window
`script + hidden + engine + idle + profiler + unobserved = length`, exactly, and a window that covers a view of one
trace has the sums of its fold.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from profcore.formats.timeline import NO_STACK, ViewTimeline
from profcore.sums.fold import PlacedFuncs, place_funcs, sum_placed
from profcore.trace.hidden import Range
from profcore.trace.weights import KIND_ENGINE, KIND_HIDDEN, KIND_IDLE, KIND_JS, KIND_PROFILER
from profcore.vitals.func_times import NO_TIMES, FuncTimes
from profcore.vitals.windows import ViewWindows

# The parts of a window. What no sample stands for is unobserved: before the recording, in gaps, and after its end.
WINDOW_PARTS: Final = ("script", "hidden", "engine", "idle", "profiler", "unobserved")
PART_OF_KIND: Final = {
    KIND_JS: "script",
    KIND_HIDDEN: "hidden",
    KIND_ENGINE: "engine",
    KIND_IDLE: "idle",
    KIND_PROFILER: "profiler",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSums:
    """One window of one view: its length, its parts in the order of `WINDOW_PARTS`, and its funcs; µs."""

    length_us: int
    parts_us: Sequence[int]
    funcs: FuncTimes

    @property
    def script_us(self) -> int:
        """What functions took of it: script, and hidden time."""
        return self.parts_us[WINDOW_PARTS.index("script")] + self.parts_us[WINDOW_PARTS.index("hidden")]


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """The samples of a view that count: each in its own time, `[start, end)`, in order and disjoint."""

    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    place: list[int] = field(default_factory=list)  # of the sample in the timeline

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Yields (start, end, place) of each sample."""
        return zip(self.start, self.end, self.place, strict=True)


def sum_windows(timeline: ViewTimeline, windows: ViewWindows, times: SampleTimes) -> Mapping[str, WindowSums]:
    """Returns the sums of each window that a view has. Funcs are indexes as in the timeline."""
    if not windows.ranges:
        return {}
    placed = place_funcs(timeline.prefix, timeline.func)
    return {window: _sum_window(timeline, placed, times, ranges) for window, ranges in windows.ranges.items()}


def tile_samples(timeline: ViewTimeline) -> SampleTimes:
    """Returns the time of each sample. Where two profilers ran at the same time, only the first one counts.

    A trace's last sample stands for one interval, or less if the next trace begins before.
    """
    samples = timeline.samples
    is_counted = [trace.lane == 0 for trace in timeline.traces]
    places = [place for place, trace in enumerate(samples.trace) if is_counted[trace]]
    column = SampleTimes()
    for place, behind in pairwise([*places, -1]):
        start = samples.time_us[place]
        end = start + samples.weight_us[place]
        if behind >= 0:
            end = min(end, samples.time_us[behind])
        if start < end:
            column.start.append(start)
            column.end.append(end)
            column.place.append(place)
    return column


def _sum_window(
    timeline: ViewTimeline, placed: PlacedFuncs, column: SampleTimes, ranges: Sequence[Range]
) -> WindowSums:
    samples, stack_count = timeline.samples, len(timeline.prefix)
    script_us, script_samples, hidden_us = ([0] * stack_count for _ in range(3))
    parts = dict.fromkeys(WINDOW_PARTS, 0)
    for start, end in ranges:
        at = max(bisect_right(column.start, start) - 1, 0)
        while at < len(column.start) and column.start[at] < end:
            us = min(column.end[at], end) - max(column.start[at], start)
            if us > 0:
                place = column.place[at]
                kind = samples.kind[place]
                parts[PART_OF_KIND[kind]] += us
                if kind == KIND_JS:
                    script_us[samples.stack[place]] += us
                    script_samples[samples.stack[place]] += 1
                elif kind == KIND_HIDDEN and samples.hidden_stack[place] != NO_STACK:
                    hidden_us[samples.hidden_stack[place]] += us
            at += 1
    length_us = sum(end - start for start, end in ranges)
    parts["unobserved"] = length_us - sum(parts.values())
    funcs = NO_TIMES
    if parts["script"] or parts["hidden"]:  # in most short windows nothing ran
        funcs = FuncTimes.of_sums(sum_placed(timeline.prefix, placed, script_us, script_samples, hidden_us))
    return WindowSums(length_us=length_us, parts_us=[parts[part] for part in WINDOW_PARTS], funcs=funcs)
