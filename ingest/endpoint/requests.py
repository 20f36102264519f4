"""The part of a request that the endpoint reads, as a value that does not depend on the web server."""

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from ingest.endpoint.bodies import read_bounded
from ingest.endpoint.slow_bodies import Readable, TimedBody
from ingest.storage.view_dimensions import SenderHeaders, read_sender_headers
from profcore.caching import cached

MAX_QUERY_FIELDS: Final = 20
# Nearly all traces are shorter. A sender of more may find its connection closed before it reads why.
SKIPPED_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """What the endpoint reads of a request. `length` is that of the body, None if it is not declared."""

    method: str
    query: str
    origin: str | None
    media_type: str  # without its parameters
    coding: str
    headers: SenderHeaders
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
        query=environ.get("QUERY_STRING", ""),
        origin=environ.get("HTTP_ORIGIN"),
        media_type=environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower(),
        coding=environ.get("HTTP_CONTENT_ENCODING", "").strip().lower(),
        headers=read_sender_headers(environ),
        length=length,
        stream=environ["wsgi.input"] if has_body else io.BytesIO(),
    )


def read_sent(post: IngestRequest, max_bytes: int) -> bytes:
    """Returns the body as sent, within its bound. Raises `TraceError`."""
    return read_bounded(post.stream, declared=post.length, max_bytes=max_bytes)


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
    """Returns the key that a query names, empty if there is none. Posts repeat it, so results are remembered."""
    try:
        fields = parse_qs(query, max_num_fields=MAX_QUERY_FIELDS)
    except ValueError:
        return ""
    return fields.get("key", [""])[-1]
