"""One trace, sample by sample: the kind, weight and attribution of each sample. `weigh` keeps only their sums.

The rules are those of profcore/trace/weights.py and profcore/trace/hidden.py; a property test compares
the sums of both. `weigh` is the fold's inner loop and keeps no columns, to be fast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from profcore.trace.funcs import FuncTable, clean_url, find_profiler_work, strip_uri
from profcore.trace.hidden import NO_STACK, Range, RunFinder, skip_profiler
from profcore.trace.intervals import GAP_CAP_TICKS
from profcore.trace.mark_types import read_frames
from profcore.trace.weights import (
    KIND_ENGINE,
    KIND_HIDDEN,
    KIND_IDLE,
    KIND_JS,
    KIND_PROFILER,
    MARKER_INDEX,
    OTHER_MARKER,
    TimeParts,
    busy_ranges,
    find_own_samples,
    find_work_outside_tasks,
    frame_ranges,
    is_within,
    measure_gaps,
    to_us,
    weigh,
)
from profcore.trace.wire import Envelope

NO_MARKER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The samples of one trace in order of time, by column, as `TimelineSamples` describes them.

    Stacks are the trace's own (`prefix`, `func` over the given `FuncTable`). `gaps` are `[start, end)` beyond the cap.
    `interval_us` is the interval in use, which may not be the reported one. `start_us` and `last_us` are the times of
    the first and the last sample, 0 without samples. Samples of the profiler have no stack. `own_script` is the
    snippet's address, as marks have it.
    """

    time_us: Sequence[int]
    stack: Sequence[int]
    weight_us: Sequence[int]
    kind: Sequence[int]
    marker: Sequence[int]
    hidden_stack: Sequence[int]
    prefix: Sequence[int]
    func: Sequence[int]
    gaps: Sequence[tuple[int, int]]
    interval_us: int
    measured_interval_us: int | None
    time: TimeParts
    own_script: str | None = None

    @property
    def start_us(self) -> int:
        return self.time_us[0] if self.time_us else 0

    @property
    def last_us(self) -> int:
        return self.time_us[-1] if self.time_us else 0


def observe(envelope: Envelope, *, page: str, funcs: FuncTable, shift_us: int = 0) -> Observed:
    """Returns the columns of all samples of a trace, times moved by `shift_us`. Funcs are interned into `funcs`."""
    trace = envelope.trace
    page_url = clean_url(envelope.url) if envelope.url else None
    index_of = funcs.intern_frames(trace, page_url=page_url, page=page)
    func = [index_of[stack.frameId] for stack in trace.stacks]
    frames = read_frames(envelope.marks)
    profiler = find_profiler_work(trace, envelope.snippet, None if frames is None else frames.scripts)
    callers = [NO_STACK if stack.parentId is None else stack.parentId for stack in trace.stacks]
    prefix = skip_profiler(callers, profiler.stacks)
    reported_us = to_us(envelope.sampleInterval)
    busy, ranges = busy_ranges(envelope.marks), frame_ranges(frames)
    ordered, times, gaps, measured_us, interval_us = measure_gaps(trace.samples, reported_us)
    cap = GAP_CAP_TICKS * interval_us
    weights = [min(gap, cap) for gap in gaps]
    weighed = weigh(
        trace.samples,
        stack_count=len(prefix),
        profiler_stacks=profiler.stacks,
        interval_us=reported_us,
        busy=busy,
        frames=ranges,
        own_scripts=profiler.scripts,
    )
    stacks = [NO_STACK if sample.stackId is None else sample.stackId for sample in ordered]
    kinds = _kinds(stacks, times, profiler.stacks, busy)
    for place, kind in find_work_outside_tasks(times, stacks, [sample.marker for sample in ordered], busy, ranges):
        kinds[place] = kind
    for run in weighed.hidden_runs:
        kinds[run.first : run.end] = [KIND_HIDDEN] * (run.end - run.first)
    for place in find_own_samples(times, stacks, profiler.scripts):
        kinds[place] = KIND_PROFILER
    hidden_stack = [NO_STACK] * len(times)
    find = RunFinder(prefix, func, profiler.stacks, runs=weighed.hidden_runs)
    for run in weighed.hidden_runs:
        if run.is_between or frames is not None:  # else it is uncertain
            bounds = (run.first, *run.middle, run.end)
            for start, end, stack in zip(bounds, bounds[1:], find.stacks_of(run), strict=False):
                hidden_stack[start:end] = [stack] * (end - start)
    return Observed(
        time_us=[time + shift_us for time in times],
        stack=[stack if kind == KIND_JS else NO_STACK for stack, kind in zip(stacks, kinds, strict=True)],
        weight_us=weights,
        kind=kinds,
        marker=[NO_MARKER if s.marker is None else MARKER_INDEX.get(s.marker, OTHER_MARKER) for s in ordered],
        hidden_stack=hidden_stack,
        prefix=prefix,
        func=func,
        gaps=[
            (time + cap + shift_us, time + gap + shift_us) for time, gap in zip(times, gaps, strict=True) if gap > cap
        ],
        interval_us=interval_us,
        measured_interval_us=measured_us,
        time=weighed.parts,
        own_script=None if profiler.address is None else strip_uri(profiler.address, page_url, page),
    )


def _kinds(
    stacks: Sequence[int], times: Sequence[int], profiler_stacks: Sequence[bool], busy: Sequence[Range]
) -> list[int]:
    """Returns each sample's kind, as if no run of a long task were hidden, and nothing else were work outside tasks."""
    starts = [start for start, _ in busy]
    kinds: list[int] = []
    for stack, time in zip(stacks, times, strict=True):
        if stack != NO_STACK:
            kinds.append(KIND_PROFILER if profiler_stacks[stack] else KIND_JS)
        else:
            kinds.append(KIND_ENGINE if is_within(busy, starts, time) else KIND_IDLE)
    return kinds
