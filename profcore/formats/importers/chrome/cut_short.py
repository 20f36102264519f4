"""Trace events that end too early: the array needs no closing bracket, and a process that crashed writes none.

Only brackets are looked at, so the time is linear in the bytes. Only the result takes memory.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from profcore.errors import Reason, TraceError
from profcore.formats.importers.shapes import Source

EVENT_SIGN: Final = b'"ph"'
EVENTS_SIGN: Final = b'"traceEvents"'
SIGN_WITHIN: Final = 4_096  # bytes: the first event of an array
# The next bracket outside texts. Possessive: nothing is tried again, whatever the bytes.
BRACKET: Final = re.compile(rb'[^"\[\]{}]*+(?:"(?:[^"\\]++|\\.)*+"[^"\[\]{}]*+)*+([\[\]{}])', re.DOTALL)
EVENTS_BEFORE: Final = re.compile(rb'"traceEvents"[ \t\r\n]*:[ \t\r\n]*\Z')
BEFORE_BYTES: Final = 256  # in which the name before the array is looked for
OPENING: Final = frozenset(b"[{")
NOTHING_LOST: Final = b", \t\r\n"
NOTE_CUT: Final = "The file ends within an event or a field; what is behind the last whole one was left out."


class Closed(NamedTuple):
    """Trace events with their closing brackets, and what to say about it."""

    source: Source
    notes: tuple[str, ...]


def close_events(source: Source) -> Closed | None:
    """Returns trace events that end too early with the brackets they lack, without an event or field that was cut.

    None for anything else. Raises `TraceError` if there are too many brackets to look at.
    """
    body = source.body
    is_array = source.start == b"["
    if not (EVENT_SIGN in body[:SIGN_WITHIN] if is_array else source.start == b"{" and EVENTS_SIGN in body):
        return None
    if body.count(b"{") + body.count(b"[") > source.limits.values:
        raise TraceError(Reason.TOO_MANY, "$", f"The JSON has more than {source.limits.values} objects and arrays.")
    found = _find_end(body, is_array=is_array)
    if found is None:
        return None
    end, closing = found
    lost = body[end : end + SIGN_WITHIN].strip(NOTHING_LOST)
    return Closed(Source(source.place, body[:end] + closing, source.limits), (NOTE_CUT,) if lost else ())


def _find_end(body: bytes, *, is_array: bool) -> tuple[int, bytes] | None:
    """Returns where the last whole event or field of the file ends, and what must follow; None if nothing is missing.

    Also None if the array of events has not begun.
    """
    events_depth = 1 if is_array else 2
    depth = 0
    is_in_events, has_events = False, False
    found: tuple[int, bytes] | None = None
    for at in _iter_brackets(body):
        if body[at - 1] in OPENING:
            depth += 1
            if depth == events_depth and not has_events:
                is_in_events = has_events = is_array or _is_events(body, at - 1)
                if has_events:
                    found = (at, b"]" if is_array else b"]}")
            continue
        depth -= 1
        if depth <= 0:
            return None  # it is whole, or no JSON
        if is_in_events and depth == events_depth:
            found = (at, b"]" if is_array else b"]}")
        elif depth == events_depth - 1 and has_events:
            is_in_events, found = False, (at, b"}")
    return found


def _iter_brackets(body: bytes) -> Iterator[int]:
    """Yields the places behind the brackets. A text that is cut short ends them: to search on would be quadratic."""
    at = 0
    while (match := BRACKET.match(body, at)) is not None:
        at = match.end()
        yield at


def _is_events(body: bytes, at: int) -> bool:
    """Returns whether the bracket at a place opens the array of events."""
    return body[at] == ord("[") and EVENTS_BEFORE.search(body[max(0, at - BEFORE_BYTES) : at]) is not None
