"""Sentry's browser profiles: chunks (sample format 2), transaction profiles (format 1), and envelopes around them.

Stacks are lists of frames, leaf first. A profiler's session (`profiler_id`) is taken for a page view: it lasts at most
as long as the document. The browser SDK sends the API's positions, which tell where functions are defined. Profiles
of other platforms are not of pages and are refused.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import TraceBuilder, dangling, invalid, storable_text
from profcore.formats.importers.completing import is_known_time
from profcore.formats.importers.ours import read_time
from profcore.formats.importers.sentry.items import iter_items
from profcore.formats.importers.shapes import Draft, Importer, ImportLimits, InputTrace, Source, decode, read_fields
from profcore.symbolicate.debug_ids import write_debug_ids
from profcore.trace.dimensions import read_request_trace
from profcore.trace.wire import Trace

PROFILE_FIELDS: Final = frozenset({"profile", "platform", "version"})
PROFILE_ITEMS: Final = frozenset({"profile", "profile_chunk"})
LINE: Final = re.compile(rb"[^\n]+")
# The first SDK whose chunks have a stack of their own for samples without one. Older ones give them the first stack.
# In what the browser returns that is the root of one frame; of 75,753 recorded samples none was on it.
FIRST_RIGHT_SDK: Final = (11, 10)
IDLE_STACK: Final = 0
CHUNK_VERSION: Final = "2"
REQUESTED_MS: Final = 10.0  # the interval that the SDK asks the browser for; nothing of what it sends says so
BUFFER_SAMPLES: Final = 3_000  # of the SDK's profiler: a chunk that has them ended there, and not with its minute
MAX_CALLS: Final = 800_000  # of all stacks, which are written in full: Chromium cuts each of the 3,000 at 255 calls
NOTE_IDLE: Final = (
    "SDKs before 11.10.0 put idle time on a chunk's first stack (stack_id 0): its {count} samples were read as idle."
)
SDK_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})\.")


class Frame(msgspec.Struct, gc=False):
    """A frame, with the API's 1-based position of the definition."""

    function: str | None = None
    abs_path: str | None = None
    lineno: int | None = None
    colno: int | None = None


class Sample(msgspec.Struct, gc=False):
    """One observation: epoch seconds in format 2; ns since the start, as text, in format 1."""

    stack_id: int
    thread_id: str | int = "0"
    timestamp: float | None = None
    elapsed_since_start_ns: str | int | None = None


class Tables(msgspec.Struct, gc=False):
    """`profile`: samples, stacks as lists of frames with the leaf first, frames."""

    samples: list[Sample]
    stacks: list[list[int]]
    frames: list[Frame]


class Transaction(msgspec.Struct, gc=False):
    """The transaction for which a profile of format 1 was recorded."""

    name: str | None = None
    id: str | None = None
    trace_id: str | None = None


class Runtime(msgspec.Struct, gc=False):
    """In format 1, `version` is the user agent."""

    version: str | None = None


class ClientSdk(msgspec.Struct, gc=False):
    """The SDK that recorded a chunk."""

    version: str | None = None


class Image(msgspec.Struct, gc=False):
    """A script with a debug id, which the bundler's plugin gave it."""

    code_file: str | None = None
    debug_id: str | None = None


class DebugMeta(msgspec.Struct, gc=False):
    """The scripts of a profile that have debug ids."""

    images: list[Image] = []


class Profile(msgspec.Struct, gc=False, kw_only=True):
    """A chunk or a transaction's profile."""

    profile: Tables
    platform: str
    version: str
    client_sdk: ClientSdk | None = None
    release: str | None = None
    environment: str | None = None
    profiler_id: str | None = None
    chunk_id: str | None = None
    event_id: str | None = None
    timestamp: str | float | None = None
    transactions: list[Transaction] = []
    transaction: Transaction | None = None
    runtime: Runtime | None = None
    debug_meta: DebugMeta | None = None


class ReadProfile(NamedTuple):
    """A profile as a trace, and whether it is a chunk, which does not name its page.

    `own_id` is that of the chunk, or of the transaction for which a profile of format 1 was recorded.
    """

    found: InputTrace
    is_chunk: bool
    own_id: UUID | None


_profile_decoder = msgspec.json.Decoder(Profile)


def _is_profile(source: Source) -> bool:
    fields = source.fields
    if not fields.keys() >= PROFILE_FIELDS:
        return False
    return {"samples", "stacks", "frames"} <= read_fields(fields["profile"]).keys()


def _is_envelope(source: Source) -> bool:
    """Returns whether an input is a Sentry envelope: a line with its header, then one with an item's header."""
    if source.start != b"{":
        return False
    lines = LINE.finditer(source.body)
    header, item = next(lines).group(), next(lines, None)
    if item is None or not read_fields(header).keys() & {"event_id", "sent_at", "dsn", "sdk"}:
        return False
    fields = read_fields(item.group())
    return "type" in fields and "profile" not in fields


def _can_read(source: Source) -> bool:
    return _is_profile(source) or _is_envelope(source)


def _read(source: Source) -> Iterator[InputTrace]:
    if _is_profile(source):
        yield read_profile(source.body, source.limits).found
        return
    count = 0
    for item in iter_items(source.body, source.limits, most=source.limits.members):
        if item.type in PROFILE_ITEMS:
            count += 1
            yield read_profile(item.body, source.limits, item.path).found
    if not count:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", "The Sentry envelope has no profile.")


