"""Traces built from the content of foreign formats: frames by value, stacks by path, durations as gaps."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.shapes import ImportLimits
from profcore.trace.funcs import UNSTORABLE, repair_text
from profcore.trace.intervals import GAP_CAP_TICKS, MAX_USED_US
from profcore.trace.mark_types import LONG_FRAME, MAX_FRAME_SCRIPTS
from profcore.trace.weights import measure_gaps, to_us
from profcore.trace.wire import MAX_POSITION, Frame, Mark, Sample, Stack, Trace

DEFAULT_INTERVAL_MS: Final = 10.0  # the snippet's interval, used for traces without two different times
MAX_USED_MS: Final = MAX_USED_US / 1000
# Samples are placed again by the interval that they show. Recorded slices take three rounds at most.
MAX_ROUNDS: Final = 10


class Span(NamedTuple):
    """A stretch of time with one stack or none, from a weighted sample or the time between two events.

    `is_hidden` is for time that is busy according to the file, but has no stack; `is_engine` for the engine's own.
    """

    stack: int | None
    marker: str | None
    duration_us: float
    is_hidden: bool = False
    is_engine: bool = False


class TraceBuilder:
    """A trace under construction: equal frames and call paths share one row, so parents come before children."""

    def __init__(self, limits: ImportLimits, text: Callable[[str], str] | None = None) -> None:
        """`text` is `storable_text` if texts are from the API itself; else they are real Unicode."""
        self.limits = limits
        self._text = text or wire_text
        self._resources: dict[str, int] = {}
        self._frames: dict[tuple[str, int | None, int | None, int | None], int] = {}
        self._stacks: dict[tuple[int | None, int], int] = {}
        self.samples: list[Sample] = []
        self.marks: list[Mark] = []
        self._hidden: list[tuple[int, int]] = []

    def frame(self, name: str, uri: str | None = None, line: int | None = None, column: int | None = None) -> int:
        """Returns the id of a function; its position is that of its definition, 1-based, or None."""
        resource = None if not uri else self._resources.setdefault(self._text(uri), len(self._resources))
        key = (self._text(name), resource, position(line), position(column))
        return self._frames.setdefault(key, len(self._frames))

    def stack(self, parent: int | None, frame: int) -> int:
        """Returns the id of a call path, `frame` called from `parent`. Raises `TraceError` if there are too many."""
        stack_id = self._stacks.setdefault((parent, frame), len(self._stacks))
        if stack_id >= self.limits.envelope.stacks:
            detail = f"The profile has more than {self.limits.envelope.stacks} call paths."
            raise TraceError(Reason.TOO_MANY, "$", detail)
        return stack_id

    def path(self, frames: Iterable[int]) -> int | None:
        """Returns the id of a whole call path, root first; None for an empty one."""
        stack = None
        for frame in frames:
            stack = self.stack(stack, frame)
        return stack

    def sample(self, time_ms: float, stack: int | None, marker: str | None = None) -> None:
        """Adds a sample at a time."""
        self.samples.append(Sample(time_ms, stack, marker))

    def spans(
        self, spans: Sequence[Span], interval_ms: float | None, path: str, starts_us: Sequence[float] | None = None
    ) -> float:
        """Returns the trace's interval, ms, after adding samples whose gaps are the spans' durations, to the µs.

        A gap counts up to `GAP_CAP_TICKS` intervals, so a longer span becomes several samples. The last sample weighs
        one interval, so it is that long before the end, or a sample without a stack closes it. `interval_ms` is from
        the file, else the median duration is used; it is raised if there would be too many samples. If the samples
        then disagree with it (`settle_interval`), it is the one that they show, which the fold will use. Spans are end
        to end, or begin at `starts_us`, ascending. Long tasks in `marks` cover the hidden ones and the engine's. If
        there are any of the engine's, scripts of long animation frames cover the hidden ones.
        """
        durations = [span.duration_us for span in spans if span.duration_us > 0]
        total = sum(durations)
        if not total <= self.limits.envelope.timestamp_ms * 1000:
            raise TraceError(Reason.OUT_OF_RANGE, path, "The durations add up to more than a trace may last.")
        stated = median_gap_ms(durations) if interval_ms is None else interval_ms
        interval = self._fit_interval(to_us(max(0.001, min(stated, MAX_USED_MS))), total, len(spans), path)
        placed = _end_to_end(spans) if starts_us is None else _place(spans, starts_us)
        samples, marks = list(self.samples), list(self.marks)
        for _ in range(MAX_ROUNDS):
            self.samples, self.marks, self._hidden = list(samples), list(marks), []
            for index, (begins, ends, span) in enumerate(placed):
                following = placed[index + 1][0] if index + 1 < len(placed) else None
                self._add_span(span, begins, ends, following, interval)
            used = self._fit_interval(measure_gaps(self.samples, interval)[-1], total, len(spans), path)
            if used == interval:
                break
            interval = used
        if any(span.is_engine for span in spans):
            self._mark_scripts()
        return interval / 1000

    def _add_span(self, span: Span, begins: int, ends: int, following: int | None, interval: int) -> None:
        """Adds one span's samples. `following` is the start of the next span, None after the last."""
        if span.is_hidden:
            self._hidden.append((begins, ends))
        if span.is_hidden or span.is_engine:
            self._mark_busy(begins, ends)
        cap = GAP_CAP_TICKS * interval
        is_last = following is None
        last_at = ends - interval if is_last and ends - begins >= interval else ends
        at = begins
        for at in range(begins, max(last_at, begins + 1), cap):
            self.sample(at / 1000, span.stack, span.marker)
        if is_last and begins < last_at < ends:
            self.sample(last_at / 1000, span.stack, span.marker)
        elif (is_last and last_at == ends) or (following is not None and following > ends and ends - at != cap):
            self.sample(ends / 1000, None)

    def _mark_busy(self, begins: int, ends: int) -> None:
        if self.marks and to_us(self.marks[-1].start + self.marks[-1].duration) == begins:
            begins = to_us(self.marks.pop().start)
        self.marks.append(Mark("longtask", begins / 1000, (ends - begins) / 1000))

    def _mark_scripts(self) -> None:
        """Marks the hidden time as scripts. Without such marks, all time of long tasks is hidden."""
        for first in range(0, max(len(self._hidden), 1), MAX_FRAME_SCRIPTS):
            ranges = self._hidden[first : first + MAX_FRAME_SCRIPTS]
            sent = [{"start": begins / 1000, "duration": (ends - begins) / 1000} for begins, ends in ranges]
            begins, ends = (ranges[0][0], ranges[-1][1]) if ranges else (0, 0)
            scripts = msgspec.Raw(msgspec.json.encode(sent))
            self.marks.append(Mark(LONG_FRAME, begins / 1000, (ends - begins) / 1000, scripts))

    def _fit_interval(self, interval_us: int, total_us: float, count: int, path: str) -> int:
        room = self.limits.envelope.samples - count - 2
        if room <= 0:
            raise TraceError(Reason.TOO_MANY, path, f"There are {count} samples, too many for a trace.")
        return max(interval_us, math.ceil(total_us / (GAP_CAP_TICKS * room)))

    def build(self) -> Trace:
        """Returns the trace."""
        return Trace(
            list(self._resources),
            [Frame(name, resource, line, column) for name, resource, line, column in self._frames],
            [Stack(frame, parent) for parent, frame in self._stacks],
            self.samples,
        )


