"""Datadog's browser profiles: the SDK's `wall-time.json`, alone or with the event sent with it.

The trace is the API's own, verbatim, with clocks, views and long tasks around it. A view's part of the trace becomes a
trace of that view; its page is the view's name. `sampleInterval` is the requested interval. The endpoint takes the same
from pages, as the SDK posts them (`ingest/endpoint/datadog.py`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

import msgspec

from profcore.errors import TraceError
from profcore.formats.importers.building import invalid, part_of
from profcore.formats.importers.completing import is_known_time
from profcore.formats.importers.shapes import Draft, Importer, InputTrace, Source, read_fields
from profcore.symbolicate.debug_ids import write_debug_ids
from profcore.trace.wire import Mark, Sample, Trace, check_trace

TABLES: Final = frozenset({"frames", "stacks", "samples", "clocksOrigin"})
# The trace's name in a form's fields, in the bridge to a mobile app, and in what the SDK passes to both.
WRAPPERS: Final = ("wall-time.json", "trace")
# Those of the event that say what the page ran; the release is `version`.
TAGS: Final = ("version", "env", "service")
# What the SDK puts in a view's name for a segment with digits, such as a product's number.
ANY_SEGMENT: Final = re.compile(r"(?<=/)\?(?=/|$)")
MAX_VIEWS: Final = 100  # in one profile of a minute: each is written with its part of the tables
NOTE_FRAMES: Final = (
    "Long animation frames are kept as marks: only long tasks show that the main thread was always busy."
)
NOTE_SPLIT: Final = "The profile has several views: each got the samples of its time."


class Clocks(msgspec.Struct, gc=False):
    """One moment, as ms since navigation start and as epoch ms."""

    relative: float
    timeStamp: float


class LongTask(msgspec.Struct, gc=False):
    """A long task or long animation frame."""

    duration: float
    startClocks: Clocks
    entryType: str = "longtask"


class PageView(msgspec.Struct, gc=False):
    """A view during the profile, from its start to the start of the next one."""

    startClocks: Clocks
    viewId: str
    viewName: str | None = None


class ScriptId(msgspec.Struct, gc=False):
    """The debug id of a script, which is one of the resources."""

    resourceId: int
    debugId: str


class WallTime(msgspec.Struct, gc=False, kw_only=True):
    """The trace with the facts around it."""

    resources: list[str]
    frames: list[msgspec.Raw]
    clocksOrigin: Clocks
    sampleInterval: float | None = None
    longTasks: list[LongTask] = []
    views: list[PageView] = []
    debugIds: list[ScriptId] = []


class Event(msgspec.Struct, gc=False):
    """The event sent with the trace: its tags name release, environment and service."""

    tags_profiler: str = ""


_trace_decoder = msgspec.json.Decoder(Trace)
_context_decoder = msgspec.json.Decoder(WallTime)
_event_decoder = msgspec.json.Decoder(Event)


def _wrapper(source: Source) -> str | None:
    """Returns the field of the trace in an object around it, or None."""
    fields = source.fields
    for name in WRAPPERS:
        if name in fields and read_fields(fields[name]).keys() >= TABLES:
            return name
    return None


def _can_read(source: Source) -> bool:
    return source.fields.keys() >= TABLES or _wrapper(source) is not None


def _read(source: Source) -> Iterator[InputTrace]:
    if source.fields.keys() >= TABLES:
        yield from read_profile(source, None, "$")
        return
    name = _wrapper(source) or ""
    event = source.fields.get("event", source.fields.get("profile"))
    inner = Source(source.place, bytes(source.fields[name]), source.limits)
    yield from read_profile(inner, None if event is None else bytes(event), f"$.{name}")


def read_profile(source: Source, event: bytes | None, path: str) -> Iterator[InputTrace]:
    """Yields the traces of a `wall-time.json` and of the event sent with it, if there is one.

    `path` is where the former is. Raises `TraceError`.
    """
    tags = {} if event is None else _read_tags(Source(source.place, event, source.limits))
    try:
        trace, context = source.decode(_trace_decoder), source.decode(_context_decoder)
        check_trace(trace, source.limits.envelope)
    except TraceError as error:
        tail = error.path.removeprefix("$").removeprefix(".trace")
        raise TraceError(error.reason, path + tail, error.detail) from None
    yield from _split(trace, context, tags, path)


def _read_tags(event: Source) -> dict[str, str]:
    """Returns those of an event's tags that say what the page ran, by name; the first of each counts."""
    tags: dict[str, str] = {}
    for tag in event.decode(_event_decoder).tags_profiler.split(","):
        name, _, value = tag.partition(":")
        if name in TAGS and value:
            tags.setdefault(name, value)
    return tags


def _split(trace: Trace, context: WallTime, tags: Mapping[str, str], path: str) -> Iterator[InputTrace]:
    """Yields a trace per view: the samples from its start to the next one's; the first also gets earlier ones."""
    if len(context.views) > MAX_VIEWS:
        raise invalid(f"{path}.views", f"There are more than {MAX_VIEWS} views.")
    views = sorted(context.views, key=lambda view: view.startClocks.relative)
    starts = [view.startClocks.relative for view in views[1:]]
    parts: list[list[Sample]] = [[] for _ in range(max(1, len(views)))]
    for sample in trace.samples:
        parts[bisect_right(starts, sample.timestamp)].append(sample)
    marks: list[list[Mark]] = [[] for _ in parts]
    for task in context.longTasks:
        start = task.startClocks.relative
        marks[bisect_right(starts, start)].append(Mark(task.entryType, start, task.duration))
    notes = [NOTE_FRAMES] if any(task.entryType != "longtask" for task in context.longTasks) else []
    if sum(map(bool, parts)) > 1:
        notes.append(NOTE_SPLIT)
    for index, samples in enumerate(parts):
        if not samples and len(parts) > 1:
            continue
        view = views[index] if views else None
        part = trace if len(parts) == 1 else part_of(trace, samples)
        yield InputTrace(_draft(part, context, view, tags, marks[index]), tuple(notes))


def _draft(trace: Trace, context: WallTime, view: PageView | None, tags: Mapping[str, str], marks: list[Mark]) -> Draft:
    origin = context.clocksOrigin.timeStamp - context.clocksOrigin.relative
    started = view.startClocks.timeStamp if view is not None else None
    name = view.viewName if view is not None else None
    return Draft(
        trace=trace,
        viewId=_uuid(view.viewId) if view is not None else None,
        release=tags.get("version"),
        timeOrigin=origin if is_known_time(origin) else None,
        viewStart=started if started is not None and is_known_time(started) else None,
        requestedInterval=context.sampleInterval,
        page=None if name is None else ANY_SEGMENT.sub(":id", name),
        marks=marks,
        tags={name: value for name, value in tags.items() if name != "version"},
        debugIds=_read_debug_ids(context),
    )


def _read_debug_ids(context: WallTime) -> msgspec.Raw:
    resources = context.resources
    named = (script for script in context.debugIds if 0 <= script.resourceId < len(resources))
    return write_debug_ids((resources[script.resourceId], script.debugId) for script in named)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


DATADOG: Final = Importer(name="datadog", title="Datadog's wall-time.json", can_read=_can_read, read=_read)
