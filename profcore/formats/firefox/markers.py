"""The markers of one view: its marks with what ran in them, its traces with their gaps and ends, the engine's work."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from profcore.formats.firefox import schemas
from profcore.formats.firefox.categories import CATEGORY_INDEX, ENGINE_CHOICES
from profcore.formats.firefox.rows import ProfileTables
from profcore.formats.firefox.shapes import Markers, MarkerSchema
from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import ExportFunc
from profcore.formats.timeline import TimelineTrace, ViewTimeline
from profcore.trace.mark_types import LONG_FRAME, LONG_TASK
from profcore.trace.marks import (
    SCRIPT_FORCED,
    SCRIPT_FUNCTION,
    SCRIPT_URL,
    Fact,
    TimelineMark,
    describe_script,
    is_own_script,
    script_ms,
    script_text,
)
from profcore.trace.weights import KIND_HIDDEN, KIND_JS, MARKERS

PAGE: Final = CATEGORY_INDEX["Page"]
RECORDING: Final = CATEGORY_INDEX["Recording"]
JAVASCRIPT: Final = CATEGORY_INDEX["JavaScript"]
LONG_TASK_MS: Final = 50.0
# The viewer's names for the paints that it knows.
PAINT_NAMES: Final = {
    "first-paint": "FirstPaint",
    "first-contentful-paint": "FirstContentfulPaint",
    "largest-contentful-paint": "LargestContentfulPaint",
}
ENGINE_NAMES: Final = {"gc": "Garbage collection", "style": "Style", "layout": "Layout", "paint": "Paint"}
END_MEANINGS: Final = {
    "stop": "The page stopped it.",
    "timer": "It had recorded for its full time.",
    "timeout": "It had recorded for its full time.",
    "samplebufferfull": "Its buffer was full. The view went on without it.",
    "pagehide": "The page was left or hidden. The view went on without it, or ended.",
    "hidden": "The page was hidden: another tab or window came to the front, or the page was left.",
    "freeze": "The browser froze the page in the background.",
    "beforeunload": "The page was about to be left.",
    "route": "The page changed its address without a load: the next view began.",
    "prerender": "A page that was rendered ahead was shown: the view began.",
}


class Marker(NamedTuple):
    """A marker on the view's clock, µs; without `end_us` it is an instant."""

    start_us: int
    end_us: int | None
    name: str
    category: int
    schema: MarkerSchema
    values: Mapping[str, object]


def write_markers(markers: Sequence[Marker], tables: ProfileTables, origin_us: int) -> Markers:
    """Returns the column store of markers in order of start, longest first; `origin_us` is time 0 of the axis."""
    ordered = sorted(markers, key=lambda marker: (marker.start_us, -(marker.end_us or marker.start_us), marker.name))
    written = Markers(length=len(ordered), data=[], name=[], startTime=[], endTime=[], phase=[], category=[])
    for marker in ordered:
        written.name.append(tables.string(marker.name))
        written.startTime.append((marker.start_us - origin_us) / 1000)
        written.endTime.append(None if marker.end_us is None else (marker.end_us - origin_us) / 1000)
        written.phase.append(0 if marker.end_us is None else 1)
        written.category.append(marker.category)
        written.data.append({"type": marker.schema.name, **marker.values})
    return written


def find_markers(view: ViewTimeline, funcs: Sequence[ExportFunc]) -> list[Marker]:
    """Returns all markers of a view, in any order. `funcs` are those of the export."""
    content = _Content(view, funcs)
    return [
        *(_read_mark(mark, content) for mark in view.marks),
        *(marker for trace in view.traces for marker in _read_trace(trace)),
        *(
            Marker(
                start_us=start,
                end_us=end,
                name="Unobserved",
                category=RECORDING,
                schema=schemas.UNOBSERVED,
                values={"number": view.traces[trace].seq},
            )
            for start, end, trace in view.gaps
        ),
        *_engine_runs(view),
    ]