def _end_to_end(spans: Sequence[Span]) -> list[tuple[int, int, Span]]:
    """Returns start and end of spans, in whole µs, from 0 on; spans of 0 µs at the end are left out."""
    count = len(spans)
    while count and not spans[count - 1].duration_us > 0:  # the last one would weigh an interval
        count -= 1
    ends = [0, *(math.floor(end + 0.5) for end in accumulate(span.duration_us for span in spans[:count]))]
    return list(zip(ends, ends[1:], spans, strict=False))


def _place(spans: Sequence[Span], starts_us: Sequence[float]) -> list[tuple[int, int, Span]]:
    """Returns start and end of spans on their clock; spans of 0 µs without a stack are left out."""
    placed = []
    for span, start in zip(spans, starts_us, strict=True):
        if span.duration_us > 0 or span.stack is not None:
            placed.append((math.floor(start + 0.5), math.floor(start + span.duration_us + 0.5), span))
    return placed


def part_of(trace: Trace, samples: Sequence[Sample]) -> Trace:
    """Returns a trace of some samples of a trace, with the stacks, frames and resources that they need."""
    used = set[int]()
    for sample in samples:
        at = sample.stackId
        while at is not None and at not in used:
            used.add(at)
            at = trace.stacks[at].parentId
    resources, frames, stacks = dict[int, int](), dict[int, int](), dict[int, int]()
    kept_frames, kept_stacks = list[Frame](), list[Stack]()
    for index in sorted(used):
        stack = trace.stacks[index]
        frame = trace.frames[stack.frameId]
        if stack.frameId not in frames:
            resource = frame.resourceId
            number = None if resource is None else resources.setdefault(resource, len(resources))
            frames[stack.frameId] = len(frames)
            kept_frames.append(Frame(frame.name, number, frame.line, frame.column))
        stacks[index] = len(stacks)
        parent = None if stack.parentId is None else stacks[stack.parentId]
        kept_stacks.append(Stack(frames[stack.frameId], parent))
    return Trace(
        [trace.resources[index] for index in resources],
        kept_frames,
        kept_stacks,
        [Sample(s.timestamp, None if s.stackId is None else stacks[s.stackId], s.marker) for s in samples],
    )


