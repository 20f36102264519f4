"""Traces designed to be expensive to fold."""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

import msgspec

from profcore.trace.mark_types import MAX_FRAME_SCRIPTS
from profcore.trace.wire import Envelope, Frame, Limits, Mark, Sample, Stack, Trace

TICK_MS: Final = 10.0
MOST_SAMPLES: Final = 100_000  # of a shape; the limit on samples is twice as high, and so is the cost
TraceShape = Callable[[int, int], tuple[Trace, list[Mark]]]


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


SHAPES: Final[tuple[TraceShape, ...]] = (
    *(two_deep_stacks, fork_at_the_leaf, twins_all_the_way, comb, runs_with_one_neighbour, one_recursion),
    *(all_roots, one_moment, one_sample_again, backwards, nested_tasks),
    *(many_scripts, tasks_in_one_script, nested_scripts),
)


def make_envelope(shape: TraceShape, samples: int, depth: int) -> Envelope:
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


def make_largest(shape: TraceShape, limits: Limits, *, part: int = 1) -> Envelope:
    """Returns an envelope of a shape that is as large as the limits admit, or a `part`th of that."""
    most: dict[TraceShape, int] = {
        runs_with_one_neighbour: 2 * limits.marks,
        nested_tasks: limits.marks,
        many_scripts: MAX_FRAME_SCRIPTS,
        tasks_in_one_script: 2 * (limits.marks - 1),
        nested_scripts: min(MAX_FRAME_SCRIPTS, 2 * (limits.marks - 1)),
        all_roots: limits.frames,
    }
    samples = min(MOST_SAMPLES, limits.samples, most.get(shape, MOST_SAMPLES))
    return make_envelope(shape, samples // part, limits.depth // part)