class _Content:
    """The content of a view's samples in any stretch of its time. A look-up takes no longer for a longer stretch."""

    def __init__(self, view: ViewTimeline, funcs: Sequence[ExportFunc]) -> None:
        samples = view.samples
        self._times = samples.time_us
        self._sums = {
            kind: [
                0,
                *accumulate(us if k == kind else 0 for k, us in zip(samples.kind, samples.weight_us, strict=True)),
            ]
            for kind in (KIND_JS, KIND_HIDDEN)
        }
        self._heaviest = {task: self._find_heaviest(task, view, funcs) for task in view.long_tasks}

    def _rows(self, start_us: int, end_us: int) -> tuple[int, int]:
        return bisect_left(self._times, start_us), bisect_left(self._times, end_us)

    def parts(self, mark: TimelineMark) -> dict[str, object]:
        """Returns the JS and hidden ms of the samples in a mark; empty for a mark without a duration."""
        if not mark.duration_us:
            return {}
        first, end = self._rows(mark.start_us, mark.end_us)
        js, hidden = ((sums[end] - sums[first]) / 1000 for sums in self._sums.values())
        return {"js": js, "hidden": hidden} if end > first else {}

    def heaviest(self, mark: TimelineMark) -> dict[str, object]:
        """Returns the function with the most self time in a long task, and its ms."""
        heaviest = self._heaviest.get((mark.start_us, mark.end_us))
        return {} if heaviest is None else {"heaviest": safe_text(heaviest[0]), "heaviest_ms": heaviest[1] / 1000}

    def _find_heaviest(
        self, task: tuple[int, int], view: ViewTimeline, funcs: Sequence[ExportFunc]
    ) -> tuple[str, int] | None:
        samples, sums = view.samples, dict[int, int]()
        for row in range(*self._rows(*task)):
            if samples.kind[row] == KIND_JS:
                func = view.func[samples.stack[row]]
                sums[func] = sums.get(func, 0) + samples.weight_us[row]
        if not sums:
            return None
        func = min(sums, key=lambda func: (-sums[func], funcs[func].label, func))
        return funcs[func].label, sums[func]


def _read_mark(mark: TimelineMark, content: _Content) -> Marker:
    facts = dict(mark.facts)
    end_us = mark.end_us if mark.duration_us else None
    name, category, schema = mark.type, PAGE, schemas.OTHER
    values: dict[str, object]
    if mark.type in PAINT_NAMES:
        name, schema, end_us = PAINT_NAMES[mark.type], schemas.PAINT, None
        values = _take(facts, element=("element", "target", "id"), url=("url",), size=("size",))
        if isinstance(size := values.get("size"), float):
            values["size"] = round(size)
    elif mark.type in {"interaction", "interaction-to-next-paint"}:
        name, schema = ("INP" if mark.type.endswith("paint") else "Interaction"), schemas.INTERACTION
        values = {"event": safe_text(mark.name), **_interaction(mark, facts), **content.parts(mark)}
    elif mark.type == LONG_TASK:
        name, category, schema = "Long task", JAVASCRIPT, schemas.LONG_TASK
        blocking = max(mark.duration_us / 1000 - LONG_TASK_MS, 0.0)
        values = {"blocking": blocking, **content.parts(mark), **content.heaviest(mark)}
    elif mark.type == LONG_FRAME:
        name, category, schema = "Long animation frame", JAVASCRIPT, schemas.LONG_FRAME
        values = _take(
            facts, blocking=("blockingDuration",), until_render=("renderStart",), until_layout=("styleAndLayoutStart",)
        )
        others = [script for script in mark.scripts if not is_own_script(script)] or mark.scripts
        longest = max(others, key=lambda script: script_ms(script, "duration"), default=None)
        values["heaviest"] = "no script reported" if longest is None else safe_text(describe_script(longest))
        values |= content.parts(mark) | ({"scripts": list(map(_script_row, mark.scripts))} if mark.scripts else {})
    elif mark.type == "layout-shift":
        name, schema, values = "Layout shift", schemas.SHIFT, _take(facts, value=("value", "score"))
    elif mark.type in {"mark", "measure"}:
        name, schema = "UserTiming", schemas.USER_TIMING
        values = {"name": safe_text(mark.name), "entryType": mark.type}
    else:
        values = {"name": safe_text(mark.name), **_take(facts, value=("value",)), **content.parts(mark)}
    if facts:
        values["details"] = [[safe_text(key), safe_text(_describe_fact(fact))] for key, fact in facts.items()]
    return Marker(start_us=mark.start_us, end_us=end_us, name=name, category=category, schema=schema, values=values)


