"""Weights: the time that each sample of a trace stands for, and its kind.

The rules are those of docs/weights.md: integer µs, the gap to the next sample, a cap on long gaps, and a kind for every
sample. For every trace `js + hidden + engine + idle + unobserved + profiler = span`, exactly.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import compress
from operator import sub
from typing import Final, NamedTuple

from profcore.trace.hidden import NO_STACK, OWN_SCRIPT, HiddenRun, Range, find_hidden
from profcore.trace.intervals import GAP_CAP_TICKS, settle_interval
from profcore.trace.mark_types import FrameScript, LongFrames
from profcore.trace.wire import Mark, Sample

MARKERS: Final = ("script", "gc", "style", "layout", "paint", "other")
MARKER_INDEX: Final = {marker: index for index, marker in enumerate(MARKERS)}
OTHER_MARKER: Final = MARKER_INDEX["other"]
# Work of the engine itself on the main thread. `script` and `other` without a stack prove no work of the page.
ENGINE_MARKERS: Final = frozenset({"gc", "style", "layout", "paint"})

KIND_JS: Final = 0
KIND_HIDDEN: Final = 1
KIND_IDLE: Final = 2
KIND_PROFILER: Final = 3
KIND_ENGINE: Final = 4


@dataclass(slots=True)
class TimeParts:
    """The parts of time in µs and the samples of each kind; additive."""

    js_us: int = 0
    hidden_us: int = 0
    engine_us: int = 0
    idle_us: int = 0
    unobserved_us: int = 0
    profiler_us: int = 0
    span_us: int = 0
    js_samples: int = 0
    hidden_samples: int = 0
    engine_samples: int = 0
    idle_samples: int = 0
    profiler_samples: int = 0

    def add(self, added: "TimeParts") -> None:
        """Adds the parts of another trace, view or cell."""
        for name in TIME_PART_NAMES:
            setattr(self, name, getattr(self, name) + getattr(added, name))

    @property
    def samples(self) -> int:
        """All samples, of every kind."""
        return sum(getattr(self, name) for name in TIME_PART_NAMES if name.endswith("_samples"))


TIME_PART_NAMES: Final = tuple(field.name for field in fields(TimeParts))


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedSamples:
    """The weights of one trace.

    `stack_us[s]` and `stack_samples[s]` are the self time and samples of stack `s`, JS only. `marker_us` follows
    `MARKERS`, or is None if no sample has a marker. `measured_interval_us` is the median positive gap (the upper of
    two), or None if no two samples differ in time. `interval_us` is the interval in use (`settle_interval`).
    `hidden_runs` are the hidden runs inside long tasks. Samples that are hidden only by an engine marker lie in no
    known task, so they are in no run.
    """

    parts: TimeParts
    stack_us: list[int]
    stack_samples: list[int]
    marker_us: list[int] | None
    measured_interval_us: int | None
    interval_us: int
    hidden_runs: list[HiddenRun]


class FrameRanges(NamedTuple):
    """The µs ranges of the scripts and the rendering of a trace's long animation frames, each in order, disjoint."""

    scripts: list[Range]
    renderings: list[Range]


def to_us(ms: float) -> int:
    """Returns whole microseconds, half up: `floor(ms × 1000 + 0.5)`."""
    return math.floor(ms * 1000 + 0.5)


def busy_ranges(marks: Iterable[Mark]) -> list[Range]:
    """Returns the µs ranges `[start, end)` of long tasks, in order, without overlap and without empty ones.

    If two tasks overlap, the first ends where the second begins, and the second lasts until the later end.
    """
    return _part([(to_us(m.start), to_us(m.start + m.duration)) for m in marks if m.type == "longtask"])


def script_ranges(scripts: Iterable[FrameScript]) -> list[Range]:
    """Returns the µs ranges of the scripts of long animation frames, parted as `busy_ranges` parts tasks."""
    return _part([(to_us(script.start), to_us(script.start + script.duration)) for script in scripts])


def frame_ranges(frames: LongFrames | None) -> FrameRanges | None:
    """Returns the ranges of long animation frames; None without any that tells its scripts."""
    if frames is None:
        return None
    return FrameRanges(
        scripts=script_ranges(frames.scripts),
        renderings=_part([(to_us(start), to_us(end)) for start, end in frames.renderings]),
    )


def _part(overlapping: list[Range]) -> list[Range]:
    ranges: list[Range] = []
    for start, stop in sorted(overlapping):
        if stop <= start:
            continue
        end = stop
        if ranges and start < ranges[-1][1]:
            before, before_end = ranges.pop()
            end = max(stop, before_end)
            if before < start:
                ranges.append((before, start))
        ranges.append((start, end))
    return ranges


