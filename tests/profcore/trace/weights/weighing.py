"""Small tables of samples with weights: one line per sample, with its time in ms, its stack or `-`, and its marker."""

from textwrap import dedent

import msgspec

from profcore.trace.mark_types import read_frames
from profcore.trace.weights import WeighedSamples, busy_ranges, frame_ranges, to_us, weigh
from profcore.trace.wire import Mark, Sample

STACKS = ("A", "B", "P")  # the leaf of P is the profiler's own built-in
PROFILER_STACKS = (False, False, True, False)


def weigh_table(table: str, *, marks: list[Mark] | None = None, interval_ms: float = 10.0) -> WeighedSamples:
    """Weighs a table of samples."""
    samples = []
    for line in dedent(table).split("\n"):
        match line.split():
            case [time, stack, *marker]:
                stack_id = None if stack == "-" else STACKS.index(stack)
                samples.append(Sample(float(time), stack_id, marker[0] if marker else None))
    return weigh_samples(samples, marks or [], interval_us=to_us(interval_ms))


def weigh_samples(samples: list[Sample], marks: list[Mark], *, interval_us: int = 10_000) -> WeighedSamples:
    """Weighs samples of four stacks, the third of which is the profiler's."""
    return weigh(
        samples,
        stack_count=len(PROFILER_STACKS),
        profiler_stacks=PROFILER_STACKS,
        interval_us=interval_us,
        busy=busy_ranges(marks),
        frames=frame_ranges(read_frames(marks)),
    )


def describe_parts(weighed: WeighedSamples) -> str:
    """Returns the parts that are not zero, in µs with their samples: `js 20000/2 idle 10000/1`."""
    texts = []
    for kind in ("js", "hidden", "engine", "idle", "profiler"):
        count = getattr(weighed.parts, f"{kind}_samples")
        if count:
            texts.append(f"{kind} {getattr(weighed.parts, f'{kind}_us')}/{count}")
    if weighed.parts.unobserved_us:
        texts.append(f"unobserved {weighed.parts.unobserved_us}")
    return " ".join(texts)


def longtask(start: float, duration: float) -> Mark:
    """Returns the mark of a long task."""
    return Mark("longtask", start, duration)


def loaf(start: float, duration: float, *scripts: tuple[float, float], word: str = "loaf") -> Mark:
    """Returns the mark of a long animation frame with its scripts, each a start and a duration."""
    sent = [{"start": at, "duration": lasts, "invoker": "user-callback"} for at, lasts in scripts]
    return Mark(word, start, duration, msgspec.Raw(msgspec.json.encode(sent)))
