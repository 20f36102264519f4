"""Expanding compressed bytes within bounds: what zlib would do, but for the bombs."""

import zlib
from typing import Final

CHUNK_BYTES: Final = 64 * 1024  # fed at once: what zlib leaves of it is copied for every member


class InflateError(ValueError):
    """The bytes are no whole stream, or more members than are taken."""


class CutShort(InflateError):
    """They end within a member."""


class Damaged(InflateError):
    """They are no such stream; the text is zlib's own."""


class TooManyMembers(InflateError):
    """They go on after as many members as are taken."""


class TooLong(InflateError):
    """Expanded, they are more than may be."""


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
