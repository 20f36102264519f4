"""One page view on one clock: the joined samples of all its traces, with its marks. Exporters write one view from it.

Time is µs since the view's start. It may be negative: a page of a single-page app starts after its document, and the
profiler may have run before it. It has everything that an aggregate sums, but sample by sample: for every view
the sum of the weights of each kind equals the sum in the fold.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import msgspec

from profcore.formats.observed import NO_MARKER, Observed, observe
from profcore.sums.calltree import mark_paths
from profcore.trace.dimensions import DIMENSIONS, END_REASONS, classify_end_reason, name_codes
from profcore.trace.funcs import FuncTable
from profcore.trace.mark_types import LONG_TASK
from profcore.trace.marks import TimelineMark, hide_own_scripts, join_marks, plain_mark
from profcore.trace.weights import TimeParts, busy_ranges, to_us
from profcore.trace.wire import Envelope, Mark, Trace

__all__ = ["NO_MARKER", "NO_STACK", "Gap", "TimelineSamples", "TimelineTrace", "ViewTimeline", "ViewTrace"]

NO_STACK: Final = -1
UNKNOWN_DIMENSIONS: Final = name_codes([0] * len(DIMENSIONS))


@dataclass(frozen=True, slots=True)
class ViewTrace:
    """A trace for its view's clock: its decoded envelope, and its full marks if they were read."""

    envelope: Envelope
    marks: Sequence[TimelineMark] | None = None


@dataclass(slots=True)
class TimelineSamples:
    """Samples by column, ascending in time; equal times keep the order of traces and the order in each trace.

    `stack` is an index into the view's stacks or -1, as of the profiler's samples. `weight_us` is the time it counts,
    after the cap on gaps. `kind` is one of `weights.KIND_…`, `marker` an index into `weights.MARKERS` or -1.
    `hidden_stack` is the stack to which a hidden sample was attributed (profcore/trace/hidden.py), else -1. `trace` is
    an index into the view's traces.
    """

    time_us: list[int] = field(default_factory=list)
    stack: list[int] = field(default_factory=list)
    weight_us: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    marker: list[int] = field(default_factory=list)
    hidden_stack: list[int] = field(default_factory=list)
    trace: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.time_us)


class Gap(NamedTuple):
    """A stretch of a trace without observation, `[start, end)`: a suspended tab or a starved sampler."""

    start_us: int
    end_us: int
    trace: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineTrace:
    """A trace of the view: `[start_us, end_us)` is its span, in which the last sample counts one interval.

    `interval_us` is the interval in use, `reported_interval_us` the browser's. `lane` is 0 unless the trace overlaps an
    earlier one of lane 0: then two profilers ran at the same time and both recorded that time. `end_reason` is one of
    `END_REASONS`, `reason` the client's own word or "".
    """

    seq: int
    trace_id: str | None
    start_us: int
    end_us: int
    interval_us: int
    reported_interval_us: int
    requested_interval_us: int | None
    measured_interval_us: int | None
    end_reason: str
    reason: str
    time: TimeParts
    lane: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTimeline:
    """One view. `prefix` (-1 for a root, callers before callees) and `func` (into the export's funcs) are its stacks.

    `started_at_ms` is time 0, epoch ms. `traces` are in order of start, `marks`, `gaps` and `long_tasks` (disjoint
    `[start, end)`) in order of time. `time` is the sum of its traces' parts. `overlap_us` is the part of the clock that
    more than one trace covers: its time counts more than once, as in cells.
    """

    view_id: str
    release: str
    page: str
    dimensions: Mapping[str, str]
    started_at_ms: float
    prefix: Sequence[int]
    func: Sequence[int]
    samples: TimelineSamples
    traces: Sequence[TimelineTrace]
    marks: Sequence[TimelineMark]
    gaps: Sequence[Gap]
    long_tasks: Sequence[tuple[int, int]]
    time: TimeParts
    overlap_us: int = 0

    @property
    def interval_us(self) -> int:
        """The interval in use of most of its samples."""
        counts: dict[int, int] = {}
        for trace in self.traces:
            counts[trace.interval_us] = counts.get(trace.interval_us, 0) + trace.time.samples + 1
        return max(sorted(counts), key=counts.__getitem__)

    @property
    def lanes(self) -> int:
        """The number of rows of traces without overlap; 1 unless profilers ran at the same time."""
        return 1 + max(trace.lane for trace in self.traces)


