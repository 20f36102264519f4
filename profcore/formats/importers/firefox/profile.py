"""Firefox profiles in the processed format, versions 30 to 75: those that the Firefox Profiler saves, and our exports.

A thread becomes a trace: its JS functions and the labels that belong to JS, at the place of their definition. Native
frames and threads without any JS are left out. Samples weighted in ms (`tracing-ms`) keep their weights, others
their times. The categories of the engine's own work become markers.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import Span, TraceBuilder, invalid
from profcore.formats.importers.completing import is_known_time
from profcore.formats.importers.firefox.stacks import StackReader, Tables
from profcore.formats.importers.shapes import Draft, Importer, InputTrace, Source, decode
from profcore.trace.wire import MAX_INTERVAL_MS, Mark

OLDEST_VERSION: Final = 30  # before, weights had another name
NEWEST_VERSION: Final = 75  # of Mozilla's reader that the tests have
MAX_THREADS: Final = 1_000
MAX_CLOCK_US: Final = 1e15  # thirty years: larger times are not a clock
OURS: Final = "Fieldflame"
NOTE_NATIVE: Final = "Threads without JavaScript were left out, and so were native frames."
NOTE_SPLIT: Final = "Samples longer than ten intervals were split: times stay the same, counts of samples do not."
GECKO: Final = (
    "This is a raw profile from Firefox. Open it in the Firefox Profiler and save it from there: only the"
    " processed format can be imported."
)


class _Category(msgspec.Struct, gc=False):
    name: str = ""


class _Entry(msgspec.Struct, gc=False):
    label: str
    value: str | float | None = None


class _Section(msgspec.Struct, gc=False):
    label: str = ""
    entries: list[_Entry] = []


class Meta(msgspec.Struct, gc=False, kw_only=True):
    """The facts of the whole profile; `startTime` is epoch ms."""

    preprocessedProfileVersion: int | None = None
    startTime: float | None = None
    interval: float | None = None
    categories: list[_Category] = []
    importedFrom: str | None = None
    appBuildID: str | None = None
    extra: list[_Section] = []


class Samples(msgspec.Struct, gc=False, kw_only=True):
    """Samples; `timeDeltas` are steps, except that the first is the first time itself."""

    stack: list[int | None] = []
    time: list[float] | None = None
    timeDeltas: list[float] | None = None
    weight: list[float] | None = None
    weightType: str | None = None


class Thread(Tables, gc=False):
    """A thread; before version 60 it has its own tables."""

    samples: Samples = msgspec.field(default_factory=Samples)
    processName: str = ""


class _File(msgspec.Struct, gc=False):
    meta: Meta
    threads: list[msgspec.Raw]
    shared: Tables = msgspec.field(default_factory=Tables)


class _Head(msgspec.Struct, gc=False):
    meta: Meta


_head_decoder = msgspec.json.Decoder(_Head)
_file_decoder = msgspec.json.Decoder(_File)
_thread_decoder = msgspec.json.Decoder(Thread)


def _can_read(source: Source) -> bool:
    return source.fields.keys() >= {"meta", "threads"}


def _read(source: Source) -> Iterator[InputTrace]:
    version = source.decode(_head_decoder).meta.preprocessedProfileVersion
    if version is None:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$.meta.preprocessedProfileVersion", GECKO)
    if not OLDEST_VERSION <= version <= NEWEST_VERSION:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$.meta.preprocessedProfileVersion", _refuse(version))
    file = source.decode(_file_decoder)
    if len(file.threads) > MAX_THREADS:
        raise TraceError(Reason.TOO_MANY, "$.threads", f"There are more than {MAX_THREADS} threads.")
    is_ours = OURS in (file.meta.importedFrom or "")
    kept = 0
    for index, raw in enumerate(file.threads):
        path = f"$.threads[{index}]"
        thread = decode(raw, _thread_decoder, source.limits, path)
        trace = _convert(file, thread, source, path, is_ours)
        if trace is not None:
            kept += 1
            yield trace
    if not kept:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$.threads", "No thread of the profile ran any JavaScript.")


def _refuse(version: int) -> str:
    """Returns why a version is not imported, and what to do."""
    known = f"versions {OLDEST_VERSION} to {NEWEST_VERSION} of Firefox's processed format can be imported"
    if version < OLDEST_VERSION:
        return f"This is version {version}, and {known}. Open it in the Firefox Profiler and save it from there."
    return f"This is version {version}, and {known}. A newer Fieldflame may know it; please report it otherwise."


def _convert(file: _File, thread: Thread, source: Source, path: str, is_ours: bool) -> InputTrace | None:
    builder = TraceBuilder(source.limits)
    draft = Draft(trace=builder.build())
    names = [category.name for category in file.meta.categories]
    reader = StackReader(thread, file.shared, names, builder, path)
    marks, notes = _add_samples(thread.samples, reader, builder=builder, meta=file.meta, draft=draft, path=path)
    draft.trace = builder.build()
    if not draft.trace.frames and not is_ours:
        return None
    start = file.meta.startTime
    draft.timeOrigin = start if start is not None and is_known_time(start) else None
    draft.marks = marks
    if is_ours:
        draft.release = file.meta.appBuildID
        # A slice names its pages; a view is a process with the name of its page.
        pages = _ours(file.meta).get("Pages") or thread.processName
        draft.page = pages if pages.startswith("/") and ", " not in pages else None
    if reader.has_native:
        notes.append(NOTE_NATIVE)
    return InputTrace(draft, tuple(notes))


def _ours(meta: Meta) -> Mapping[str, str]:
    """Returns the facts of the slice in one of our own exports."""
    return {
        entry.label: entry.value
        for section in meta.extra
        if section.label == "Slice"
        for entry in section.entries
        if isinstance(entry.value, str)
    }


def _add_samples(
    samples: Samples, reader: StackReader, *, builder: TraceBuilder, meta: Meta, draft: Draft, path: str
) -> tuple[list[Mark], list[str]]:
    """Returns marks and notes. Adds a thread's samples by weight or by time, and sets the draft's interval."""
    path = f"{path}.samples"
    interval = meta.interval if meta.interval is not None and 0.001 <= meta.interval <= MAX_INTERVAL_MS else None
    weights = samples.weight
    places = [reader.place(stack, f"{path}.stack[{index}]") for index, stack in enumerate(samples.stack)]
    if weights is not None and samples.weightType == "tracing-ms":
        _check_weights(weights, len(places), path)
        spans = [
            Span(place.stack, place.marker, weight * 1000, place.is_hidden, place.is_engine)
            for place, weight in zip(places, weights, strict=True)
        ]
        starts = _starts(samples, weights, path)
        draft.sampleInterval = builder.spans(spans, interval, path, starts)
        return builder.marks, [NOTE_SPLIT] if len(builder.samples) > len(spans) + 1 else []
    if samples.weightType == "bytes" or (weights is not None and any(weight != 1 for weight in weights)):
        raise invalid(f"{path}.weightType", "The weights of its samples are not times.")
    times = _times(samples, len(places), path)
    for time, place in zip(times, places, strict=True):
        builder.sample(time, place.stack, place.marker)
    draft.sampleInterval = interval
    return [], []


def _starts(samples: Samples, weights: list[float], path: str) -> list[float] | None:
    """Returns the start of each weighted sample, µs, if their times are a clock: none may last into the next one."""
    if samples.time is None and samples.timeDeltas is None:
        return None
    times = [time * 1000 for time in _times(samples, len(weights), path)]
    ends = (time + weight * 1000 for time, weight in zip(times, weights, strict=True))
    is_clock = all(-MAX_CLOCK_US < time < MAX_CLOCK_US for time in times) and all(
        end < following + 1 for end, following in zip(ends, times[1:], strict=False)
    )
    return times if is_clock else None


def _check_weights(weights: list[float], count: int, path: str) -> None:
    if len(weights) != count:
        raise invalid(f"{path}.weight", f"There are {count} samples, but {len(weights)} weights.")
    if any(weight < 0 for weight in weights):
        raise TraceError(Reason.OUT_OF_RANGE, f"{path}.weight", "A weight is negative: this is a difference.")


def _times(samples: Samples, count: int, path: str) -> list[float]:
    """Returns the samples' times, ms since the profile's start."""
    times = samples.time
    if times is None:
        times, at = [], 0.0
        for delta in samples.timeDeltas or ():
            at += delta
            times.append(at)
    if len(times) != count:
        raise invalid(f"{path}.time", f"There are {count} samples, but {len(times)} times.")
    return times


FIREFOX: Final = Importer(name="firefox", title="a Firefox profile", can_read=_can_read, read=_read)
