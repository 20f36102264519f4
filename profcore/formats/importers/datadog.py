"""Datadog's browser profiles: the SDK's `wall-time.json`, alone or with the event sent with it.

The trace is the API's own, verbatim, with clocks, views and long tasks around it. A view's part of the trace becomes a
trace of that view; its page is the view's name. `sampleInterval` is the requested interval.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final
from uuid import UUID

import msgspec

from profcore.errors import TraceError
from profcore.formats.importers.building import invalid, part_of
from profcore.formats.importers.completing import is_known_time
from profcore.formats.importers.shapes import Draft, Importer, InputTrace, Source, read_fields
from profcore.trace.wire import Mark, Sample, Trace, check_trace

TABLES: Final = frozenset({"frames", "stacks", "samples", "clocksOrigin"})
# The trace's name in a form's fields, in the bridge to a mobile app, and in what the SDK passes to both.
WRAPPERS: Final = ("wall-time.json", "trace")
RELEASE_TAG: Final = "version:"
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


class WallTime(msgspec.Struct, gc=False, kw_only=True):
    """The trace with the facts around it."""

    resources: list[str]
    frames: list[msgspec.Raw]
    clocksOrigin: Clocks
    sampleInterval: float | None = None
    longTasks: list[LongTask] = []
    views: list[PageView] = []


class Event(msgspec.Struct, gc=False):
    """The event sent with the trace: its tags name the release."""

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
    inner, path, event = source, "$", Event()
    if not source.fields.keys() >= TABLES:
        name = _wrapper(source) or ""
        inner = Source(source.place, bytes(source.fields[name]), source.limits)
        path = f"$.{name}"
        around = source.fields.get("event", source.fields.get("profile"))
        if around is not None:
            event = Source(source.place, bytes(around), source.limits).decode(_event_decoder)
    try:
        trace, context = inner.decode(_trace_decoder), inner.decode(_context_decoder)
        check_trace(trace, source.limits.envelope)
    except TraceError as error:
        tail = error.path.removeprefix("$").removeprefix(".trace")
        raise TraceError(error.reason, path + tail, error.detail) from None
    yield from _split(trace, context, _release_of(event), path)


def _release_of(event: Event) -> str | None:
    tags = event.tags_profiler.split(",")
    return next((tag.removeprefix(RELEASE_TAG) for tag in tags if tag.startswith(RELEASE_TAG)), None) or None


def _split(trace: Trace, context: WallTime, release: str | None, path: str) -> Iterator[InputTrace]:
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
        yield InputTrace(_draft(part, context, view, release, marks[index]), tuple(notes))


def _draft(trace: Trace, context: WallTime, view: PageView | None, release: str | None, marks: list[Mark]) -> Draft:
    origin = context.clocksOrigin.timeStamp - context.clocksOrigin.relative
    started = view.startClocks.timeStamp if view is not None else None
    return Draft(
        trace=trace,
        viewId=_uuid(view.viewId) if view is not None else None,
        release=release,
        timeOrigin=origin if is_known_time(origin) else None,
        viewStart=started if started is not None and is_known_time(started) else None,
        requestedInterval=context.sampleInterval,
        page=view.viewName if view is not None else None,
        marks=marks,
    )


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


DATADOG: Final = Importer(name="datadog", title="Datadog's wall-time.json", can_read=_can_read, read=_read)
