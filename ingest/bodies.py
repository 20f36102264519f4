"""Reading a request's body within bounds: sent bytes and expanded bytes are both counted while streaming."""

import zlib
from typing import Final, Protocol

from profcore.errors import Reason, TraceError

CHUNK_BYTES: Final = 256 * 1024
GZIP_MAGIC: Final = b"\x1f\x8b"
GZIP_WINDOW: Final = 31  # zlib's code for "a gzip member"


class Readable(Protocol):
    """A stream of bytes, such as an HttpRequest."""

    def read(self, size: int, /) -> bytes: ...


class BodyTooLarge(TraceError):
    """The body passes a bound; answered 413."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(Reason.TOO_LARGE, "$", f"The {what} body is larger than {limit} bytes.")


def read_bounded(stream: Readable, *, declared: int | None, max_bytes: int) -> bytes:
    """Reads the whole body as sent. Raises `BodyTooLarge` as soon as it is known to pass `max_bytes`."""
    if declared is not None and declared > max_bytes:
        raise BodyTooLarge("sent", max_bytes)
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(CHUNK_BYTES):
        size += len(chunk)
        if size > max_bytes:
            raise BodyTooLarge("sent", max_bytes)
        chunks.append(chunk)
    return b"".join(chunks)


def is_gzip(body: bytes) -> bool:
    """Tells by the magic bytes whether a body is gzip."""
    return body[:2] == GZIP_MAGIC


def expand(body: bytes, *, max_bytes: int) -> bytes:
    """Expands a gzip body of one or more members. Raises `BodyTooLarge`, or `TraceError` where it is damaged."""
    parts: list[bytes] = []
    size = 0
    while body:
        inflater = zlib.decompressobj(GZIP_WINDOW)
        try:
            part = inflater.decompress(body, max_bytes - size + 1)
        except zlib.error as error:
            raise TraceError(Reason.INVALID_GZIP, "$", f"The gzip body is damaged: {error}.") from None
        size += len(part)
        if size > max_bytes:
            raise BodyTooLarge("expanded", max_bytes)
        if not inflater.eof:
            raise TraceError(Reason.INVALID_GZIP, "$", "The gzip body ends too early.")
        parts.append(part)
        body = inflater.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)
