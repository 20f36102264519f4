"""speedscope's files: profiles of weighted samples, or of events that open and close frames.

Weights and times between events are durations, and are kept to the µs. The format does not tell whether a frame's line
is where a function is defined or where it was running. Line and column together, as tools for JavaScript write them,
are taken for the definition. A line without a column is left out.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import Span, TraceBuilder, dangling, invalid, name_of_label, part_of
from profcore.formats.importers.ours import ENGINE, HIDDEN, SliceMetadata, fill
from profcore.formats.importers.shapes import Draft, Importer, InputTrace, Source, decode

SCHEMA: Final = b"speedscope.app/file-format-schema.json"
US_OF_UNIT: Final = {"nanoseconds": 0.001, "microseconds": 1.0, "milliseconds": 1000.0, "seconds": 1_000_000.0}
NOTE_LINES: Final = "Frames with only a line were imported without a position: the line may be where they were running."
NOTE_SPLIT: Final = "Samples longer than ten intervals were split: times stay the same, counts of samples do not."


class Frame(msgspec.Struct, gc=False):
    """A frame; `line` and `col` are 1-based."""

    name: str
    file: str | None = None
    line: int | None = None
    col: int | None = None


class _Shared(msgspec.Struct, gc=False):
    frames: list[Frame]


class _File(msgspec.Struct, gc=False):
    shared: _Shared
    profiles: list[msgspec.Raw]
    fieldflame: SliceMetadata | None = None


class _Kind(msgspec.Struct, gc=False):
    type: str
    unit: str


class Sampled(msgspec.Struct, gc=False):
    """Samples as lists of frames, root first, each with a weight."""

    samples: list[list[int]]
    weights: list[float]


class _Event(msgspec.Struct, gc=False):
    type: str
    at: float
    frame: int


class Evented(msgspec.Struct, gc=False):
    """Frames that open and close, in order of time."""

    startValue: float
    endValue: float
    events: list[_Event]


_file_decoder = msgspec.json.Decoder(_File)
_kind_decoder = msgspec.json.Decoder(_Kind)
_sampled_decoder = msgspec.json.Decoder(Sampled)
_evented_decoder = msgspec.json.Decoder(Evented)


def _can_read(source: Source) -> bool:
    fields = source.fields
    if "$schema" in fields:
        return SCHEMA in bytes(fields["$schema"])
    return fields.keys() >= {"shared", "profiles"} and "meta" not in fields


def _read(source: Source) -> Iterator[InputTrace]:
    file = source.decode(_file_decoder)
    has_lines = any(frame.line is not None and frame.col is None for frame in file.shared.frames)
    for index, raw in enumerate(file.profiles):
        path = f"$.profiles[{index}]"
        kind = decode(raw, _kind_decoder, source.limits, path)
        if kind.unit not in US_OF_UNIT:
            detail = "Its weights are not times: the unit is not one of " + ", ".join(US_OF_UNIT) + "."
            raise invalid(f"{path}.unit", detail)
        builder = TraceBuilder(source.limits)
        frames = _Frames(file.shared.frames, builder)
        if kind.type == "sampled":
            sampled = decode(raw, _sampled_decoder, source.limits, path)
            spans = _sampled_spans(sampled, frames, builder, US_OF_UNIT[kind.unit], path)
        elif kind.type == "evented":
            evented = decode(raw, _evented_decoder, source.limits, path)
            spans = _evented_spans(evented, frames, builder, US_OF_UNIT[kind.unit], path)
        else:
            raise invalid(f"{path}.type", "The profile is neither sampled nor evented.")
        metadata = file.fieldflame
        if metadata is not None:
            spans = _hide(spans, builder)
        interval = builder.spans(spans, None if metadata is None else metadata.interval_ms, path)
        notes = [NOTE_SPLIT] if len(builder.samples) > len(spans) + 1 else []
        if has_lines:
            notes.append(NOTE_LINES)
        draft = Draft(trace=builder.build(), sampleInterval=interval, marks=builder.marks)
        if metadata is not None:
            draft.trace = part_of(draft.trace, draft.trace.samples)  # without the pseudo func
            fill(draft, metadata)
        yield InputTrace(draft, tuple(notes))


def _hide(spans: Sequence[Span], builder: TraceBuilder) -> list[Span]:
    """Returns the spans of one of our exports: those of its pseudo funcs have no stack and are known to be busy."""
    hidden, engine = (builder.stack(None, builder.frame(name)) for name in (HIDDEN, ENGINE))
    return [
        Span(None, None, span.duration_us, is_hidden=span.stack == hidden, is_engine=span.stack == engine)
        if span.stack in {hidden, engine}
        else span
        for span in spans
    ]


class _Frames:
    """The shared frames as our frames, created when a profile needs them."""

    def __init__(self, frames: Sequence[Frame], builder: TraceBuilder) -> None:
        self._frames = frames
        self._builder = builder
        self._ids: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: int) -> int:
        frame_id = self._ids.get(index)
        if frame_id is None:
            frame = self._frames[index]
            line, column = (frame.line, frame.col) if frame.col is not None else (None, None)
            name = name_of_label(frame.name, line, column)
            frame_id = self._ids[index] = self._builder.frame(name, frame.file, line, column)
        return frame_id


def _sampled_spans(profile: Sampled, frames: _Frames, builder: TraceBuilder, unit_us: float, path: str) -> list[Span]:
    if len(profile.samples) != len(profile.weights):
        detail = f"There are {len(profile.samples)} samples, but {len(profile.weights)} weights."
        raise invalid(f"{path}.weights", detail)
    spans = []
    for index, (sample, weight) in enumerate(zip(profile.samples, profile.weights, strict=True)):
        if any(not 0 <= frame < len(frames) for frame in sample):
            raise dangling(f"{path}.samples[{index}]", "frames")
        if weight < 0:
            raise TraceError(Reason.OUT_OF_RANGE, f"{path}.weights[{index}]", "A weight is negative.")
        spans.append(Span(builder.path(frames[frame] for frame in sample), None, weight * unit_us))
    return spans


def _evented_spans(profile: Evented, frames: _Frames, builder: TraceBuilder, unit_us: float, path: str) -> list[Span]:
    spans: list[Span] = []
    opened: list[tuple[int, int]] = []  # frames of the file with their stacks, root first
    now = profile.startValue
    for index, event in enumerate(profile.events):
        where = f"{path}.events[{index}]"
        if not 0 <= event.frame < len(frames):
            raise dangling(f"{where}.frame", "frames")
        if event.at < now:
            raise TraceError(Reason.OUT_OF_RANGE, f"{where}.at", "An event is earlier than the previous one.")
        top = opened[-1][1] if opened else None
        if event.at > now:
            spans.append(Span(top, None, (event.at - now) * unit_us))
            now = event.at
        if event.type == "O":
            opened.append((event.frame, builder.stack(top, frames[event.frame])))
        elif event.type != "C":
            raise invalid(f"{where}.type", "An event neither opens nor closes a frame.")
        elif not opened or opened.pop()[0] != event.frame:
            raise invalid(f"{where}.frame", "An event closes a frame that is not the innermost open one.")
    if profile.endValue > now:
        spans.append(Span(opened[-1][1] if opened else None, None, (profile.endValue - now) * unit_us))
    return spans


SPEEDSCOPE: Final = Importer(name="speedscope", title="a speedscope file", can_read=_can_read, read=_read)
