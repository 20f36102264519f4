"""The CPU profiles in Chrome's trace events, as DevTools' Performance panel saves them.

A profile is one `CpuProfile` event, or a `Profile` event and its `ProfileChunk`s, joined by process and id. If a thread
has several profiles, only the one with most samples is read: they show the same time. `RunTask` events of 50 ms or
more are the long tasks of their thread. The page is that of the process's outermost frame, if the trace has it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.chrome.v8 import (
    Node,
    add_samples,
    add_spans,
    make_builder,
    notes_of,
    read_nodes,
    time_between,
)
from profcore.formats.importers.ours import SliceMetadata, fill, read_time
from profcore.formats.importers.shapes import Draft, Importer, InputTrace, Source, decode, decode_bulky
from profcore.trace.wire import Mark

LONG_TASK_US: Final = 50_000  # what browsers call a long task
PROFILE_EVENTS: Final = frozenset({"CpuProfile", "Profile", "ProfileChunk"})
NOTE_SEVERAL: Final = "Several profiles show the same thread; the one with most samples was read."


class Event(msgspec.Struct, gc=False, kw_only=True):
    """An event. `ts` and `dur` are µs of the machine's clock."""

    name: str = ""
    ph: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = 0.0
    dur: float = 0.0
    id: int | str | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _File(msgspec.Struct, gc=False):
    traceEvents: list[Event]
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


class _Metadata(SliceMetadata, gc=False):
    startTime: str | float | None = None


class _CpuProfile(msgspec.Struct, gc=False):
    nodes: list[Node] = []
    samples: list[int] = []
    timeDeltas: list[float] = []
    startTime: float | None = None
    endTime: float | None = None


class _Data(msgspec.Struct, gc=False):
    startTime: float | None = None
    endTime: float | None = None
    cpuProfile: _CpuProfile | None = None
    timeDeltas: list[float] = []


class _ProfileArgs(msgspec.Struct, gc=False):
    data: _Data | None = None


class _Frame(msgspec.Struct, gc=False):
    url: str = ""
    processId: int | str | None = None
    parent: str | None = None


class _Frames(msgspec.Struct, gc=False):
    frames: list[_Frame] = []


class _StartedArgs(msgspec.Struct, gc=False):
    data: _Frames | None = None


_file_decoder = msgspec.json.Decoder(_File)
_list_decoder = msgspec.json.Decoder(list[Event])
_metadata_decoder = msgspec.json.Decoder(_Metadata)
_profile_decoder = msgspec.json.Decoder(_ProfileArgs)
_started_decoder = msgspec.json.Decoder(_StartedArgs)

Thread = tuple[int | str, int | str]  # process and thread
Key = tuple[int | str, int | str]  # process and profile


@dataclass(slots=True, kw_only=True)
class _Profile:
    """A profile joined from its events. `path` is the place of the first one."""

    thread: Thread
    path: str
    start_us: float | None = None
    end_us: float | None = None
    nodes: list[Node] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    deltas: list[float] = field(default_factory=list)


def _can_read(source: Source) -> bool:
    fields = source.fields
    return "traceEvents" in fields or source.first_fields.keys() >= {"ph", "pid"}


def _read(source: Source) -> Iterator[InputTrace]:
    events, metadata, path = _read_events(source)
    order = sorted(range(len(events)), key=lambda index: events[index].ts)
    profiles: dict[Key, _Profile] = {}
    for index in order:
        event = events[index]
        if event.name in PROFILE_EVENTS:
            _add_event(event, profiles, source, f"{path}[{index}].args")
    best: dict[Thread, _Profile] = {}
    for profile in profiles.values():
        kept = best.setdefault(profile.thread, profile)
        if len(profile.samples) > len(kept.samples):
            best[profile.thread] = profile
    if not any(profile.samples for profile in best.values()):
        raise TraceError(Reason.UNSUPPORTED_MEDIA, path, "The trace has no CPU profile with samples.")
    urls = _find_urls(events, source, path)
    long_tasks = _find_long_tasks(events)
    for profile in best.values():
        if profile.samples:
            tasks = long_tasks.get(profile.thread, [])
            trace = _convert(profile, tasks, metadata, urls.get(str(profile.thread[0])), source)
            yield trace if len(best) == len(profiles) else replace(trace, notes=(*trace.notes, NOTE_SEVERAL))


