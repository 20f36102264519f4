"""What the endpoint reads of a request, as a value that does not depend on the web server, and its body within bounds.

Sent bytes and expanded bytes are both counted while streaming.
"""

import contextlib
import io
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from ingest.endpoint.slow_bodies import Readable, TimedBody, TooManySlowBodies, slow_error_of
from ingest.storage.view_dimensions import SenderHeaders, read_sender_headers
from profcore.caching import cached
from profcore.errors import Reason, TraceError
from profcore.inflating import CutShort, Damaged, TooLong, TooManyMembers, inflate
from profcore.unicode import TextTooLong, to_utf8

MAX_QUERY_FIELDS: Final = 20
MAX_SENDER_CHARS: Final = 200  # a chain of some proxies
# Nearly all traces are shorter. A sender of more may find its connection closed before it reads why.
SKIPPED_MAX_BYTES: Final = 64 * 1024
CHUNK_BYTES: Final = 256 * 1024
GZIP_MAGIC: Final = b"\x1f\x8b"
GZIP_WINDOW: Final = 31  # zlib's code for "a gzip member"
MAX_MEMBERS: Final = 1_000  # 5 MiB can have a quarter million empty members; writers with blocks of 64 KiB need 800
LARGE_QUEUE: Final = 8  # large bodies that may wait for their turn; each keeps a thread busy

# Expanding and decoding a body of 50 MiB may take a few hundred MB, so a process reads one such body at a time.
_large_turn = threading.Lock()
_large_queue = threading.BoundedSemaphore(LARGE_QUEUE)


class TryLater(TraceError):
    """The body may be valid, but it cannot be accepted now; answered with `Retry-After`."""

    def __init__(self, reason: Reason, path: str, detail: str, *, retry_after_s: int = 60) -> None:
        super().__init__(reason, path, detail)
        self.retry_after_s = retry_after_s


