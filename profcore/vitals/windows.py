"""The windows of a view: the stretches of its clock in which its visitor waited. They are found in its marks.

- `lcp`: from the view's start to its largest contentful paint.
- `interaction`: the longest interaction, from the input to the next paint. It has three parts: `input_delay`, until its
  first handler runs; `processing`, until its last handler returns; `presentation`, until the paint.
- `long_frames`: all long animation frames.

Only the marks of all traces of a view tell which paint was the largest and which interaction the longest. So windows
are found once a view's traces are joined, and are no sums of its traces.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from profcore.trace.hidden import Range
from profcore.trace.mark_types import LONG_FRAME
from profcore.trace.marks import Fact, TimelineMark
from profcore.trace.trace_details import INP, INTERACTION, LCP

# The types of marks that are interactions.
INTERACTIONS: Final = (INTERACTION, INP)
INTERACTION_PARTS: Final = ("input_delay", "processing", "presentation")
WINDOWS: Final = ("lcp", "interaction", *INTERACTION_PARTS, "long_frames")
# The types of the marks that windows are found in.
WINDOW_MARKS: Final = frozenset({LCP, INTERACTION, INP, LONG_FRAME})
# A longer wait is good no more, by the thresholds of web.dev (2026): LCP 2.5 s, INP 200 ms.
SLOW_LCP_US: Final = 2_500_000
SLOW_INTERACTION_US: Final = 200_000
# Browsers round the durations of events to 8 ms. So events that end this near to each other end with one paint.
SAME_PAINT_US: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewWindows:
    """The windows of a view, in µs on its clock: `[start, end)`, in order, disjoint and not empty.

    A window that the view does not have is missing. So are the parts of an interaction if its mark has no times of its
    handlers. `event` and `target` are those of the longest interaction, "" if they are unknown; they are hostile texts.
    `frames` is the number of long animation frames.
    """

    ranges: Mapping[str, Sequence[Range]] = field(default_factory=dict)
    event: str = ""
    target: str = ""
    frames: int = 0

    def length_us(self, window: str) -> int:
        """Returns how long a window is, 0 if the view does not have it."""
        return sum(end - start for start, end in self.ranges.get(window, ()))

    def has(self, window: str) -> bool:
        """Returns whether the view has a window. A part of an interaction may be empty."""
        return window in self.ranges

    def is_slow(self, window: str) -> bool:
        """Returns whether a window, or the interaction that it is a part of, is a wait that is not good."""
        if window == "lcp":
            return self.length_us("lcp") > SLOW_LCP_US
        return window in ("interaction", *INTERACTION_PARTS) and self.length_us("interaction") > SLOW_INTERACTION_US

    def only_slow(self) -> "ViewWindows":
        """Returns the windows of waits that are not good: a slow LCP, a slow interaction, and all long frames."""
        return self.only([window for window in self.ranges if window == "long_frames" or self.is_slow(window)])

    def only_known_slow(self) -> "ViewWindows":
        """Returns the windows that are known of a view of which only slow moments were kept."""
        return self.only([window for window in self.ranges if self.is_slow(window)])

    def only(self, wanted: Sequence[str]) -> "ViewWindows":
        """Returns those of the wanted windows that the view has."""
        kept = {window: ranges for window, ranges in self.ranges.items() if window in wanted}
        return ViewWindows(ranges=kept, event=self.event, target=self.target, frames=self.frames)


def find_windows(marks: Sequence[TimelineMark]) -> ViewWindows:
    """Returns the windows of a view, from the joined marks of all its traces on the view's clock."""
    ranges: dict[str, list[Range]] = {}
    paint_us = max((mark.end_us for mark in marks if mark.type == LCP), default=0)  # the last candidate counts
    if paint_us > 0:
        ranges["lcp"] = [(0, paint_us)]
    frames = [(mark.start_us, mark.end_us) for mark in marks if mark.type == LONG_FRAME and mark.duration_us > 0]
    if frames:
        ranges["long_frames"] = unite(frames)
    longest = _find_longest(marks)
    event = target = ""
    if longest is not None:
        event, target = longest.name, str(longest.facts.get("target", ""))
        ranges["interaction"] = [(longest.start_us, longest.end_us)]
        ranges |= _part_interaction(longest, _events_of(longest, marks))
    return ViewWindows(ranges=ranges, event=event, target=target, frames=len(frames))


def unite(ranges: Iterable[Range]) -> list[Range]:
    """Returns the union of ranges, in order and disjoint."""
    united: list[Range] = []
    for start, end in sorted(ranges):
        if united and start <= united[-1][1]:
            united[-1] = united[-1][0], max(end, united[-1][1])
        elif start < end:
            united.append((start, end))
    return united


def _find_longest(marks: Sequence[TimelineMark]) -> TimelineMark | None:
    """Returns the longest interaction; of equal ones that with the times of its handlers, then the first."""
    events = [mark for mark in marks if mark.type in INTERACTIONS and mark.duration_us > 0]
    return min(events, key=lambda mark: (-mark.duration_us, _handlers_of(mark) is None, mark.start_us), default=None)


def _handlers_of(mark: TimelineMark) -> Range | None:
    """Returns the times of an event's handlers, µs; None if its mark does not tell (in ms after its start)."""
    first, last = (_ms(mark.facts.get(name)) for name in ("processingStart", "processingEnd"))
    if first is None or last is None or not 0 <= first <= last:
        return None
    return mark.start_us + round(first * 1000), mark.start_us + round(last * 1000)


def _ms(fact: Fact | None) -> float | None:
    return fact if isinstance(fact, int | float) and not isinstance(fact, bool) else None


def _events_of(longest: TimelineMark, marks: Sequence[TimelineMark]) -> list[TimelineMark]:
    """Returns the events of one interaction that end with its paint, such as pointerup and click."""
    interaction_id = longest.facts.get("interactionId")
    if not interaction_id:
        return [longest]
    return [
        mark
        for mark in marks
        if mark.type in INTERACTIONS
        and mark.facts.get("interactionId") == interaction_id
        and abs(mark.end_us - longest.end_us) <= SAME_PAINT_US
    ]


def _part_interaction(longest: TimelineMark, events: Sequence[TimelineMark]) -> dict[str, list[Range]]:
    """Returns the three parts of an interaction. They tile it; each may be empty."""
    handlers = [handlers for event in events if (handlers := _handlers_of(event)) is not None]
    if not handlers:
        return {}
    start, end = longest.start_us, longest.end_us
    first = min(max(min(first for first, _ in handlers), start), end)
    last = min(max(first, *(last for _, last in handlers)), end)
    parts = zip(INTERACTION_PARTS, ((start, first), (first, last), (last, end)), strict=True)
    return {part: [span] if span[0] < span[1] else [] for part, span in parts}