def wire_text(text: str) -> str:
    """Returns real Unicode in the wire's encoding if the fold's repair would otherwise change it.

    On the wire, names are UTF-8 read as Latin-1. Characters that cannot be stored become U+FFFD.
    """
    if text.isascii() and "\0" not in text:
        return text
    text = UNSTORABLE.sub("\ufffd", text)
    return text if repair_text(text) == text else text.encode("utf-8").decode("latin-1")


def name_of_label(label: str, line: int | None, column: int | None) -> str:
    """Returns the name behind a label: "" if one of our exports named an anonymous function by its place."""
    if line is not None and label.startswith("(anonymous) ") and label.endswith(f":{line}:{column}"):
        return ""
    return label


def storable_text(text: str) -> str:
    """Returns a text from the wire unchanged, except for characters that cannot be stored."""
    return text if text.isascii() and "\0" not in text else UNSTORABLE.sub("\ufffd", text)


def position(number: int | None) -> int | None:
    """Returns a 1-based line or column; None for other numbers."""
    return number if number is not None and 1 <= number <= MAX_POSITION else None


def median_gap_ms(gaps_us: Iterable[float]) -> float:
    """Returns the median positive gap (the upper of two), ms; the default interval if there is none."""
    positive = sorted(gap for gap in gaps_us if gap > 0)
    return positive[len(positive) // 2] / 1000 if positive else DEFAULT_INTERVAL_MS


def measure_interval_ms(samples: Sequence[Sample]) -> float:
    """Returns the interval of a trace whose file does not have it: the median gap between its samples, ms."""
    times = sorted(sample.timestamp for sample in samples)
    gaps = [math.floor((later - earlier) * 1000 + 0.5) for earlier, later in pairwise(times)]
    return min(MAX_USED_MS, median_gap_ms(gaps))


def dangling(path: str, table: str) -> TraceError:
    """Returns the error for an id that names nothing."""
    return TraceError(Reason.DANGLING_ID, path, f"The id names none of the {table}.")


def invalid(path: str, detail: str) -> TraceError:
    """Returns the error for a value that makes no sense."""
    return TraceError(Reason.INVALID_VALUE, path, detail)