class BodyTooLarge(TraceError):
    """The body exceeds a bound; answered with 413."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(Reason.TOO_LARGE, "$", f"The {what} body is larger than {limit} bytes.")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """What the endpoint reads of a request. `length` is that of the body, None if it is not declared."""

    method: str
    path: str
    query: str
    origin: str | None
    wanted_headers: str  # those that a preflight asks for
    content_type: str
    media_type: str  # the same in small letters, without its parameters
    coding: str
    sentry_auth: str  # a header in which Sentry's SDKs may send their key
    headers: SenderHeaders
    sender: str  # addresses of the network, as proxies and the connection tell them
    length: int | None
    stream: Readable


def read_request(environ: Mapping[str, Any]) -> IngestRequest:  # Any: WSGI's own types
    """Returns a WSGI request as a value. Its body is not read yet."""
    text = environ.get("CONTENT_LENGTH") or ""
    length = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
    # Without a length the body is chunked: then the server marks its end. Any other has no body.
    has_body = bool(length) if text else bool(environ.get("wsgi.input_terminated"))
    return IngestRequest(
        method=environ["REQUEST_METHOD"],
        path=environ["PATH_INFO"],
        query=environ.get("QUERY_STRING", ""),
        origin=environ.get("HTTP_ORIGIN"),
        wanted_headers=environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", ""),
        content_type=(content_type := environ.get("CONTENT_TYPE", "")),
        media_type=content_type.partition(";")[0].strip().lower(),
        coding=environ.get("HTTP_CONTENT_ENCODING", "").strip().lower(),
        sentry_auth=environ.get("HTTP_X_SENTRY_AUTH", ""),
        headers=read_sender_headers(environ),
        sender=(environ.get("HTTP_X_FORWARDED_FOR") or environ.get("REMOTE_ADDR", ""))[:MAX_SENDER_CHARS],
        length=length,
        stream=environ["wsgi.input"] if has_body else io.BytesIO(),
    )


def read_bounded(stream: Readable, *, declared: int | None, max_bytes: int) -> bytes:
    """Returns the whole body as sent. Raises `BodyTooLarge` as soon as it is known to exceed `max_bytes`.

    Of a body whose length is declared no more is read: to see its end would take another look at the connection.
    Raises `TraceError` if the sender is gone or too slow, `TryLater` if too many others are slow.
    """
    if declared is not None and declared > max_bytes:
        raise BodyTooLarge("sent", max_bytes)
    chunks: list[bytes] = []
    size = 0
    try:
        while declared is None or size < declared:
            chunk = stream.read(CHUNK_BYTES if declared is None else min(CHUNK_BYTES, declared - size))
            if not chunk:
                break
            size += len(chunk)
            if size > max_bytes:
                raise BodyTooLarge("sent", max_bytes)
            chunks.append(chunk)
    except OSError as error:
        if (slow := slow_error_of(error)) is not None:
            if isinstance(slow, TooManySlowBodies):
                raise TryLater(Reason.UNAVAILABLE, "$", str(slow), retry_after_s=5) from None
            raise TraceError(Reason.TOO_SLOW, "$", str(slow)) from None
        # The sender is gone: no one reads the answer, but it counts as a refusal and not as our fault.
        raise TraceError(Reason.EMPTY_BODY, "$", "The connection ended before the body did.") from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def skip_body(post: IngestRequest) -> None:
    """Reads a short body of which nothing was read, before a refusal is answered.

    If the answer came first, the web server would close the connection. A sender that still writes would find it
    broken, and never learn when to try again. Slow bodies have the limits of all others.
    """
    body = post.stream
    if isinstance(body, TimedBody) and not body.received and body.error is None:
        left = post.length or 0
        if left <= SKIPPED_MAX_BYTES:
            with contextlib.suppress(OSError):  # too slow, which the answer then says, or gone
                while left and (piece := body.read(left)):
                    left -= len(piece)


@cached(entries=1_000, chars=200)
def key_in(query: str) -> str:
    """Returns the key that a query names, empty if there is none. Posts repeat it, so results are cached."""
    try:
        fields = parse_qs(query, max_num_fields=MAX_QUERY_FIELDS)
    except ValueError:
        return ""
    return fields.get("key", [""])[-1]


def read_fields(query: str) -> dict[str, list[str]]:
    """Returns the parameters of a query. Raises `TraceError` if it is not UTF-8."""
    try:
        return parse_qs(query, max_num_fields=MAX_QUERY_FIELDS, errors="strict")
    except UnicodeDecodeError:
        raise TraceError(Reason.INVALID_UTF8, "$", "The query is not UTF-8.") from None
    except ValueError:
        raise TraceError(Reason.TOO_MANY, "$", f"The query has more than {MAX_QUERY_FIELDS} fields.") from None


def is_gzip(body: bytes) -> bool:
    """Returns whether a body is gzip, by its magic bytes."""
    return body[:2] == GZIP_MAGIC


def expand(body: bytes, *, max_bytes: int) -> bytes:
    """Returns a gzip body of one or more members expanded. Raises `BodyTooLarge`, or `TraceError` if it is damaged."""
    try:
        return inflate(body, window=GZIP_WINDOW, max_bytes=max_bytes, max_members=MAX_MEMBERS)
    except TooLong:
        raise BodyTooLarge("expanded", max_bytes) from None
    except CutShort:
        detail = "The gzip body ends too early."
    except Damaged as error:
        detail = f"The gzip body is damaged: {error}."
    except TooManyMembers:
        detail = f"The gzip body has more than {MAX_MEMBERS} members."
    raise TraceError(Reason.INVALID_GZIP, "$", detail)


def as_utf8(body: bytes, *, max_bytes: int) -> bytes:
    """Returns an expanded body as UTF-8 without a byte order mark: `body` itself if it is. Raises `BodyTooLarge`."""
    try:
        return to_utf8(body, max_bytes)
    except TextTooLong:
        raise BodyTooLarge("expanded", max_bytes) from None


def read_short(post: IngestRequest, *, max_bytes: int) -> bytes:
    """Returns a short body as bodies of traces are read: expanded if it is gzip, as UTF-8. Raises `TraceError`."""
    sent = read_bounded(post.stream, declared=post.length, max_bytes=max_bytes)
    return as_utf8(expand(sent, max_bytes=max_bytes) if is_gzip(sent) else sent, max_bytes=max_bytes)


@contextmanager
def expanded(
    sent: bytes, *, large_bytes: int, max_bytes: int, unpack: Callable[..., bytes] | None = None
) -> Iterator[bytes]:
    """Yields a body, expanded if it is gzip. While a large body is in use, the process reads no other large one.

    With `unpack` it is packed otherwise. Raises `BodyTooLarge`, `TraceError` for a damaged one, and `TryLater` if too
    many large bodies are waiting already.
    """
    body = None
    unpack = unpack or (expand if is_gzip(sent) else None)
    if unpack is None:
        body = sent if len(sent) <= large_bytes else None
    else:
        try:
            body = unpack(sent, max_bytes=min(large_bytes, max_bytes))
        except BodyTooLarge:
            if large_bytes >= max_bytes:
                raise
    if body is not None:
        yield body
        return
    if not _large_queue.acquire(blocking=False):
        raise TryLater(Reason.UNAVAILABLE, "$", "Too many large bodies are being read.", retry_after_s=5)
    try:
        with _large_turn:
            yield unpack(sent, max_bytes=max_bytes) if unpack else sent
    finally:
        _large_queue.release()
