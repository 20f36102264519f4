"""The wire: an envelope with a trace, from bytes to typed values, under explicit limits.

Shapes follow the WICG's js-self-profiling (`ProfilerTrace`) and the ingest contract. After this module, every id is in
range, parents come before children, and numbers are finite and within limits.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from uuid import UUID

import msgspec

from profcore.errors import Reason, TraceError
from profcore.surrogates import replace_halves
from profcore.trace.dimensions import CACHES, NAVIGATIONS
from profcore.trace.intervals import MAX_POSTED_MS, MIN_POSTED_MS

NULL: Final = msgspec.Raw(b"null")  # an absent field that may be any JSON


class Frame(msgspec.Struct, gc=False, omit_defaults=True):
    """A wire frame: a function by its definition. Positions are 1-based; a native frame has only a name."""

    name: str
    resourceId: int | None = None
    line: int | None = None
    column: int | None = None


class Stack(msgspec.Struct, gc=False, omit_defaults=True):
    """A node of the prefix tree; `parentId` is the caller's stack and smaller than the node's own index."""

    frameId: int
    parentId: int | None = None


class Sample(msgspec.Struct, gc=False, omit_defaults=True):
    """One observation: ms since the time origin, and a stack or none. Times may repeat, step back and be negative."""

    timestamp: float
    stackId: int | None = None
    marker: str | None = None


class Trace(msgspec.Struct, gc=False):
    """What `profiler.stop()` returned, verbatim."""

    resources: list[str]
    frames: list[Frame]
    stacks: list[Stack]
    samples: list[Sample]


class Device(msgspec.Struct, gc=False, omit_defaults=True):
    """The client's facts about its device: GiB, logical cores, mobile or not."""

    memory: float | None = None
    cores: float | None = None
    mobile: bool | None = None


class Mark(msgspec.Struct, gc=False, omit_defaults=True):
    """A timed fact of the page, in ms since the time origin. The type `longtask` means a busy main thread.

    `scripts` and `renderStart` are JSON of any kind; profcore/trace/mark_types.py reads those of long animation frames.
    """

    type: str
    start: float
    duration: float = 0.0
    scripts: msgspec.Raw = msgspec.Raw(b"")
    renderStart: msgspec.Raw = msgspec.Raw(b"")


class Cost(msgspec.Struct, gc=False, omit_defaults=True):
    """What the sender itself took of the main thread for its view since its last envelope, ms.

    `ms` is by its clock, around its synchronous calls; `sampled` by the trace's samples in its own code.
    """

    ms: float
    sampled: float | None = None


class Snippet(msgspec.Struct, gc=False, omit_defaults=True):
    """The sender itself: its version, and the address of its script if that is a file of its own."""

    version: str
    url: str | None = None


class Envelope(msgspec.Struct, gc=False, kw_only=True):
    """A trace with the facts of its view. Names are those of the wire (docs/ingest.md).

    `debugIds` is JSON of any kind, of which profcore/symbolicate/debug_ids.py reads what it can.
    """

    viewId: UUID
    seq: int
    release: str
    timeOrigin: float
    sampleInterval: float
    trace: Trace
    page: str | None = None
    url: str | None = None
    traceId: UUID | None = None
    viewStart: float | None = None
    requestedInterval: float | None = None
    sampleRate: float = 1.0
    slowRate: float | None = None
    onlySlow: bool | None = None
    reason: str | None = None
    navigation: str | None = None
    cache: str | None = None
    session: str | None = None
    environment: str | None = None
    requestTrace: str | None = None
    cost: Cost | None = None
    snippet: Snippet | None = None
    userAgent: str | None = None
    isolated: bool | None = None
    device: Device | None = None
    marks: list[Mark] = []
    tags: dict[str, str] | list[str] | None = None
    debugIds: msgspec.Raw = NULL


