"""Texts in other encodings of Unicode, known by their byte order mark, as UTF-8 without one.

RFC 8259 (8.1) lets readers ignore the mark in front of JSON. PowerShell and some editors write one, also UTF-16.
"""

import codecs
from typing import Final

# UTF-32 before UTF-16, whose mark it begins with. No JSON begins with the NUL that would follow that of UTF-16.
ENCODINGS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
PIECE_BYTES: Final = 2**20  # decoded at once: a whole text would take several times its bytes


class TextTooLong(ValueError):
    """As UTF-8, the text has more bytes than it may."""


def to_utf8(body: bytes, max_bytes: int) -> bytes:
    """Returns a text as UTF-8 without a byte order mark: `body` itself if it has none.

    Lone surrogates and bytes that are no character become U+FFFD. Raises `TextTooLong`.
    """
    if body.startswith(codecs.BOM_UTF8):
        return body[len(codecs.BOM_UTF8) :]
    for mark, name in ENCODINGS:
        if body.startswith(mark):
            return _convert(memoryview(body)[len(mark) :], name, max_bytes)
    return body


def _convert(body: memoryview, encoding: str, max_bytes: int) -> bytes:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    converted = bytearray()
    for start in range(0, max(len(body), 1), PIECE_BYTES):
        piece = bytes(body[start : start + PIECE_BYTES])
        converted += decoder.decode(piece, start + PIECE_BYTES >= len(body)).encode()
        if len(converted) > max_bytes:
            raise TextTooLong
    return bytes(converted)