def _read_events(source: Source) -> tuple[list[Event], _Metadata, str]:
    """Returns the decoded events, with their arguments unread."""
    if source.start == b"[":
        return decode_bulky(source, _list_decoder), _Metadata(), "$"
    file = decode_bulky(source, _file_decoder)
    metadata = decode(file.metadata, _metadata_decoder, source.limits, "$.metadata")
    return file.traceEvents, metadata, "$.traceEvents"


def _add_event(event: Event, profiles: dict[Key, _Profile], source: Source, path: str) -> None:
    """Adds the content of an event to its profile. A chunk of a profile that never began is left out."""
    data = decode(event.args, _profile_decoder, source.limits, path).data
    if data is None:
        return
    key = (event.pid, event.tid if event.id is None else event.id)
    profile = profiles.get(key)
    if profile is None:
        if event.name == "ProfileChunk":
            return
        profile = profiles[key] = _Profile(thread=(event.pid, event.tid), path=path, start_us=data.startTime)
    if data.endTime is not None:
        profile.end_us = data.endTime
    if data.cpuProfile is not None:
        if data.cpuProfile.startTime is not None:  # of one event with the whole profile
            profile.start_us, profile.end_us = data.cpuProfile.startTime, data.cpuProfile.endTime
        profile.nodes += data.cpuProfile.nodes
        profile.samples += data.cpuProfile.samples
    # Some versions of Chrome write the steps at both places.
    profile.deltas += data.timeDeltas or (data.cpuProfile.timeDeltas if data.cpuProfile is not None else [])


def _find_urls(events: Sequence[Event], source: Source, path: str) -> dict[str, str]:
    """Returns the URL of each process's outermost frame, from the event at the trace's start."""
    urls: dict[str, str] = {}
    for index, event in enumerate(events):
        if event.name == "TracingStartedInBrowser":
            data = decode(event.args, _started_decoder, source.limits, f"{path}[{index}].args").data
            for frame in data.frames if data is not None else []:
                if frame.parent is None and frame.processId is not None and frame.url:
                    urls.setdefault(str(frame.processId), frame.url)
    return urls


def _find_long_tasks(events: Sequence[Event]) -> dict[Thread, list[Event]]:
    """Returns the long tasks by thread, in their order: a file may have thousands of threads."""
    tasks: dict[Thread, list[Event]] = {}
    for event in events:
        if event.name == "RunTask" and event.dur >= LONG_TASK_US:
            tasks.setdefault((event.pid, event.tid), []).append(event)
    return tasks


def _convert(
    profile: _Profile, tasks: Sequence[Event], metadata: _Metadata, url: str | None, source: Source
) -> InputTrace:
    """Returns a profile as a trace; `tasks` are the long ones of its thread."""
    builder = make_builder(source.limits)
    is_ours = metadata.origin_us is not None
    nodes = read_nodes(profile.nodes, builder, profile.path, is_ours=is_ours)
    places = nodes.places
    if is_ours:
        interval = add_spans(builder, places, profile.samples, profile.deltas, metadata, path=profile.path)
        draft = Draft(trace=builder.build(), sampleInterval=interval, marks=builder.marks)
        fill(draft, metadata)
        return InputTrace(draft)
    lasts_us = time_between(profile.start_us, profile.end_us)
    add_samples(builder, places, profile.samples, profile.deltas, profile.path, lasts_us=lasts_us)
    marks = []
    if profile.start_us is not None:
        marks = [Mark("longtask", (task.ts - profile.start_us) / 1000, task.dur / 1000) for task in tasks]
    started_at = read_time(metadata.startTime) if isinstance(metadata.startTime, str) else None
    draft = Draft(trace=builder.build(), timeOrigin=started_at, url=url, marks=marks)
    return InputTrace(draft, notes_of(nodes, profile.samples))


TRACE_EVENTS: Final = Importer(name="trace-events", title="Chrome's trace events", can_read=_can_read, read=_read)