def build_timeline(
    traces: Iterable[ViewTrace],
    *,
    page: str,
    funcs: FuncTable,
    dimensions: Mapping[str, str] = UNKNOWN_DIMENSIONS,
) -> ViewTimeline:
    """Returns the joined traces of one view, given in any order, on the clock of its start.

    `page` is the stored route, `dimensions` are values of profcore.trace.dimensions by name. New funcs
    are interned into `funcs`, which the stacks index. If traces disagree on the view's start (they should not), the
    earliest counts. A mark in several traces is there once. Each trace is taken when the one before is in columns, so
    that `traces` may decode one at a time. Raises `ValueError` without traces.
    """

    def take(trace: ViewTrace) -> tuple[ViewTrace, Observed]:
        return _take(trace, observe(trace.envelope, page=page, funcs=funcs))

    taken = list(map(take, traces))  # a loop would hold a trace until it has the next one
    if not taken:
        raise ValueError("a view needs at least one trace")
    started_at_ms = min(_start_of(trace.envelope) for trace, _ in taken)
    observed = [(trace, _move(seen, _shift_us(trace.envelope, started_at_ms))) for trace, seen in taken]
    # A trace without samples has no time, so its number decides its place.
    observed.sort(key=lambda pair: (pair[1].start_us, pair[0].envelope.seq, str(pair[0].envelope.traceId)))
    stacks = _Stacks()
    samples = _join([seen for _, seen in observed], stacks)
    first = observed[0][0].envelope
    time = TimeParts()
    for _, seen in observed:
        time.add(seen.time)
    return ViewTimeline(
        view_id=str(first.viewId),
        release=first.release,
        page=page,
        dimensions=dimensions,
        started_at_ms=started_at_ms,
        prefix=stacks.prefix,
        func=stacks.func,
        samples=samples,
        traces=_describe(observed),
        marks=join_marks((trace.marks or (), _shift_us(trace.envelope, started_at_ms)) for trace, _ in observed),
        gaps=sorted(Gap(start, end, index) for index, (_, seen) in enumerate(observed) for start, end in seen.gaps),
        long_tasks=_join_tasks(observed, started_at_ms),
        time=time,
        overlap_us=_overlap_us([seen for _, seen in observed]),
    )


def _take(trace: ViewTrace, seen: Observed) -> tuple[ViewTrace, Observed]:
    """Returns a trace without its tables, and its samples in packed columns: some 30 bytes each."""
    envelope = trace.envelope
    read = map(plain_mark, envelope.marks) if trace.marks is None else trace.marks
    marks = [hide_own_scripts(mark, seen.own_script) for mark in read]
    light = msgspec.structs.replace(
        envelope,
        trace=Trace(resources=[], frames=[], stacks=[], samples=[]),
        marks=[Mark(LONG_TASK, start / 1000, (end - start) / 1000) for start, end in busy_ranges(envelope.marks)],
    )
    packed = replace(
        seen,
        time_us=array("q", seen.time_us),
        stack=array("i", seen.stack),
        weight_us=array("q", seen.weight_us),
        kind=array("b", seen.kind),
        marker=array("b", seen.marker),
        hidden_stack=array("i", seen.hidden_stack),
        prefix=array("i", seen.prefix),
        func=array("i", seen.func),
    )
    return ViewTrace(light, marks), packed


def _move(seen: Observed, shift_us: int) -> Observed:
    times = array("q", [time + shift_us for time in seen.time_us])
    return replace(seen, time_us=times, gaps=[(start + shift_us, end + shift_us) for start, end in seen.gaps])


