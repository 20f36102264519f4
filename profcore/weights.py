"""Weights: how much time each sample of a trace stands for, and of which kind it is.

The rules are DESIGN.md's "Weights": integer µs, the gap to the next sample, a cap on long gaps, and a kind for every
sample. For every trace `js + hidden + idle + unobserved + profiler = span`, exactly.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import sub
from typing import Final

from profcore.hidden import HiddenRun, find_runs
from profcore.wire import Mark, Sample

# A gap longer than this many effective intervals is a suspended tab or a starved sampler, not one function running:
# 0.8 % of the JS time of 560 recorded traces (2026-11-21) lies beyond.
GAP_CAP_TICKS: Final = 10

MARKERS: Final = ("script", "gc", "style", "layout", "paint", "other")
MARKER_INDEX: Final = {marker: index for index, marker in enumerate(MARKERS)}
OTHER_MARKER: Final = MARKER_INDEX["other"]
# What the engine does on the main thread in its own name; `script` and `other` prove no work of a page without a stack.
ENGINE_MARKERS: Final = frozenset({"gc", "style", "layout", "paint"})

KIND_JS: Final = 0
KIND_HIDDEN: Final = 1
KIND_IDLE: Final = 2
KIND_PROFILER: Final = 3


@dataclass(slots=True)
class TimeParts:
    """The parts of time in µs and the samples of each kind; additive."""

    js_us: int = 0
    hidden_us: int = 0
    idle_us: int = 0
    unobserved_us: int = 0
    profiler_us: int = 0
    span_us: int = 0
    js_samples: int = 0
    hidden_samples: int = 0
    idle_samples: int = 0
    profiler_samples: int = 0

    def add(self, other: "TimeParts") -> None:
        """Adds the parts of another trace, view or cell."""
        for name in TIME_PART_NAMES:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def samples(self) -> int:
        """All samples, of every kind."""
        return self.js_samples + self.hidden_samples + self.idle_samples + self.profiler_samples


TIME_PART_NAMES: Final = tuple(field.name for field in fields(TimeParts))


@dataclass(frozen=True, slots=True)
class WeighedSamples:
    """The weights of one trace.

    `stack_us[s]` and `stack_samples[s]` are the self time and samples of stack `s`, JS alone. `marker_us` follows
    `MARKERS`, or is None where no sample carried one. `measured_interval_us` is the median positive gap (the
    upper of two), None where no two samples differ in time. `hidden_runs` are those inside long tasks: what engine
    markers alone show as hidden lies in no known task, and in no run.
    """

    parts: TimeParts
    stack_us: list[int]
    stack_samples: list[int]
    marker_us: list[int] | None
    measured_interval_us: int | None
    hidden_runs: list[HiddenRun]


def to_us(ms: float) -> int:
    """Returns whole microseconds, half up: `floor(ms × 1000 + 0.5)`."""
    return math.floor(ms * 1000 + 0.5)


def busy_ranges(marks: Iterable[Mark]) -> list[tuple[int, int]]:
    """Returns the µs ranges `[start, end)` of long tasks, in order and without overlap, empty ones left out.

    A task ends where the next begins, and that one lasts as long as either: together they cover the same time.
    """
    tasks = sorted((to_us(m.start), to_us(m.start + m.duration)) for m in marks if m.type == "longtask")
    ranges: list[tuple[int, int]] = []
    for start, own_end in tasks:
        if own_end <= start:
            continue
        end = own_end
        if ranges and start < ranges[-1][1]:
            before, before_end = ranges.pop()
            end = max(own_end, before_end)
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
    busy: Sequence[tuple[int, int]],
) -> WeighedSamples:
    """Weighs the samples of one trace.

    `profiler_stacks[s]` tells whether stack `s` ends in the profiler's own built-in. `interval_us` is the effective
    interval, `busy` comes from `busy_ranges`.
    """
    times, ordered = in_time_order(samples)
    gaps = list(map(sub, times[1:], times))
    measured = _median_positive(gaps)
    if times:
        gaps.append(interval_us)
    cap = GAP_CAP_TICKS * interval_us
    weights = gaps if max(gaps, default=0) <= cap else [min(gap, cap) for gap in gaps]
    stacks = [sample.stackId for sample in ordered]
    stack_us, stack_samples = [0] * stack_count, [0] * stack_count
    kind_us, kind_samples = [0, 0, 0, 0], [0, 0, 0, 0]
    marker_us: list[int] | None = None
    starts: list[tuple[int, int]] = []  # where runs of hidden samples begin, with their long tasks
    run_task = run_end = -1
    cursor, busy_count = 0, len(busy)
    for position, (sample, stack, time, weight) in enumerate(zip(ordered, stacks, times, weights, strict=True)):
        marker = sample.marker
        if stack is None:
            while cursor < busy_count and busy[cursor][1] <= time:
                cursor += 1
            if cursor < busy_count and busy[cursor][0] <= time:
                kind = KIND_HIDDEN
                if position != run_end or cursor != run_task:
                    starts.append((position, cursor))
                    run_task = cursor
                run_end = position + 1
            else:
                kind = KIND_HIDDEN if marker in ENGINE_MARKERS else KIND_IDLE
        elif profiler_stacks[stack]:
            kind = KIND_PROFILER
        else:
            kind = KIND_JS
            stack_us[stack] += weight
            stack_samples[stack] += 1
        kind_us[kind] += weight
        kind_samples[kind] += 1
        if marker is not None:
            marker_us = marker_us or [0] * len(MARKERS)
            marker_us[MARKER_INDEX.get(marker, OTHER_MARKER)] += weight
    observed, span = sum(weights), sum(gaps)
    js_us, hidden_us, idle_us, profiler_us = kind_us
    parts = TimeParts(js_us, hidden_us, idle_us, span - observed, profiler_us, span, *kind_samples)
    runs = find_runs(starts, times, weights, stacks, busy)
    return WeighedSamples(parts, stack_us, stack_samples, marker_us, measured, runs)


def in_time_order(samples: Sequence[Sample]) -> tuple[list[int], Sequence[Sample]]:
    """Returns the times in µs, ascending, and the samples in that order; equal times keep theirs."""
    floor = math.floor
    times = [floor(sample.timestamp * 1000 + 0.5) for sample in samples]
    if times == sorted(times):  # of what is in order already, a sort is one fast pass
        return times, samples
    order = sorted(range(len(times)), key=times.__getitem__)  # Python's sort is stable
    return [times[position] for position in order], [samples[position] for position in order]


def _median_positive(gaps: Sequence[int]) -> int | None:
    positive = sorted([gap for gap in gaps if gap > 0])
    return positive[len(positive) // 2] if positive else None
