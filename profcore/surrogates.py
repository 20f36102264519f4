"""Half surrogate pairs in JSON: `"\\ud83d"`, which is what a text holds that was cut inside an emoji.

JavaScript's texts may hold them, and `JSON.stringify` writes them as escapes. No Unicode text can. One such escape
would make a whole body unreadable, so they become U+FFFD first, as wherever else such a text becomes bytes.
"""

import re
from typing import Final

_HEX: Final = rb"[0-9a-fA-F]{2}"
_ANY: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_FIRST: Final = re.compile(rb"\\u[dD][89abAB]%b" % _HEX)
# Both halves begin alike, so that the search for that beginning is fast.
_HALF: Final = re.compile(
    rb"\\u[dD](?:[89abAB]%b(?!\\u[dD][c-fC-F]%b)|(?<!\\u[dD][89abAB]%b\\u[dD])[c-fC-F]%b)" % (_HEX, _HEX, _HEX, _HEX)
)
_REPLACEMENT: Final = rb"\\ufffd"  # a template of `re`: as long as what it replaces
_BACKSLASH: Final = b"\\\\"  # as JSON writes one
_ESCAPE_BYTES: Final = len(rb"\ud83d")
MAX_HALVES: Final = 100_000  # of a body: no page has more, and replacing them takes time and memory
PIECE_BYTES: Final = 2**20  # repaired at once: other threads wait for 0.06 s; for 50 MiB at once, 1.6 s
_STAND_IN: Final = b"\0\0"  # in no JSON


def replace_halves(body: bytes, most: int = MAX_HALVES) -> bytes:
    """Returns JSON whose escaped half surrogate pairs are U+FFFD. The same object if it has none, or is no JSON.

    Nothing else changes, and the length does not. All steps are linear. A body with more than `most` stays as it is,
    and no decoder takes it.
    """
    if b"\0" in body:
        return body
    repaired, count, start = [], 0, 0
    while start < len(body) and count <= most:
        piece = body[start : start + PIECE_BYTES]
        is_last = start + PIECE_BYTES >= len(body)
        if b"\\" in piece and not (is_last and _ANY.search(piece) is None):
            # An escaped backslash may come before a mere `ud83d`. Runs of backslashes pair up from their left end.
            shielded = piece.replace(_BACKSLASH, _STAND_IN)
            shielded = shielded if is_last else shielded[: _find_end(shielded)]
            mended, halves = _HALF.subn(_REPLACEMENT, shielded, most + 1 - count)
            piece, count = mended.replace(_STAND_IN, _BACKSLASH), count + halves
        repaired.append(piece)
        start += len(piece)
    return b"".join(repaired) if 0 < count <= most else body


def _find_end(piece: bytes) -> int:
    """Returns where a piece of JSON can end: before an escape at its very end, and not between the halves of a pair."""
    at = piece.rfind(b"\\", len(piece) - _ESCAPE_BYTES)
    if at < 0:
        return len(piece)
    return at - _ESCAPE_BYTES if _FIRST.match(piece, at - _ESCAPE_BYTES) else at
