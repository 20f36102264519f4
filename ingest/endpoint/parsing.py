"""From a body to envelopes: one, a JSON array, or NDJSON. A bad envelope does not affect its neighbours."""

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Final

import msgspec
from django.conf import settings

from ingest.endpoint.requests import BodyTooLarge, as_utf8, is_gzip
from ingest.limits import import_limits
from ingest.storage.storing import Arrival
from profcore.errors import Reason, TraceError
from profcore.formats.importers.completing import UNNAMED, Completed, Defaults, complete
from profcore.formats.importers.registry import translate_envelope
from profcore.formats.importers.shapes import InputTrace
from profcore.kernel import find_kernel
from profcore.surrogates import replace_halves
from profcore.trace.posted import NO_TRACE, CompiledCheck
from profcore.trace.wire import Envelope, Limits, check_posted, decode_envelope, read_trace_id, split_array

WHITESPACE: Final = b" \t\r\n"
NDJSON_TYPES: Final = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
LINE: Final = re.compile(rb"[^ \t\r\n][^\n]*")
# Each view of another SDK's profile is written with its part of the tables. Views of one document share little: all
# together are hardly longer than the profile. A stranger's could be a hundred times as long.
MAX_COPIES: Final = 2
CONTEXT_BYTES: Final = 64 * 1024  # what is around the tables of a hundred short views
MAX_BLANK: Final = 64  # white space that is allowed around the first line's end


@dataclass(frozen=True, slots=True)
class Refused:
    """One envelope of a body that was refused."""

    index: int
    trace_id: str | None
    error: TraceError


@dataclass(slots=True)
class ParsedBody:
    """The accepted envelopes of a body, without their traces, and the refused ones.

    A single envelope is kept as it was sent, and others as their own bytes; but traces in another dialect than the
    spec's are translated, and half surrogate pairs replaced. If a single envelope is wrong, an error is raised instead.
    """

    is_batch: bool
    arrivals: list[Arrival] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def parse_compiled(sent: bytes, *, content_type: str, limits: Limits, max_bytes: int) -> ParsedBody | None:
    """Returns the one envelope of a body as it was sent, if the compiled kernel accepts it.

    None means that `parse_body` has to look at the expanded body; and it does if that has more than `max_bytes`.
    """
    check = _find_check(settings.KERNEL, limits, max_bytes)
    if check is None or content_type in NDJSON_TYPES or (checked := check.check(sent)) is None:
        return None
    envelope, expanded_bytes = checked
    arrival = Arrival(index=0, envelope=envelope, body=sent, is_gzip=is_gzip(sent), expanded_bytes=expanded_bytes)
    return ParsedBody(False, [arrival])


@lru_cache(maxsize=4)
def _find_check(choice: str, limits: Limits, max_bytes: int) -> CompiledCheck | None:
    kernel = find_kernel(choice).module
    return CompiledCheck(kernel, limits, max_bytes=max_bytes) if kernel else None


def parse_body(sent: bytes, body: bytes, *, content_type: str, limits: Limits, max_envelopes: int) -> ParsedBody:
    """Returns the envelopes of a body, which is `body` when it is expanded.

    A byte order mark is dropped, UTF-16 becomes UTF-8, and half surrogate pairs become U+FFFD before anything is
    stored, so that whatever reads a stored body can decode it. Raises `TraceError` for an unreadable body, and for a
    single envelope that is refused, and `BodyTooLarge`.
    """
    text = as_utf8(body, max_bytes=settings.INGEST_MAX_EXPANDED_BYTES)
    if text is not body:
        sent = body = text
    start = body[:64].lstrip(WHITESPACE)[:1] or body.lstrip(WHITESPACE)[:1]
    if not start:
        raise TraceError(Reason.EMPTY_BODY, "$", "The body is empty.")
    if start == b"[":
        return _parse_batch(split_array(replace_halves(body), max_envelopes), limits)
    if content_type in NDJSON_TYPES or _has_several_values(body):
        return _parse_batch(_split_lines(body, max_envelopes), limits)
    arrival = _check(0, replace_halves(body), limits)
    if arrival.body is body:
        arrival = replace(arrival, body=sent, is_gzip=is_gzip(sent))
    return ParsedBody(False, [arrival])


