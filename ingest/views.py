"""The door: `POST /ingest/v1/traces`. Decode, one call, encode."""

import logging
import threading
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from config.metrics import INGEST_ENVELOPES
from ingest.admission import has_room, take_rate
from ingest.answers import answer, answer_error, answer_preflight
from ingest.bodies import expand, is_gzip, read_bounded
from ingest.keys import KeyFacts, find_key, is_origin_allowed
from ingest.limits import envelope_limits
from ingest.parsing import NDJSON_TYPES, ParsedBody, Refused, parse_body
from ingest.refusals import count_refusals
from ingest.services import Arrival, store_arrivals
from ingest.wake import wake_worker
from profcore.errors import Reason, TraceError

logger = logging.getLogger(__name__)

CONTENT_TYPES: Final = frozenset({"", "text/plain", "application/json", "application/octet-stream"}) | NDJSON_TYPES
CONTENT_TYPES_GZIP: Final = frozenset({"application/gzip", "application/x-gzip"})
# Decoding a body of 50 MiB may take some hundred MB: such bodies are decoded one at a time in a process.
_large_bodies = threading.BoundedSemaphore(1)


@csrf_exempt
def receive_traces(request: HttpRequest) -> HttpResponse:
    """Takes envelopes by the ingest contract (docs/ingest.md) and answers 202 once they are durable."""
    if request.method == "OPTIONS":
        return answer_preflight()
    if request.method != "POST":
        response = answer(405, {"reason": "method_not_allowed", "path": "$", "detail": "Traces are posted."})
        response["Allow"] = "POST, OPTIONS"
        return response
    received_at = datetime.now(UTC)
    key: KeyFacts | None = None
    try:
        key = admit(request)
        sent, body = read_request(request)
        return take_body(request, key, sent, body, received_at)
    except TraceError as error:
        if key is not None:
            count_refusals(key.project_id, [error.reason], received_at)
        INGEST_ENVELOPES.labels(outcome="refused", reason=error.reason).inc()
        retry_after_s = 1 if error.reason is Reason.RATE_LIMITED else None
        return answer_error(error, retry_after_s=retry_after_s)
    except Error:
        logger.exception("The door could not store a post.")
        INGEST_ENVELOPES.labels(outcome="refused", reason=Reason.UNAVAILABLE).inc()
        detail = "The database does not answer; please post again later."
        return answer_error(TraceError(Reason.UNAVAILABLE, "$", detail), retry_after_s=10)


def admit(request: HttpRequest) -> KeyFacts:
    """Checks key, origin, media type and room before the body is read. Raises `TraceError`."""
    key = find_key(request.GET.get("key", ""))
    if key is None:
        raise TraceError(Reason.UNKNOWN_KEY, "$", "The `key` parameter names no live public key.")
    origin = request.headers.get("Origin")
    if not is_origin_allowed(origin, key.origins):
        raise TraceError(Reason.ORIGIN_NOT_ALLOWED, "$", "This key may not be used from this origin.")
    content_type = request.content_type or ""
    if content_type not in CONTENT_TYPES and content_type not in CONTENT_TYPES_GZIP:
        raise TraceError(
            Reason.UNSUPPORTED_MEDIA, "$", "Send text/plain, application/json or application/x-ndjson, gzip or not."
        )
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", "The only Content-Encoding taken is gzip.")
    if not has_room(key.project_id):
        raise TraceError(Reason.TOO_MANY_PENDING, "$", "Too many traces of this project wait to be folded.")
    return key


def read_request(request: HttpRequest) -> tuple[bytes, bytes]:
    """Returns the body as sent and expanded, both within their bounds. Raises `TraceError`."""
    declared = request.headers.get("Content-Length", "")
    sent = read_bounded(
        request, declared=int(declared) if declared.isdigit() else None, max_bytes=settings.INGEST_MAX_BODY_BYTES
    )
    body = expand(sent, max_bytes=settings.INGEST_MAX_EXPANDED_BYTES) if is_gzip(sent) else sent
    if request.headers.get("Content-Encoding", "").strip().lower() in ("gzip", "x-gzip") and body is sent and sent:
        raise TraceError(Reason.INVALID_GZIP, "$", "The body is not the gzip that Content-Encoding promises.")
    return sent, body


def take_body(request: HttpRequest, key: KeyFacts, sent: bytes, body: bytes, received_at: datetime) -> HttpResponse:
    """Parses a body, stores its envelopes, wakes a worker, and says what became of each."""
    parsed = _parse(body, request.content_type or "")
    wait_s = take_rate(key.project_id, len(parsed.envelopes))
    if wait_s:
        raise TraceError(Reason.RATE_LIMITED, "$", "This project sends more traces a second than it may.")
    arrivals = [
        Arrival(envelope, bytes(item), is_gzip=False, expanded_bytes=len(memoryview(item)))
        if parsed.is_batch
        else Arrival(envelope, sent, is_gzip=sent is not body, expanded_bytes=len(body))
        for _, item, envelope in parsed.envelopes
    ]
    if arrivals:
        agent = request.headers.get("User-Agent", "")[:2_000]
        store_arrivals(key=key, arrivals=arrivals, header_agent=agent, received_at=received_at)
        wake_worker()
    INGEST_ENVELOPES.labels(outcome="accepted", reason="").inc(len(arrivals))
    for refused in parsed.refused:
        INGEST_ENVELOPES.labels(outcome="refused", reason=refused.error.reason).inc()
    count_refusals(key.project_id, [refused.error.reason for refused in parsed.refused], received_at)
    return answer(202, {"accepted": len(arrivals), "rejected": [_describe(refused) for refused in parsed.refused]})


def _parse(body: bytes, content_type: str) -> ParsedBody:
    limits, most = envelope_limits(), settings.INGEST_MAX_ENVELOPES
    if len(body) <= settings.INGEST_LARGE_BODY_BYTES:
        return parse_body(body, content_type=content_type, limits=limits, max_envelopes=most)
    with _large_bodies:
        return parse_body(body, content_type=content_type, limits=limits, max_envelopes=most)


def _describe(refused: Refused) -> dict[str, object]:
    error = refused.error
    return {
        "index": refused.index,
        "traceId": refused.trace_id,
        "reason": error.reason,
        "path": error.path,
        "detail": error.detail,
    }
