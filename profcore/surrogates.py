"""Half surrogate pairs in JSON: `"\\ud83d"`, which is what a text holds that was cut inside an emoji.

JavaScript's texts may hold them, and `JSON.stringify` writes them as escapes. No Unicode text can. One such escape
would make a whole body unreadable, so they become U+FFFD first, as wherever else such a text becomes bytes.
"""

import re
from typing import Final

_HEX: Final = rb"[0-9a-fA-F]{2}"
_ANY: Final = re.compile(rb"\\u[dD][89a-fA-F]")
# Both halves begin alike, so that the search for that beginning is fast.
_HALF: Final = re.compile(
    rb"\\u[dD](?:[89abAB]%b(?!\\u[dD][c-fC-F]%b)|(?<!\\u[dD][89abAB]%b\\u[dD])[c-fC-F]%b)" % (_HEX, _HEX, _HEX, _HEX)
)
_REPLACEMENT: Final = rb"\\ufffd"  # a template of `re`: as long as what it replaces
_BACKSLASH: Final = b"\\\\"  # as JSON writes one
MAX_HALVES: Final = 100_000  # of a body; 50 MiB of nothing else would keep all threads of a process waiting for 2 s
_STAND_IN: Final = b"\0\0"  # in no JSON


def replace_halves(body: bytes, most: int = MAX_HALVES) -> bytes:
    """Returns JSON whose escaped half surrogate pairs are U+FFFD. The same object if it has none, or is no JSON.

    Nothing else changes, and the length does not. All steps are linear. A body with more than `most` stays as it is,
    and no decoder takes it.
    """
    if b"\\u" not in body or _ANY.search(body) is None or b"\0" in body:
        return body
    # An escaped backslash may come before a mere `ud83d`. Runs of backslashes pair up from their left end.
    shielded = body.replace(_BACKSLASH, _STAND_IN)
    repaired, count = _HALF.subn(_REPLACEMENT, shielded, most + 1)
    return repaired.replace(_STAND_IN, _BACKSLASH) if 0 < count <= most else body