def weigh(
    samples: Sequence[Sample],
    *,
    stack_count: int,
    profiler_stacks: Sequence[bool],
    interval_us: int,
    busy: Sequence[Range],
    frames: FrameRanges | None = None,
    own_scripts: Sequence[Range] = (),
) -> WeighedSamples:
    """Weighs the samples of one trace.

    `profiler_stacks[s]` says whether stack `s` ends in the profiler's own work, `own_scripts` when the snippet's
    scripts ran. `interval_us` is the reported interval, `busy` comes from `busy_ranges`, `frames` from
    `frame_ranges`; None says that nothing tells script and the engine's own work apart.
    """
    ordered, times, gaps, measured, interval_us = measure_gaps(samples, interval_us)
    span, cap = sum(gaps), GAP_CAP_TICKS * interval_us
    weights = [gap if gap < cap else cap for gap in gaps]  # a call to `min` costs five times as much
    stacks = [NO_STACK if (stack := sample.stackId) is None else stack for sample in ordered]
    stack_us, stack_samples = [0] * stack_count, [0] * stack_count
    for stack, weight in zip(stacks, weights, strict=True):
        if stack >= 0:
            stack_us[stack] += weight
            stack_samples[stack] += 1
    parts = TimeParts(span_us=span, unobserved_us=span - sum(weights))
    for stack in compress(range(stack_count), profiler_stacks):
        parts.profiler_us += stack_us[stack]
        parts.profiler_samples += stack_samples[stack]
        stack_us[stack] = stack_samples[stack] = 0
    parts.js_us, parts.js_samples = sum(stack_us), sum(stack_samples)
    for place in find_own_samples(times, stacks, own_scripts):
        parts.profiler_us += weights[place]
        parts.profiler_samples += 1
        stacks[place] = OWN_SCRIPT
    hidden = find_hidden(times, weights, stacks, busy, None if frames is None else frames.scripts)
    parts.hidden_us, parts.hidden_samples = hidden.us, hidden.samples
    parts.engine_us, parts.engine_samples = hidden.engine_us, hidden.engine_samples
    marker_us = None
    markers = [sample.marker for sample in ordered]
    if markers.count(None) < len(markers):
        marker_us = _sum_markers(markers, weights)
    for place, kind in find_work_outside_tasks(times, stacks, None if marker_us is None else markers, busy, frames):
        if kind == KIND_HIDDEN:
            parts.hidden_us += weights[place]
            parts.hidden_samples += 1
        else:
            parts.engine_us += weights[place]
            parts.engine_samples += 1
    parts.idle_us = span - parts.unobserved_us - parts.js_us - parts.profiler_us - parts.hidden_us - parts.engine_us
    parts.idle_samples = len(times) - parts.samples
    return WeighedSamples(
        parts=parts,
        stack_us=stack_us,
        stack_samples=stack_samples,
        marker_us=marker_us,
        measured_interval_us=measured,
        interval_us=interval_us,
        hidden_runs=hidden.runs,
    )


def find_own_samples(times: Sequence[int], stacks: Sequence[int], own_scripts: Sequence[Range]) -> list[int]:
    """Returns the places of the samples without a stack that lie within scripts of the snippet."""
    if not own_scripts:  # as in nearly all traces
        return []
    starts = [start for start, _ in own_scripts]
    return [at for at, time in enumerate(times) if stacks[at] == NO_STACK and is_within(own_scripts, starts, time)]


def _sum_markers(markers: Sequence[str | None], weights: Sequence[int]) -> list[int]:
    marker_us = [0] * len(MARKERS)
    for marker, weight in zip(markers, weights, strict=True):
        if marker is not None:
            marker_us[MARKER_INDEX.get(marker, OTHER_MARKER)] += weight
    return marker_us


def find_work_outside_tasks(
    times: Sequence[int],
    stacks: Sequence[int],
    markers: Sequence[str | None] | None,
    busy: Sequence[Range],
    frames: FrameRanges | None,
) -> Iterator[tuple[int, int]]:
    """Yields the place and kind of each sample without a stack that is work although it lies in no long task.

    It has an engine marker, or a long animation frame was being rendered. With such frames, it is hidden only within a
    script, and there only its marker says that it is work. `markers` is None if no sample has one.
    """
    marked = {place for place, marker in enumerate(markers or ()) if marker in ENGINE_MARKERS}
    rendered: set[int] = set()
    for start, end in () if frames is None else frames.renderings:
        rendered.update(range(bisect_left(times, start), bisect_left(times, end)))
    busy_starts = [start for start, _ in busy]
    script_starts = [] if frames is None else [start for start, _ in frames.scripts]
    for place in marked | rendered:
        if stacks[place] != NO_STACK or is_within(busy, busy_starts, times[place]):
            continue
        if frames is not None and not is_within(frames.scripts, script_starts, times[place]):
            yield place, KIND_ENGINE
        elif place in marked:
            yield place, KIND_HIDDEN


def is_within(ranges: Sequence[Range], starts: Sequence[int], time: int) -> bool:
    """Returns whether a time lies in one of some disjoint ranges, which are in order of their starts."""
    place = bisect_right(starts, time) - 1
    return place >= 0 and time < ranges[place][1]


def measure_gaps(
    samples: Sequence[Sample], reported_us: int
) -> tuple[Sequence[Sample], list[int], list[int], int | None, int]:
    """Returns the samples in order of time, their times and the gaps after them, the median positive gap, and the
    interval in use; all in µs.

    Equal times keep their order. The last sample counts one interval in use, which is not a measured gap.
    """
    floor = math.floor
    times = [floor(sample.timestamp * 1000 + 0.5) for sample in samples]
    if times != sorted(times):  # sorting ordered samples is one fast pass
        order = sorted(range(len(times)), key=times.__getitem__)  # Python's sort is stable
        times, samples = [times[position] for position in order], [samples[position] for position in order]
    gaps = list(map(sub, times[1:], times))
    ascending = sorted(gaps)
    positive = bisect_right(ascending, 0)
    measured = ascending[(positive + len(gaps)) // 2] if positive < len(gaps) else None
    interval_us = settle_interval(reported_us, ascending)
    if times:
        gaps.append(interval_us)
    return samples, times, gaps, measured, interval_us
