"""From a body to envelopes: one, a JSON array, or NDJSON. A bad envelope does not harm its neighbours."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.wire import Envelope, Limits, decode_envelope, read_trace_id, split_array

WHITESPACE: Final = b" \t\r\n"
NDJSON_TYPES: Final = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})


@dataclass(frozen=True, slots=True)
class Refused:
    """One envelope of a body that was refused."""

    index: int
    trace_id: str | None
    error: TraceError


@dataclass(slots=True)
class ParsedBody:
    """A body's envelopes with the bytes of each, and the refused ones. A single envelope raises instead."""

    is_batch: bool
    envelopes: list[tuple[int, bytes | msgspec.Raw, Envelope]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def parse_body(body: bytes, *, content_type: str, limits: Limits, max_envelopes: int) -> ParsedBody:
    """Parses an expanded body.

    Raises `TraceError` for an unreadable body, and for a refused single envelope.
    """
    start = body[:64].lstrip(WHITESPACE)[:1] or body.lstrip(WHITESPACE)[:1]
    if not start:
        raise TraceError(Reason.EMPTY_BODY, "$", "The body is empty.")
    if start == b"[":
        return _parse_batch(split_array(body), limits, max_envelopes)
    if content_type in NDJSON_TYPES:
        return _parse_batch(list(_lines(body)), limits, max_envelopes)
    try:
        return ParsedBody(False, [(0, body, decode_envelope(body, limits))])
    except TraceError as error:
        if error.reason is not Reason.INVALID_JSON or not _has_several_lines(body):
            raise
    return _parse_batch(list(_lines(body)), limits, max_envelopes)


def _lines(body: bytes) -> Iterator[bytes]:
    return (line for line in body.split(b"\n") if line.strip(WHITESPACE))


def _has_several_lines(body: bytes) -> bool:
    """Tells whether a body that is no JSON value may be NDJSON: its first line closes an object and others follow."""
    first, newline, rest = body.strip(WHITESPACE).partition(b"\n")
    return bool(newline) and first.rstrip(WHITESPACE).endswith(b"}") and rest.lstrip(WHITESPACE).startswith(b"{")


def _parse_batch(items: list[bytes] | list[msgspec.Raw], limits: Limits, max_envelopes: int) -> ParsedBody:
    if len(items) > max_envelopes:
        detail = f"The body has {len(items)} envelopes; at most {max_envelopes} are taken."
        raise TraceError(Reason.TOO_MANY_ENVELOPES, "$", detail)
    parsed = ParsedBody(True)
    for index, item in enumerate(items):
        try:
            parsed.envelopes.append((index, item, decode_envelope(item, limits)))
        except TraceError as error:
            parsed.refused.append(Refused(index, read_trace_id(item), error))
    return parsed