class TraceIdOnly(msgspec.Struct, gc=False):
    """The field of a refused envelope that identifies it to its sender."""

    traceId: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one envelope; the settings named `INGEST_MAX_…` hold their numbers and reasons."""

    samples: int = 200_000
    stacks: int = 200_000
    frames: int = 50_000
    resources: int = 10_000
    depth: int = 10_000
    name_chars: int = 4_096
    uri_chars: int = 65_536
    text_chars: int = 200
    page_chars: int = 400
    marks: int = 10_000
    tags: int = 20
    timestamp_ms: float = 30 * 86_400_000.0
    values: int = 2_000_000


MAX_POSITION: Final = 2**31 - 1  # V8 keeps lines and columns in 32-bit integers
MAX_SEQ: Final = 2**31 - 1
# The largest value that the constructor accepts. Stored and imported envelopes may have it; posted ones may not.
MAX_INTERVAL_MS: Final = 2_147_483.0
# 2000-01-01 … 2100-01-01; a clock outside this range is useless.
MIN_EPOCH_MS: Final = 946_684_800_000.0
MAX_EPOCH_MS: Final = 4_102_444_800_000.0
MAX_USER_AGENT_CHARS: Final = 2_000
MAX_COST_MS: Final = 60_000.0  # a minute of its own work between two envelopes: the sender is broken
MAX_SHORT_CHARS: Final = 100  # reasons, mark types, markers: words of a closed or small set
# A random id has 22 to 36 characters.
SESSION: Final = re.compile("[A-Za-z0-9_-]{1,64}")
SURROGATES: Final = re.compile("[\ud800-\udfff]")

envelope_decoder = msgspec.json.Decoder(Envelope)
_trace_id_decoder = msgspec.json.Decoder(TraceIdOnly)
_MISSING: Final = msgspec.Raw(b"")
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_PATH = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?(?P<path>\$.*)`)?$", re.DOTALL)
_REASON_BY_START: Final = (
    ("Object missing required field", Reason.MISSING_FIELD),
    ("Expected", Reason.WRONG_TYPE),
    ("Invalid UUID", Reason.INVALID_VALUE),
    ("Integer value out of range", Reason.OUT_OF_RANGE),
    ("Number out of range", Reason.OUT_OF_RANGE),
)


def decode_envelope(body: bytes | msgspec.Raw, limits: Limits) -> Envelope:
    """Decodes and checks one envelope. Raises `TraceError` with a reason and a path, and nothing else.

    Half surrogate pairs become U+FFFD (`replace_halves`).
    """
    if len(body := bytes(body)) > limits.values:
        # Table sizes are known only after decoding, and 13 million times `"a",` decode to 850 MB of strings.
        _check_count(body.count(b","), limits.values, "$")
    try:
        envelope = envelope_decoder.decode(replace_halves(body))
    except UNREADABLE as error:
        raise explain(error) from None
    check_envelope(envelope, limits)
    check_trace(envelope.trace, limits)
    return envelope


@lru_cache(maxsize=4)
def _batch_decoder(most: int) -> msgspec.json.Decoder[msgspec.Struct]:
    """Returns a decoder of arrays with at most `most` values. It stops at the first value too many.

    A plain list is built completely before its length is known: 25 million zeros are 50 MB of JSON and 2 GB of objects.
    """
    fields = [(f"e{index}", msgspec.Raw, _MISSING) for index in range(most)]
    batch = msgspec.defstruct("Batch", fields, array_like=True, forbid_unknown_fields=True)
    return msgspec.json.Decoder(batch)


def split_array(body: bytes, most: int) -> list[msgspec.Raw]:
    """Splits a JSON array into the bytes of its elements, without decoding them.

    Raises `TraceError` if it is not an array of JSON values, or has more than `most` of them.
    """
    try:
        elements = msgspec.structs.astuple(_batch_decoder(most).decode(body))
        return [element for element in elements if element is not _MISSING]
    except UNREADABLE as error:
        if isinstance(error, msgspec.ValidationError) and "of at most length" in str(error):
            detail = f"The body has more than {most} envelopes."
            raise TraceError(Reason.TOO_MANY_ENVELOPES, "$", detail) from None
        raise explain(error) from None


def read_trace_id(body: bytes | msgspec.Raw) -> str | None:
    """Returns the `traceId` text of a refused envelope; None if it cannot be read."""
    try:
        trace_id = _trace_id_decoder.decode(body).traceId
    except UNREADABLE:
        return None
    return trace_id[:MAX_SHORT_CHARS] if trace_id else None


def explain(error: Exception) -> TraceError:
    """Returns the error of a JSON body as a `TraceError` of the contract."""
    if isinstance(error, msgspec.ValidationError):
        return _explain_validation(str(error))
    if isinstance(error, msgspec.DecodeError):
        return _explain_decode(str(error))
    if isinstance(error, UnicodeDecodeError):
        return TraceError(Reason.INVALID_UTF8, "$", "The body is not valid UTF-8.")
    return TraceError(Reason.TOO_NESTED, "$", "The JSON is nested too deeply.")


def _explain_validation(message: str) -> TraceError:
    match = _PATH.match(message)
    what, path = (match["what"], match["path"] or "$") if match else (message, "$")
    for start, reason in _REASON_BY_START:
        if what.startswith(start):
            return TraceError(reason, path, f"{what}.")
    return TraceError(Reason.INVALID_VALUE, path, f"{what}.")


def _explain_decode(message: str) -> TraceError:
    if "out of range" in message:
        return TraceError(Reason.OUT_OF_RANGE, "$", f"{message}.")
    if "utf-8" in message.lower():
        return TraceError(Reason.INVALID_UTF8, "$", f"{message}.")
    return TraceError(Reason.INVALID_JSON, "$", f"{message}.")


def _check_range(value: float, low: float, high: float, path: str) -> None:
    if not low <= value <= high:
        detail = f"{_describe_number(value)} is not between {low!r} and {high!r}."
        raise TraceError(Reason.OUT_OF_RANGE, path, detail)


def _describe_number(value: float) -> str:
    """Returns a number as a short text: JSON integers may have thousands of digits."""
    return repr(value) if abs(value) < 2**64 or isinstance(value, float) else "The number"


def _check_text(text: str | None, limit: int, path: str) -> None:
    if text is None:
        return
    if len(text) > limit:
        raise TraceError(Reason.TOO_LONG, path, f"The text has {len(text)} characters; at most {limit} are accepted.")
    if not text.isascii() and SURROGATES.search(text):
        raise TraceError(Reason.INVALID_UTF8, path, "The text contains a lone surrogate.")
    if "\0" in text:
        raise TraceError(Reason.INVALID_VALUE, path, "The text contains a NUL character.")


def _check_count(count: int, limit: int, path: str) -> None:
    if count > limit:
        raise TraceError(Reason.TOO_MANY, path, f"There are {count}; at most {limit} are accepted.")


def check_envelope(envelope: Envelope, limits: Limits) -> None:
    """Checks everything except the trace. Raises `TraceError`."""
    _check_range(envelope.seq, 0, MAX_SEQ, "$.seq")
    if not envelope.release:
        raise TraceError(Reason.INVALID_VALUE, "$.release", "The release is empty.")
    _check_text(envelope.release, limits.text_chars, "$.release")
    _check_range(envelope.timeOrigin, MIN_EPOCH_MS, MAX_EPOCH_MS, "$.timeOrigin")
    if envelope.viewStart is not None:
        _check_range(envelope.viewStart, MIN_EPOCH_MS, MAX_EPOCH_MS, "$.viewStart")
    _check_range(envelope.sampleInterval, 0.001, MAX_INTERVAL_MS, "$.sampleInterval")
    if envelope.requestedInterval is not None:
        _check_range(envelope.requestedInterval, 0, MAX_INTERVAL_MS, "$.requestedInterval")
    for rate, path in ((envelope.sampleRate, "$.sampleRate"), (envelope.slowRate, "$.slowRate")):
        if rate is not None and not 0 < rate <= 1:
            raise TraceError(Reason.OUT_OF_RANGE, path, "The sampling rate must be above 0 and at most 1.")
    if not envelope.page and not envelope.url:
        raise TraceError(Reason.MISSING_PAGE, "$.page", "The envelope needs `page` or `url`.")
    _check_text(envelope.page, limits.page_chars, "$.page")
    _check_text(envelope.url, limits.uri_chars, "$.url")
    _check_text(envelope.reason, MAX_SHORT_CHARS, "$.reason")
    if envelope.navigation is not None and envelope.navigation not in NAVIGATIONS[1:]:
        detail = f"The navigation is none of {', '.join(NAVIGATIONS[1:])}."
        raise TraceError(Reason.INVALID_VALUE, "$.navigation", detail)
    if envelope.cache is not None and envelope.cache not in CACHES[1:]:
        raise TraceError(Reason.INVALID_VALUE, "$.cache", f"The cache is none of {', '.join(CACHES[1:])}.")
    if envelope.session is not None and not SESSION.fullmatch(envelope.session):
        detail = "The session is not 1 to 64 letters, digits, hyphens and underscores of ASCII."
        raise TraceError(Reason.INVALID_VALUE, "$.session", detail)
    _check_text(envelope.environment, MAX_SHORT_CHARS, "$.environment")
    _check_text(envelope.requestTrace, limits.text_chars, "$.requestTrace")
    if envelope.cost is not None:
        _check_range(envelope.cost.ms, 0, MAX_COST_MS, "$.cost.ms")
        if envelope.cost.sampled is not None:
            _check_range(envelope.cost.sampled, 0, MAX_COST_MS, "$.cost.sampled")
    if envelope.snippet is not None:
        _check_text(envelope.snippet.version, MAX_SHORT_CHARS, "$.snippet.version")
        _check_text(envelope.snippet.url, limits.uri_chars, "$.snippet.url")
    _check_text(envelope.userAgent, MAX_USER_AGENT_CHARS, "$.userAgent")
    _check_marks(envelope.marks, limits)
    _check_tags(envelope.tags, limits)


def check_posted(envelope: Envelope) -> None:
    """Checks what only posts are held to: anybody with a public key can send them. Raises `TraceError`.

    Envelopes that were stored before, or come from a file, keep their intervals; `settle_interval` bounds these.
    """
    _check_range(envelope.sampleInterval, MIN_POSTED_MS, MAX_POSTED_MS, "$.sampleInterval")
    if envelope.requestedInterval is not None:
        _check_range(envelope.requestedInterval, 0, MAX_POSTED_MS, "$.requestedInterval")


def _check_marks(marks: list[Mark], limits: Limits) -> None:
    _check_count(len(marks), limits.marks, "$.marks")
    bound = limits.timestamp_ms
    for index, mark in enumerate(marks):
        _check_text(mark.type, MAX_SHORT_CHARS, f"$.marks[{index}].type")
        if not -bound <= mark.start <= bound:
            _check_range(mark.start, -bound, bound, f"$.marks[{index}].start")
        if not 0 <= mark.duration <= bound:
            _check_range(mark.duration, 0, bound, f"$.marks[{index}].duration")


def _check_tags(tags: dict[str, str] | list[str] | None, limits: Limits) -> None:
    if tags is None:
        return
    _check_count(len(tags), limits.tags, "$.tags")
    texts = [*tags, *tags.values()] if isinstance(tags, dict) else tags
    for text in texts:
        _check_text(text, limits.text_chars, "$.tags")


def check_trace(trace: Trace, limits: Limits) -> None:
    """Checks counts, texts, ids, order and numbers of a trace. Raises `TraceError` at the first fault."""
    _check_count(len(trace.resources), limits.resources, "$.trace.resources")
    _check_count(len(trace.frames), limits.frames, "$.trace.frames")
    _check_count(len(trace.stacks), limits.stacks, "$.trace.stacks")
    _check_count(len(trace.samples), limits.samples, "$.trace.samples")
    for index, uri in enumerate(trace.resources):
        if len(uri) > limits.uri_chars:
            _check_text(uri, limits.uri_chars, f"$.trace.resources[{index}]")
    _check_frames(trace.frames, len(trace.resources), limits)
    _check_stacks(trace.stacks, len(trace.frames), limits)
    _check_samples(trace.samples, len(trace.stacks), limits)


def _check_frames(frames: list[Frame], resource_count: int, limits: Limits) -> None:
    name_chars = limits.name_chars
    for index, frame in enumerate(frames):
        if len(frame.name) > name_chars:
            _check_text(frame.name, name_chars, f"$.trace.frames[{index}].name")
        resource = frame.resourceId
        if resource is not None and not 0 <= resource < resource_count:
            raise _dangling(f"$.trace.frames[{index}].resourceId", resource, "resources", resource_count)
        if frame.line is not None and not 0 <= frame.line <= MAX_POSITION:
            _check_range(frame.line, 0, MAX_POSITION, f"$.trace.frames[{index}].line")
        if frame.column is not None and not 0 <= frame.column <= MAX_POSITION:
            _check_range(frame.column, 0, MAX_POSITION, f"$.trace.frames[{index}].column")


def _check_stacks(stacks: list[Stack], frame_count: int, limits: Limits) -> None:
    for index, stack in enumerate(stacks):
        if not 0 <= stack.frameId < frame_count:
            raise _dangling(f"$.trace.stacks[{index}].frameId", stack.frameId, "frames", frame_count)
        parent = stack.parentId
        if parent is not None and not 0 <= parent < index:
            path = f"$.trace.stacks[{index}].parentId"
            if 0 <= parent < len(stacks):
                raise TraceError(Reason.PARENT_ORDER, path, f"Parent {parent} does not come before its child {index}.")
            raise _dangling(path, parent, "stacks", len(stacks))
    if len(stacks) > limits.depth:  # fewer stacks cannot be deeper
        _check_depths(stacks, limits.depth)


def _check_depths(stacks: list[Stack], max_depth: int) -> None:
    depths: list[int] = []
    for index, stack in enumerate(stacks):
        depth = 1 if stack.parentId is None else depths[stack.parentId] + 1
        if depth > max_depth:
            path = f"$.trace.stacks[{index}]"
            raise TraceError(Reason.TOO_DEEP, path, f"The stack is deeper than {max_depth} frames.")
        depths.append(depth)


def _check_samples(samples: list[Sample], stack_count: int, limits: Limits) -> None:
    bound = limits.timestamp_ms
    for index, sample in enumerate(samples):
        if not -bound <= sample.timestamp <= bound:
            _check_range(sample.timestamp, -bound, bound, f"$.trace.samples[{index}].timestamp")
        stack = sample.stackId
        if stack is not None and not 0 <= stack < stack_count:
            raise _dangling(f"$.trace.samples[{index}].stackId", stack, "stacks", stack_count)
        if sample.marker is not None and len(sample.marker) > MAX_SHORT_CHARS:
            _check_text(sample.marker, MAX_SHORT_CHARS, f"$.trace.samples[{index}].marker")


def _dangling(path: str, value: int, table: str, count: int) -> TraceError:
    return TraceError(
        Reason.DANGLING_ID, path, f"{_describe_number(value)} is not an index into {table}, which has {count} entries."
    )