def _split_lines(body: bytes, most: int) -> list[bytes]:
    """Returns the lines that are not blank. Raises `TraceError` as soon as there are too many."""
    lines = [replace_halves(match.group()) for match in islice(LINE.finditer(body), most + 1)]
    if len(lines) > most:
        raise TraceError(Reason.TOO_MANY_ENVELOPES, "$", f"The body has more than {most} envelopes.")
    return lines


def _has_several_values(body: bytes) -> bool:
    """Returns whether a body is NDJSON: the first line closes an object and another one opens, as in no JSON value."""
    end = body.find(b"\n", body.find(b"{"))
    if end < 0:
        return False
    before, after = body[max(0, end - MAX_BLANK) : end], body[end : end + MAX_BLANK]
    return before.rstrip(WHITESPACE).endswith(b"}") and after.lstrip(WHITESPACE).startswith(b"{")


def _parse_batch(values: list[bytes] | list[msgspec.Raw], limits: Limits) -> ParsedBody:
    parsed = ParsedBody(True)
    for index, value in enumerate(values):
        try:
            parsed.arrivals.append(_check(index, value, limits))
        except TraceError as error:
            parsed.refused.append(Refused(index, read_trace_id(value), error))
    return parsed


def _check(index: int, value: bytes | msgspec.Raw, limits: Limits) -> Arrival:
    """Returns an envelope, without its trace, after a full check.

    The endpoint does not need the trace: decoded it takes several times its bytes, and a body may have a hundred
    traces.
    """
    value, envelope = _decode(value, limits)
    check_posted(envelope)
    envelope.trace = NO_TRACE
    envelope.marks = []
    body = bytes(value)
    return Arrival(index=index, envelope=envelope, body=body, is_gzip=False, expanded_bytes=len(body))


def make_arrival(index: int, completed: Completed) -> Arrival:
    """Returns a trace of a foreign format packed, and its envelope without the parts for the fold."""
    envelope = completed.envelope
    envelope.trace, envelope.marks = NO_TRACE, []
    packed = gzip.compress(replace_halves(completed.body), compresslevel=1, mtime=0)
    return Arrival(index=index, envelope=envelope, body=packed, is_gzip=True, expanded_bytes=len(completed.body))


def complete_views(found: Iterable[InputTrace], *, digest: bytes, sdk: str, whole_bytes: int) -> ParsedBody:
    """Returns an envelope for each view of another SDK's profile of `whole_bytes`, and why others are refused.

    The same views and digest give the same envelopes, so a resend is known. What `found` itself raises is passed on.
    """
    limits = import_limits()
    defaults = Defaults(UNNAMED, UNNAMED, datetime.now(UTC).timestamp() * 1000)
    parsed = ParsedBody(is_batch=True)
    most = room = MAX_COPIES * whole_bytes + CONTEXT_BYTES
    for index, trace in enumerate(found):
        if room < 0:  # this view and those after it
            parsed.refused.append(Refused(index, None, BodyTooLarge("split", most)))
            break
        try:
            completed = complete(trace, digest=digest, index=index, tags={"sdk": sdk}, defaults=defaults, limits=limits)
            room -= len(completed.body)
            check_posted(completed.envelope)
            parsed.arrivals.append(make_arrival(index, completed))
        except TraceError as error:
            parsed.refused.append(Refused(index, None, error))
    return parsed


def _decode(value: bytes | msgspec.Raw, limits: Limits) -> tuple[bytes | msgspec.Raw, Envelope]:
    """Returns an envelope with its bytes, translated if its trace is in another dialect. Raises `TraceError`."""
    try:
        return value, decode_envelope(value, limits)
    except TraceError as error:
        # Other dialects are tried only for traces that would be refused, so that the others pay nothing for it.
        translated = translate_envelope(bytes(value), limits) if error.path.startswith("$.trace") else None
        if translated is None:
            raise
    return translated, decode_envelope(translated, limits)