NUMBERS: Final = frozenset({"size", "value", "blocking", "until_render", "until_layout"})


def _take(facts: dict[str, Fact], **wanted: tuple[str, ...]) -> dict[str, object]:
    """Removes facts and returns them by field: for each, the first of its names with a value of the right type."""
    taken: dict[str, object] = {}
    for key, names in wanted.items():
        for name in names:
            fact = facts.get(name)
            is_number = isinstance(fact, int | float) and not isinstance(fact, bool)
            if fact is not None and is_number == (key in NUMBERS):
                taken[key] = safe_text(_describe_fact(fact)) if not is_number else facts[name]
                del facts[name]
                break
    return taken


def _interaction(mark: TimelineMark, facts: dict[str, Fact]) -> dict[str, object]:
    """Returns the three phases of an interaction, if their times are known and in order."""
    values = _take(facts, target=("target", "element", "interactionTarget"))
    number = facts.get("interactionId")
    if isinstance(number, int) and not isinstance(number, bool):
        values["interaction"] = facts.pop("interactionId")
    start, end = facts.get("processingStart"), facts.get("processingEnd")
    if isinstance(start, int | float) and isinstance(end, int | float) and 0 <= start <= end:
        values |= {"input_delay": start, "processing": end - start}
        if end <= mark.duration_us / 1000:
            values["presentation"] = mark.duration_us / 1000 - end
        del facts["processingStart"], facts["processingEnd"]
    return values


def _script_row(script: Mapping[str, Fact]) -> list[object]:
    return [
        safe_text(script_text(script, "invoker", "invokerType")),
        safe_text(script_text(script, *SCRIPT_FUNCTION)),
        safe_text(script_text(script, *SCRIPT_URL)),
        script_ms(script, "duration"),
        script_ms(script, *SCRIPT_FORCED),
    ]


def _describe_fact(fact: Fact) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return f"{fact:g}" if isinstance(fact, float) else str(fact)


def _read_trace(trace: TimelineTrace) -> Iterator[Marker]:
    ended = safe_text(trace.reason or trace.end_reason)
    values: dict[str, object] = {
        "number": trace.seq,
        "ended": ended,
        "samples": trace.time.samples,
        "interval": trace.interval_us / 1000,
    }
    if trace.trace_id is not None:
        values["trace"] = trace.trace_id
    for key, interval_us in (("requested", trace.requested_interval_us), ("measured", trace.measured_interval_us)):
        if interval_us is not None:
            values[key] = interval_us / 1000
    yield Marker(
        start_us=trace.start_us,
        end_us=trace.end_us,
        name="Trace",
        category=RECORDING,
        schema=schemas.TRACE,
        values=values,
    )
    end: dict[str, object] = {"ended": ended}
    if meaning := END_MEANINGS.get(trace.end_reason):
        end["meaning"] = meaning
    yield Marker(
        start_us=trace.end_us,
        end_us=None,
        name="Recording ended",
        category=RECORDING,
        schema=schemas.TRACE_END,
        values=end,
    )


def _engine_runs(view: ViewTimeline) -> Iterator[Marker]:
    """Yields a marker for each run of samples of one trace with the same engine marker."""
    samples = view.samples
    row, count = 0, len(samples)
    while row < count:
        word = MARKERS[samples.marker[row]] if samples.marker[row] >= 0 else ""
        end = row + 1
        if word in ENGINE_NAMES:
            while end < count and (samples.marker[end], samples.trace[end]) == (
                samples.marker[row],
                samples.trace[row],
            ):
                end += 1
            last_us = samples.time_us[end - 1] + samples.weight_us[end - 1]
            values = {"samples": end - row, "weight": sum(samples.weight_us[row:end]) / 1000}
            choice = ENGINE_CHOICES[word].category
            yield Marker(
                start_us=samples.time_us[row],
                end_us=last_us,
                name=ENGINE_NAMES[word],
                category=choice,
                schema=schemas.ENGINE,
                values=values,
            )
        row = end
