"""Traces that are made to be dear to fold, and what they cost at the limits of the ingest endpoint."""

import gzip
import math
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from profcore.kernel import find_kernel
from profcore.sums.batch_sums import open_sums
from profcore.sums.fold import CellFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.mark_types import MAX_FRAME_SCRIPTS
from profcore.trace.wire import Envelope, Frame, Limits, Mark, Sample, Stack, Trace, decode_envelope

TICK_MS: Final = 10.0
MOST_SAMPLES: Final = 100_000  # of a shape; the limit on samples is twice as high, and so is the cost
Shape = Callable[[int, int], tuple[Trace, list[Mark]]]


def frames(count: int) -> list[Frame]:
    return [Frame(name=f"f{n}", resourceId=0, line=1, column=n + 1) for n in range(count)]


def deep(depth: int, funcs: int, at: int = 0) -> list[Stack]:
    """Returns one stack of so many calls of so many funcs, to be put behind `at` others."""
    return [Stack(frameId=n % funcs, parentId=at + n - 1 if n else None) for n in range(depth)]


def make(stacks: list[Stack], samples: list[Sample], funcs: int) -> Trace:
    return Trace(frames=frames(funcs), resources=["https://a.example/x.js"], stacks=stacks, samples=samples)


def whole_task(count: int) -> list[Mark]:
    return [Mark(type="longtask", start=0.0, duration=TICK_MS * count)]


