"""The CPU profiles in Chrome's trace events, as DevTools' Performance panel saves them.

A profile is one `CpuProfile` event, or a `Profile` event and its `ProfileChunk`s, joined by process and id. If a thread
has several profiles, only the one with most samples is read: they show the same time. A trace may have lost events.
What it has is read, also next to a profile that cannot be read. `RunTask` events of 50 ms or more are the long tasks of
their thread. The page is that of the process's outermost frame, if the trace has it.
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
from profcore.trace.wire import Mark, check_trace

LONG_TASK_US: Final = 50_000  # what browsers call a long task
PROFILE_EVENTS: Final = frozenset({"CpuProfile", "Profile", "ProfileChunk"})
NOTE_MAPS: Final = (
    "The trace holds source maps, which are not used. Upload the maps of the build to see the functions' own names."
)
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


class _Maps(msgspec.Struct, gc=False):
    sourceMaps: msgspec.Raw = msgspec.Raw(b"")


class _Metadata(SliceMetadata, gc=False):
    startTime: str | float | None = None
    has_maps: bool = False


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


# Not strict: some writers, such as Hermes, have numbers as texts.
_file_decoder = msgspec.json.Decoder(_File, strict=False)
_list_decoder = msgspec.json.Decoder(list[Event], strict=False)
_maps_decoder = msgspec.json.Decoder(_Maps)
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
    fault: TraceError | None = None


def _can_read(source: Source) -> bool:
    fields = source.fields
    return "traceEvents" in fields or source.first_fields.keys() >= {"ph", "pid"}


def _read(source: Source) -> Iterator[InputTrace]:
    events, metadata, path = _read_events(source)
    profiles = _join_profiles(events, source, path)
    of_thread: dict[Thread, list[_Profile]] = {}
    for profile in profiles:
        of_thread.setdefault(profile.thread, []).append(profile)
    urls = _find_urls(events, source, path)
    long_tasks = _find_long_tasks(events)
    faults: list[TraceError] = []
    last: InputTrace | None = None  # held back, as notes on the whole file belong to one trace
    for thread, candidates in of_thread.items():
        url, tasks = urls.get(str(thread[0])), long_tasks.get(thread, [])
        trace = _convert_best(candidates, tasks, metadata, url, source=source, faults=faults)
        if trace is not None:
            if last is not None:
                yield last
            last = trace if len(of_thread) == len(profiles) else replace(trace, notes=(*trace.notes, NOTE_SEVERAL))
    if last is None:
        if faults:
            raise faults[0]
        raise TraceError(Reason.UNSUPPORTED_MEDIA, path, "The trace has no CPU profile with samples.")
    if faults:
        last = replace(last, notes=(*last.notes, _note_faults(faults)))
    yield last


def _note_faults(faults: Sequence[TraceError]) -> str:
    what = "1 profile" if len(faults) == 1 else f"{len(faults)} profiles"
    return f"{what} of the trace could not be read. {faults[0].detail} (at {faults[0].path})"


def _convert_best(
    candidates: Sequence[_Profile],
    tasks: Sequence[Event],
    metadata: _Metadata,
    url: str | None,
    *,
    source: Source,
    faults: list[TraceError],
) -> InputTrace | None:
    """Returns the profile of a thread with most samples that can be read; None without one. Adds to the faults."""
    for profile in sorted(candidates, key=lambda profile: len(profile.samples), reverse=True):
        if profile.fault is not None:
            faults.append(profile.fault)
        elif profile.samples:
            try:
                trace = _convert(profile, tasks, metadata, url, source)
                check_trace(trace.draft.trace, source.limits.envelope)
                return trace
            except TraceError as error:
                faults.append(error)
    return None


def _join_profiles(events: Sequence[Event], source: Source, path: str) -> list[_Profile]:
    """Returns the profiles, each joined from its events in the order of their times."""
    profiles: dict[Key, _Profile] = {}
    for index in sorted(range(len(events)), key=lambda index: events[index].ts):
        event = events[index]
        if event.name in PROFILE_EVENTS:
            place = f"{path}[{index}].args"
            try:
                _add_event(event, profiles, source, place)
            except TraceError as error:
                profile = profiles.setdefault(_key_of(event), _Profile(thread=(event.pid, event.tid), path=place))
                profile.fault = profile.fault or error
    return list(profiles.values())


def _read_events(source: Source) -> tuple[list[Event], _Metadata, str]:
    """Returns the decoded events, with their arguments unread."""
    if source.start == b"[":
        return decode_bulky(source, _list_decoder), _Metadata(), "$"
    file = decode_bulky(source, _file_decoder)
    # Mappings have a comma for each place, but are not read.
    maps = bytes(decode_bulky(Source("", bytes(file.metadata), source.limits), _maps_decoder).sourceMaps)
    limits = replace(source.limits, values=source.limits.values + sum(map(maps.count, (b",", b"{", b"["))))
    metadata = decode(file.metadata, _metadata_decoder, limits, "$.metadata")
    metadata.has_maps = len(maps.strip(b"[] \t\r\n")) > 0
    return file.traceEvents, metadata, "$.traceEvents"


def _key_of(event: Event) -> Key:
    return (event.pid, event.tid if event.id is None else event.id)


def _add_event(event: Event, profiles: dict[Key, _Profile], source: Source, path: str) -> None:
    """Adds the content of an event to its profile. The beginning of a profile may be lost."""
    data = decode(event.args, _profile_decoder, source.limits, path).data
    if data is None:
        return
    key = _key_of(event)
    profile = profiles.get(key)
    if profile is None:
        # Chunks come from a thread of the profiler's, so without the beginning, the profile's thread is unknown.
        thread = (event.pid, f"profile {key[1]}") if event.name == "ProfileChunk" else (event.pid, event.tid)
        profile = profiles[key] = _Profile(thread=thread, path=path, start_us=data.startTime)
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
    notes = notes_of(nodes, profile.samples)
    return InputTrace(draft, (*notes, NOTE_MAPS) if metadata.has_maps else notes)


TRACE_EVENTS: Final = Importer(name="trace-events", title="Chrome's trace events", can_read=_can_read, read=_read)
