"""Expands compressed bytes within bounds, so that a small body cannot become a huge one."""

import zlib
from typing import Final

CHUNK_BYTES: Final = 64 * 1024  # bytes fed at once: zlib copies the rest of them for every member


class InflateError(ValueError):
    """The bytes are not one complete stream within the bounds."""


class CutShort(InflateError):
    """The bytes end in the middle of a member."""


class Damaged(InflateError):
    """The bytes are not such a stream; the text is zlib's own."""


class TooManyMembers(InflateError):
    """There are more members than allowed."""


class TooLong(InflateError):
    """The expanded bytes exceed the limit."""


def inflate(body: bytes, *, window: int, max_bytes: int, max_members: int) -> bytes:
    """Expands one or more members that follow each other; `window` is zlib's `wbits`. Raises `InflateError`.

    It stops as soon as it passes `max_bytes`.
    """
    view = memoryview(body)
    parts: list[bytes] = []
    size = offset = 0
    for _ in range(max_members):
        inflater = zlib.decompressobj(window)
        while not inflater.eof:
            chunk = view[offset : offset + CHUNK_BYTES]
            if not chunk:
                raise CutShort
            try:
                part = inflater.decompress(chunk, max_bytes - size + 1)
            except zlib.error as error:
                raise Damaged(str(error)) from None
            size += len(part)
            if size > max_bytes:
                raise TooLong
            parts.append(part)
            offset += len(chunk) - len(inflater.unused_data)
        if offset == len(body):
            return parts[0] if len(parts) == 1 else b"".join(parts)
    raise TooManyMembers