def runs_between(stacks: Sequence[int], count: int) -> list[Sample]:
    """Returns samples of some stacks in turn, with one without a stack between each two."""
    return [
        Sample(timestamp=TICK_MS * n, stackId=None if n % 2 else stacks[n // 2 % len(stacks)]) for n in range(count)
    ]


def two_deep_stacks(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    stacks = deep(depth, 2) + deep(depth, 3, at=depth)
    return make(stacks, runs_between([depth - 1, 2 * depth - 1], count), 3), whole_task(count)


def fork_at_the_leaf(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    stem = depth - 1
    stacks = [*deep(stem, 2), Stack(frameId=0, parentId=stem - 1), Stack(frameId=1, parentId=stem - 1)]
    return make(stacks, runs_between([stem, stem + 1], count), 2), whole_task(count)


def twins_all_the_way(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    stacks = deep(depth, 2) + deep(depth, 2, at=depth)
    return make(stacks, runs_between([depth - 1, 2 * depth - 1], count), 2), whole_task(count)


def comb(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    stem = depth - 1
    stacks = deep(stem, 2) + [Stack(frameId=2, parentId=n) for n in range(stem)]
    return make(stacks, runs_between(range(stem, 2 * stem), count), 3), whole_task(count)


def runs_with_one_neighbour(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    tasks = [Mark(type="longtask", start=TICK_MS * n, duration=2 * TICK_MS) for n in range(0, count, 2)]
    return make(deep(depth, 2), runs_between([depth - 1], count), 2), tasks


def one_recursion(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    samples = [Sample(timestamp=TICK_MS * n, stackId=n % depth) for n in range(count)]
    return make(deep(depth, 1), samples, 1), []


def all_roots(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    samples = [Sample(timestamp=TICK_MS * n, stackId=n) for n in range(count)]
    return make([Stack(frameId=n) for n in range(count)], samples, count), []


def one_moment(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    samples = [Sample(timestamp=0.0, stackId=n % depth) for n in range(count)]
    return make(deep(depth, 7), samples, 7), whole_task(count)


def one_sample_again(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    """Gzip makes next to nothing of it."""
    return make(deep(depth, 7), [Sample(timestamp=0.0, stackId=0)] * count, 7), []


def backwards(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    samples = [Sample(timestamp=TICK_MS * (count - n), stackId=n % depth, marker="paint") for n in range(count)]
    return make(deep(depth, 7), samples, 7), whole_task(count)


def nested_tasks(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    tasks = [Mark(type="longtask", start=TICK_MS * n, duration=TICK_MS * 2 * (count - n)) for n in range(count)]
    return make(deep(depth, 7), runs_between([depth - 1], count), 7), tasks


def frame_of(scripts: list[tuple[float, float]]) -> Mark:
    """Returns a long animation frame with scripts, each a start and a duration."""
    sent = [{"start": start, "duration": lasts} for start, lasts in scripts]
    return Mark(type="loaf", start=0.0, scripts=msgspec.Raw(msgspec.json.encode(sent)))


def many_scripts(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    """One task after a deep stack, with a script around each sample: runs with one side, cut as often as can be."""
    samples = [Sample(timestamp=TICK_MS * n, stackId=None if n else depth - 1) for n in range(count)]
    scripts = [(TICK_MS * n, TICK_MS / 2) for n in range(count)]
    return make(deep(depth, 2), samples, 2), [*whole_task(count), frame_of(scripts)]


def tasks_in_one_script(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    """A task around every two samples, all in one script: what its many stacks share is asked at each task."""
    stem = depth - 1
    stacks = deep(stem, 2) + [Stack(frameId=2, parentId=n) for n in range(stem)]
    tasks = [Mark(type="longtask", start=TICK_MS * n, duration=2 * TICK_MS) for n in range(0, count, 2)]
    frame = frame_of([(0.0, TICK_MS * count)])
    return make(stacks, runs_between(range(stem, 2 * stem), count), 3), [*tasks, frame]


def nested_scripts(count: int, depth: int) -> tuple[Trace, list[Mark]]:
    frame = frame_of([(TICK_MS * n, TICK_MS * 2 * (count - n)) for n in range(count)])
    tasks = [Mark(type="longtask", start=TICK_MS * n, duration=2 * TICK_MS) for n in range(0, count, 2)]
    return make(deep(depth, 7), runs_between([depth - 1], count), 7), [*tasks, frame]


SHAPES: Final[tuple[Shape, ...]] = (
    *(two_deep_stacks, fork_at_the_leaf, twins_all_the_way, comb, runs_with_one_neighbour, one_recursion),
    *(all_roots, one_moment, one_sample_again, backwards, nested_tasks),
    *(many_scripts, tasks_in_one_script, nested_scripts),
)


def make_envelope(shape: Shape, samples: int, depth: int) -> Envelope:
    """Returns an envelope with a trace of a shape: so many samples, its stacks so deep."""
    trace, marks = shape(samples, depth)
    return Envelope(
        viewId=UUID(int=1),
        seq=0,
        release="1",
        timeOrigin=1.7e12,
        sampleInterval=TICK_MS,
        trace=trace,
        page="/",
        marks=marks,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileCost:
    """A trace's bytes as posted and expanded; processor seconds and peaks of memory of its checks and its fold.

    The compiled twin gunzips, checks and folds at once; its time is that of the trace, and of one half as long and half
    as deep. They are not numbers where it is not built.
    """

    shape: str
    sent_bytes: int
    expanded_bytes: int
    check_s: float
    fold_s: float
    check_peak_bytes: int
    fold_peak_bytes: int
    compiled_s: float
    half_compiled_s: float

    @property
    def fold_us_per_byte(self) -> float:
        return self.fold_s * 1e6 / self.sent_bytes


def bench_hostile(limits: Limits) -> list[HostileCost]:
    """Returns the cost of each shape at the limits, dearest to fold first."""
    return sorted((measure_shape(shape, limits) for shape in SHAPES), key=lambda cost: -cost.fold_s)


def make_largest(shape: Shape, limits: Limits, *, part: int = 1) -> Envelope:
    """Returns an envelope of a shape that is as large as the limits admit, or a `part`th of that."""
    most: dict[Shape, int] = {
        runs_with_one_neighbour: 2 * limits.marks,
        nested_tasks: limits.marks,
        many_scripts: MAX_FRAME_SCRIPTS,
        tasks_in_one_script: 2 * (limits.marks - 1),
        nested_scripts: min(MAX_FRAME_SCRIPTS, 2 * (limits.marks - 1)),
        all_roots: limits.frames,
    }
    samples = min(MOST_SAMPLES, limits.samples, most.get(shape, MOST_SAMPLES))
    return make_envelope(shape, samples // part, limits.depth // part)


def measure_shape(shape: Shape, limits: Limits) -> HostileCost:
    body = msgspec.json.encode(make_largest(shape, limits))
    check_s, fold_s = _take(body, limits, time.process_time)
    tracemalloc.start()
    check_peak_bytes, fold_peak_bytes = _take(body, limits, _read_peak)
    tracemalloc.stop()
    return HostileCost(
        shape=shape.__name__,
        sent_bytes=len(gzip.compress(body)),
        expanded_bytes=len(body),
        check_s=check_s,
        fold_s=fold_s,
        check_peak_bytes=int(check_peak_bytes),
        fold_peak_bytes=int(fold_peak_bytes),
        compiled_s=_time_compiled(body, limits),
        half_compiled_s=_time_compiled(msgspec.json.encode(make_largest(shape, limits, part=2)), limits),
    )


class _GzipBody(NamedTuple):
    body: bytes
    is_gzip: bool = True

    def expand(self) -> bytes:
        raise AssertionError("the kernel leaves the trace to the pure twin")


def _time_compiled(body: bytes, limits: Limits) -> float:
    kernel = find_kernel().module
    if kernel is None:
        return math.nan
    packed = _GzipBody(gzip.compress(body))
    started = time.process_time()
    sums = open_sums(kernel, FuncTable(), limits, max_bytes=len(body))
    sums.add("cell", UUID(int=1), packed, page="/", is_truncated=False)
    return time.process_time() - started


def _take(body: bytes, limits: Limits, read: Callable[[], float]) -> tuple[float, float]:
    """Checks and folds a body. Returns what each adds to a clock, or each one's peak of memory."""
    started = read()
    envelope = decode_envelope(body, limits)
    checked = read()
    cell = CellFold("cell")
    cell.add(envelope.viewId, fold_trace(envelope, page="/", funcs=FuncTable()), is_truncated=False)
    folded = read()
    return (checked - started, folded - checked) if read is time.process_time else (checked, folded)


def _read_peak() -> float:
    """Returns the peak of allocated bytes since the last call."""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    return peak
