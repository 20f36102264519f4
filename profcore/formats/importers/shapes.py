"""Input and output of importers: an input with its place, the traces found in it, and the limits of both."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Final, TypeVar
from uuid import UUID

import msgspec

from profcore.errors import Reason, TraceError
from profcore.trace.wire import NULL, UNREADABLE, Device, Limits, Mark, Trace, explain

WHITESPACE: Final = b" \t\r\n"
_NO_FIELDS: Final[Mapping[str, msgspec.Raw]] = MappingProxyType({})
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLimits:
    """Bounds of one file; the settings named `IMPORT_MAX_…` hold their numbers and reasons.

    `input_bytes` bounds one profile. `expanded_bytes` bounds the sum of everything in a file's containers, and also the
    sum of its envelopes. `members` bounds the number of inputs in its containers, `nesting` containers within
    containers. `values` bounds the JSON values of one profile, `trace_bytes` the envelope of a trace. `samples` bounds
    the samples of all traces together: a profile's longest samples become many.
    """

    file_bytes: int = 50 * 2**20
    input_bytes: int = 100 * 2**20
    expanded_bytes: int = 400 * 2**20
    nesting: int = 4
    members: int = 10_000
    traces: int = 10_000
    samples: int = 10_000_000
    values: int = 4_000_000
    trace_bytes: int = 50 * 2**20
    envelope: Limits = field(default_factory=Limits)


class FileError(Exception):
    """A file cannot be imported; has the place in it (`upload.zip › lab.cpuprofile`), a JSON path, and a sentence."""

    def __init__(self, place: str, error: TraceError) -> None:
        super().__init__(f"{place}: {error.detail} (at {error.path})")
        self.place = place
        self.reason = error.reason
        self.path = error.path
        self.detail = error.detail


class Source:
    """One input: some bytes, and its place for people. Values that several importers need are read once."""

    def __init__(self, place: str, body: bytes, limits: ImportLimits) -> None:
        self.place = place
        self.body = body
        self.limits = limits

    @cached_property
    def start(self) -> bytes:
        """The first byte that is not white space, b"" for an empty input."""
        return self.body[:64].lstrip(WHITESPACE)[:1] or self.body.lstrip(WHITESPACE)[:1]

    @cached_property
    def fields(self) -> Mapping[str, msgspec.Raw]:
        """Those of `FIELDS` that a JSON object has, unread; empty for anything else."""
        return read_fields(self.body) if self.start == b"{" else _NO_FIELDS

    @cached_property
    def first_fields(self) -> Mapping[str, msgspec.Raw]:
        """The same for the first element of a JSON array."""
        if self.start != b"[":
            return _NO_FIELDS
        try:
            first = _first_decoder.decode(self.body).first
        except UNREADABLE:
            return _NO_FIELDS
        return read_fields(first)

    def decode(self, decoder: "msgspec.json.Decoder[T]") -> T:
        """Returns the decoded body. Raises `TraceError` with a JSON path."""
        return decode(self.body, decoder, self.limits)


class _First(msgspec.Struct, array_like=True):
    first: msgspec.Raw = msgspec.Raw(b"")


_first_decoder = msgspec.json.Decoder(_First)
_raw_decoder = msgspec.json.Decoder(msgspec.Raw)
_MISSING: Final = msgspec.Raw(b"")
# The fields by which formats are recognised. Others are skipped, so that an object with millions of them costs nothing.
FIELDS: Final = (
    *("viewId", "seq", "release", "timeOrigin", "sampleInterval", "trace", "timing"),
    *("resources", "frames", "stacks", "samples", "clocksOrigin", "wall-time.json", "event"),
    *("profile", "platform", "version", "event_id", "sent_at", "dsn", "sdk", "type"),
    *("head", "timestamps", "result"),
    *("nodes", "timeDeltas", "traceEvents", "ph", "pid", "meta", "threads", "$schema", "shared", "profiles"),
)
_Fields = msgspec.defstruct(
    "_Fields",
    [(f"f{index}", msgspec.Raw, _MISSING) for index in range(len(FIELDS))],
    rename={f"f{index}": name for index, name in enumerate(FIELDS)},
)
_fields_decoder = msgspec.json.Decoder(_Fields)


def read_fields(body: bytes | msgspec.Raw) -> Mapping[str, msgspec.Raw]:
    """Returns those of `FIELDS` that an object has, unread; empty if it is not an object."""
    try:
        values = msgspec.structs.astuple(_fields_decoder.decode(body))
    except UNREADABLE:
        return _NO_FIELDS
    return {name: value for name, value in zip(FIELDS, values, strict=True) if value is not _MISSING}


def decode(body: bytes | msgspec.Raw, decoder: "msgspec.json.Decoder[T]", limits: ImportLimits, path: str = "$") -> T:
    """Returns JSON as typed values. Its commas and braces bound the number of values.

    `path` is the place of the bytes in their input. Raises only `TraceError`.
    """
    body = bytes(body)
    if body.count(b",") + body.count(b"{") + body.count(b"[") > limits.values:
        raise TraceError(Reason.TOO_MANY, path, f"The JSON has more than {limits.values} values.")
    return _decode(body, decoder, path)


def check_json(source: Source) -> None:
    """Raises `TraceError` if an input is not JSON."""
    _decode(source.body, _raw_decoder, "$")


def decode_bulky(source: Source, decoder: "msgspec.json.Decoder[T]") -> T:
    """Returns a decoded input of many objects of which little is kept. Only objects are bounded, by their braces."""
    if source.body.count(b"{") > source.limits.values:
        raise TraceError(Reason.TOO_MANY, "$", f"The JSON has more than {source.limits.values} objects.")
    return _decode(source.body, decoder, "$")


def _decode(body: bytes, decoder: "msgspec.json.Decoder[T]", path: str) -> T:
    try:
        return decoder.decode(body)
    except UNREADABLE as error:
        explained = explain(error)
        raise TraceError(explained.reason, path + explained.path[1:], explained.detail) from None


class Draft(msgspec.Struct, gc=False, kw_only=True):
    """A trace and its facts from the file: the fields of an envelope, all optional except the trace."""

    trace: Trace
    viewId: UUID | None = None
    seq: int | None = None
    release: str | None = None
    timeOrigin: float | None = None
    sampleInterval: float | None = None
    page: str | None = None
    url: str | None = None
    traceId: UUID | None = None
    viewStart: float | None = None
    requestedInterval: float | None = None
    sampleRate: float = 1.0
    reason: str | None = None
    navigation: str | None = None
    requestTrace: str | None = None
    userAgent: str | None = None
    isolated: bool | None = None
    device: Device | None = None
    marks: list[Mark] = []
    tags: dict[str, str] = {}
    debugIds: msgspec.Raw = NULL


@dataclass(frozen=True, slots=True)
class InputTrace:
    """One trace of an input. `body` is an envelope as it was received, kept verbatim; `notes` tell what was lost."""

    draft: Draft
    notes: tuple[str, ...] = ()
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One format: `can_read` recognises its shape, `read` yields its traces or raises `TraceError` with a JSON path.

    A dialect of the wire also has `translate`, which returns an envelope with its trace in the spec's dialect. Ingest
    accepts these dialects, and no other format.
    """

    name: str
    title: str
    can_read: Callable[[Source], bool]
    read: Callable[[Source], Iterator[InputTrace]]
    translate: Callable[[Source], bytes] | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """One kind of container: `open` yields further inputs; `Budget` bounds their sum."""

    name: str
    can_open: Callable[[Source], bool]
    open: Callable[[Source, "Budget"], Iterator[Source]]


class Budget:
    """How much all of a file's containers together may still yield."""

    def __init__(self, limits: ImportLimits) -> None:
        self.limits = limits
        self._bytes = limits.expanded_bytes
        self._members = limits.members

    def room(self) -> int:
        """Returns how many bytes the next input may have."""
        return min(self._bytes, self.limits.input_bytes)

    def take(self, size: int) -> None:
        """Subtracts one input of `size` bytes. Raises `TraceError` if that is too much."""
        if size > self.limits.input_bytes:
            raise TraceError(Reason.TOO_LARGE, "$", f"The input has more than {self.limits.input_bytes} bytes.")
        self._bytes -= size
        if self._bytes < 0:
            detail = f"Unpacked, the file has more than {self.limits.expanded_bytes} bytes."
            raise TraceError(Reason.TOO_LARGE, "$", detail)
        self._members -= 1
        if self._members < 0:
            raise TraceError(Reason.TOO_MANY, "$", f"The file holds more than {self.limits.members} inputs.")