def read_profile(body: bytes, limits: ImportLimits, path: str = "$") -> ReadProfile:
    """Returns the profile of an item. Raises `TraceError`."""
    profile = decode(body, _profile_decoder, limits, path)
    if profile.platform != "javascript":
        detail = f"Only browser profiles are read (platform javascript), not {storable_text(profile.platform)[:40]!r}."
        raise TraceError(Reason.UNSUPPORTED_MEDIA, f"{path}.platform", detail)
    tables = profile.profile
    is_chunk = profile.version == CHUNK_VERSION
    times = _chunk_times(tables.samples, path) if is_chunk else _transaction_times(tables.samples, path)
    origin = times[0] if is_chunk and times else _start_of(profile)
    elapsed = [time - times[0] for time in times] if is_chunk else times
    idle = IDLE_STACK if is_chunk and _has_idle_in_first_stack(profile) else None
    named = profile.transactions[0] if profile.transactions else profile.transaction
    draft = Draft(
        trace=_build(tables, elapsed, limits, path, idle=idle),
        viewId=read_id(profile.profiler_id if is_chunk else profile.event_id),
        release=profile.release or None,
        timeOrigin=origin if origin is not None and is_known_time(origin) else None,
        requestedInterval=REQUESTED_MS,
        page=(named.name or None) if named is not None and not is_chunk else None,
        reason="samplebufferfull" if is_chunk and len(times) >= BUFFER_SAMPLES else None,
        requestTrace=read_request_trace(named.trace_id) if named is not None and not is_chunk else None,
        userAgent=profile.runtime.version if profile.runtime is not None else None,
        tags={"env": profile.environment} if profile.environment else {},
        debugIds=_read_images(profile.debug_meta),
    )
    count = 0 if idle is None else sum(sample.stack_id == idle for sample in tables.samples)
    found = InputTrace(draft, (NOTE_IDLE.format(count=count),) if count else ())
    return ReadProfile(found, is_chunk, read_id(profile.chunk_id if is_chunk else named.id if named else None))


def _read_images(meta: DebugMeta | None) -> msgspec.Raw:
    images = meta.images if meta else []
    return write_debug_ids((image.code_file, image.debug_id) for image in images)


def _has_idle_in_first_stack(profile: Profile) -> bool:
    """Returns whether samples without a stack are on the first one: in chunks of SDKs before `FIRST_RIGHT_SDK`."""
    stacks = profile.profile.stacks
    said = profile.client_sdk.version if profile.client_sdk else None
    version = SDK_VERSION.match(said or "")
    is_old = version is None or (int(version[1]), int(version[2])) < FIRST_RIGHT_SDK
    return is_old and bool(stacks) and len(stacks[IDLE_STACK]) == 1


def _build(tables: Tables, times: Sequence[float], limits: ImportLimits, path: str, *, idle: int | None) -> Trace:
    if sum(map(len, tables.stacks)) > MAX_CALLS:
        raise TraceError(Reason.TOO_MANY, f"{path}.profile.stacks", f"The stacks have more than {MAX_CALLS} calls.")
    if len(tables.samples) > limits.envelope.samples:
        detail = f"There are more than {limits.envelope.samples} samples."
        raise TraceError(Reason.TOO_MANY, f"{path}.profile.samples", detail)
    builder = TraceBuilder(limits, storable_text)
    frames = [builder.frame(frame.function or "", frame.abs_path, frame.lineno, frame.colno) for frame in tables.frames]
    stacks: list[int | None] = []
    for index, stack in enumerate(tables.stacks):
        if any(not 0 <= frame < len(frames) for frame in stack):
            raise dangling(f"{path}.profile.stacks[{index}]", "frames")
        stacks.append(builder.path(frames[frame] for frame in reversed(stack)))
    for index, (sample, time) in enumerate(zip(tables.samples, times, strict=True)):
        if not 0 <= sample.stack_id < len(stacks):
            raise dangling(f"{path}.profile.samples[{index}].stack_id", "stacks")
        builder.sample(time, None if sample.stack_id == idle else stacks[sample.stack_id])
    return builder.build()


def _chunk_times(samples: Sequence[Sample], path: str) -> list[float]:
    """Returns the samples' times, epoch ms."""
    times = []
    for index, sample in enumerate(samples):
        if sample.timestamp is None:
            raise TraceError(
                Reason.MISSING_FIELD, f"{path}.profile.samples[{index}].timestamp", "A sample has no time."
            )
        times.append(sample.timestamp * 1000)
    return times


def _transaction_times(samples: Sequence[Sample], path: str) -> list[float]:
    """Returns the samples' times, ms since the profile's start."""
    times = []
    for index, sample in enumerate(samples):
        elapsed = sample.elapsed_since_start_ns
        if elapsed is None or (isinstance(elapsed, str) and not re.fullmatch(r"-?[0-9]{1,18}", elapsed)):
            raise invalid(f"{path}.profile.samples[{index}].elapsed_since_start_ns", "The time is not a number of ns.")
        if not -(10**18) < int(elapsed) < 10**18:
            raise TraceError(Reason.OUT_OF_RANGE, f"{path}.profile.samples[{index}]", "The time is out of range.")
        times.append(int(elapsed) / 1e6)
    return times


def _start_of(profile: Profile) -> float | None:
    if isinstance(profile.timestamp, float):
        return profile.timestamp * 1000
    return read_time(profile.timestamp)


def read_id(text: str | None) -> UUID | None:
    """Returns one of Sentry's ids, 32 hexadecimal digits; None for any other text."""
    return UUID(text) if text is not None and re.fullmatch("[0-9a-fA-F]{32}", text) else None


SENTRY: Final = Importer(name="sentry", title="Sentry's profile chunks", can_read=_can_read, read=_read)