def _start_of(envelope: Envelope) -> float:
    return envelope.timeOrigin if envelope.viewStart is None else envelope.viewStart


def _shift_us(envelope: Envelope, started_at_ms: float) -> int:
    return to_us(envelope.timeOrigin - started_at_ms)


class _Stacks:
    """The view's stacks: each call path of its traces, once."""

    def __init__(self) -> None:
        self.prefix: list[int] = []
        self.func: list[int] = []
        self._index: dict[tuple[int, int], int] = {}

    def add(self, seen: Observed) -> list[int]:
        """Adds the stacks that a trace's samples use and returns the index of each, -1 for unused ones."""
        used = mark_paths(seen.prefix, (*seen.stack, *seen.hidden_stack))
        place = [NO_STACK] * (len(used) + 1)  # the last is for the prefix of roots, -1
        for stack, is_used in enumerate(used):
            if is_used:
                key = (place[seen.prefix[stack]], seen.func[stack])
                place[stack] = self._index.setdefault(key, len(self.func))
                if place[stack] == len(self.func):
                    self.prefix.append(key[0])
                    self.func.append(key[1])
        return place


def _join(observed: Sequence[Observed], stacks: _Stacks) -> TimelineSamples:
    columns = [array(code) for code in "qiqbbii"]
    for index, seen in enumerate(observed):
        place = stacks.add(seen)
        columns[0].extend(seen.time_us)
        columns[1].extend(place[stack] for stack in seen.stack)
        columns[2].extend(seen.weight_us)
        columns[3].extend(seen.kind)
        columns[4].extend(seen.marker)
        columns[5].extend(place[stack] for stack in seen.hidden_stack)
        columns[6].extend([index] * len(seen.time_us))
    times = columns[0]
    # Stable: traces and their samples are already in order.
    order = sorted(range(len(times)), key=times.__getitem__)
    return TimelineSamples(*([column[at] for at in order] for column in columns))


def _describe(observed: Sequence[tuple[ViewTrace, Observed]]) -> list[TimelineTrace]:
    described = []
    last_us: list[int] = []  # of each lane, its last sample
    for trace, seen in observed:
        envelope = trace.envelope
        lane = next((lane for lane, last in enumerate(last_us) if seen.start_us >= last), len(last_us))
        last_us[lane : lane + 1] = [max(seen.last_us, *last_us[lane : lane + 1], seen.start_us)]
        described.append(
            TimelineTrace(
                seq=envelope.seq,
                trace_id=None if envelope.traceId is None else str(envelope.traceId),
                start_us=seen.start_us,
                end_us=seen.start_us + seen.time.span_us,
                interval_us=seen.interval_us,
                reported_interval_us=to_us(envelope.sampleInterval),
                requested_interval_us=None if envelope.requestedInterval is None else to_us(envelope.requestedInterval),
                measured_interval_us=seen.measured_interval_us,
                end_reason=END_REASONS[classify_end_reason(envelope.reason)],
                reason=envelope.reason or "",
                time=seen.time,
                lane=lane,
            )
        )
    return described


def _overlap_us(observed: Sequence[Observed]) -> int:
    """Returns for how long a sampler ran while an earlier one was running."""
    overlap = 0
    covered_until: int | None = None
    for seen in observed:
        if covered_until is not None:
            overlap += max(0, min(covered_until, seen.last_us) - seen.start_us)
        covered_until = seen.last_us if covered_until is None else max(covered_until, seen.last_us)
    return overlap


def _join_tasks(observed: Sequence[tuple[ViewTrace, Observed]], started_at_ms: float) -> list[tuple[int, int]]:
    """Returns the long tasks of all traces on the view's clock, in order and without overlap."""
    tasks = [
        Mark(LONG_TASK, (start + shift_us) / 1000, (end - start) / 1000)
        for trace, _ in observed
        for shift_us in [_shift_us(trace.envelope, started_at_ms)]
        for start, end in busy_ranges(trace.envelope.marks)
    ]
    return busy_ranges(tasks)
