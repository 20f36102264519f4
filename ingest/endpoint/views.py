"""The endpoint: `POST /ingest/v1/traces`. Decode, one call, encode."""

import logging
import math
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.db import Error, InterfaceError, OperationalError

from ingest.deadline import drop_silent_connection, release_connection, with_deadline
from ingest.endpoint.admission import charge_rate, has_room, has_store_room, take_rate
from ingest.endpoint.bodies import TryLater, expanded, is_gzip
from ingest.endpoint.limits import envelope_limits
from ingest.endpoint.metrics import INGEST_ENVELOPES
from ingest.endpoint.outcomes import count_refusals
from ingest.endpoint.parsing import NDJSON_TYPES, ParsedBody, Refused, parse_at_once, parse_body
from ingest.endpoint.quotas import find_full_quota, quota_of, seconds_to_next_day, take_quota
from ingest.endpoint.requests import IngestRequest, key_in, read_sent, skip_body
from ingest.endpoint.responses import (
    STOP_S,
    IngestResponse,
    answer,
    answer_error,
    answer_preflight,
    answer_wrong_method,
    stop_of,
)
from ingest.notify import notify_soon
from ingest.storage.packs.store import BodiesUnavailable
from ingest.storage.storing import Arrival, find_deadline_s, store_arrivals
from profcore.errors import Reason, TraceError
from projects.key_cache import KeyFacts, check_not_archived, find_key, is_origin_allowed

logger = logging.getLogger(__name__)

CONTENT_TYPES: Final = NDJSON_TYPES | {
    *("", "text/plain", "application/json", "application/octet-stream", "application/gzip", "application/x-gzip")
}
GZIP_CODINGS: Final = frozenset({"gzip", "x-gzip"})
CODINGS: Final = GZIP_CODINGS | {"", "identity"}
ACCEPTED: Final = INGEST_ENVELOPES.labels(outcome="accepted", reason="")


def take_traces(post: IngestRequest) -> IngestResponse:
    """Accepts envelopes by the ingest contract (docs/ingest.md) and answers 202 once they are durable."""
    if post.method == "OPTIONS":
        return answer_preflight()
    if post.method != "POST":
        return answer_wrong_method()
    received_at = datetime.now(UTC)
    key: KeyFacts | None = None
    try:
        with with_deadline(find_deadline_s()):
            key = read_key(post)
            admit(post, key, received_at)
            return take_request(post, key, received_at)
    except TraceError as error:
        refusal = refuse(key, error, received_at)
    except Error as error:
        refusal = refuse(None, explain_outage(error), received_at)
    release_connection()
    skip_body(post)
    return refusal


def explain_outage(error: Error) -> TryLater:
    """Logs an error of the database or the object store, and returns what the sender is told."""
    if isinstance(error, BodiesUnavailable):
        logger.error("The endpoint could not store a post: %s.", error)
        detail = "The store of bodies does not answer; please post again later."
        return TryLater(Reason.UNAVAILABLE, "$", detail, retry_after_s=10)
    if isinstance(error, OperationalError | InterfaceError):  # an outage: one line per post, not a traceback
        logger.error("The endpoint could not store a post: %s.", type(error).__name__)
        drop_silent_connection(error)
    else:
        logger.error("The endpoint could not store a post.", exc_info=error)
    detail = "The database does not answer; please post again later."
    return TryLater(Reason.UNAVAILABLE, "$", detail, retry_after_s=10)


def refuse(key: KeyFacts | None, error: TraceError, received_at: datetime) -> IngestResponse:
    """Counts a post that is refused as a whole, and returns the answer."""
    INGEST_ENVELOPES.labels(outcome="refused", reason=error.reason).inc()
    if key is not None:
        count_refusals(key.project_id, [error.reason], received_at)
    return answer_error(error)


def read_key(post: IngestRequest) -> KeyFacts:
    """Returns the facts of the key that a post names. Raises `TraceError` if it names no live key."""
    key = find_key(key_in(post.query))
    if key is None:
        raise TraceError(Reason.UNKNOWN_KEY, "$", "The `key` parameter names no live public key.")
    return key


def admit(post: IngestRequest, key: KeyFacts, received_at: datetime) -> None:
    """Checks project, origin, media type, rate, room and quotas before the body is read. Raises `TraceError`."""
    check_not_archived(key)
    if not is_origin_allowed(post.origin, key.origins):
        raise TraceError(Reason.ORIGIN_NOT_ALLOWED, "$", "This key may not be used from this origin.")
    if post.media_type not in CONTENT_TYPES:
        detail = "Send text/plain, application/json or application/x-ndjson, gzip or not."
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", detail)
    if post.coding not in CODINGS:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", "The only Content-Encoding taken is gzip.")
    wait_s = take_rate(key.project_id)
    if wait_s:
        detail = "This project sends more traces a second than it may."
        raise TryLater(Reason.RATE_LIMITED, "$", detail, retry_after_s=math.ceil(wait_s))
    if not has_room(key.project_id):
        raise TryLater(Reason.TOO_MANY_PENDING, "$", "Too many traces of this project wait to be folded.")
    full = find_full_quota(key, received_at)
    if full is not None:
        retry_after_s = seconds_to_next_day(received_at)
        raise TryLater(Reason.QUOTA_EXCEEDED, "$", full, retry_after_s=retry_after_s)
    if not has_store_room():
        detail = "The server has no room for more traces at the moment; please post again later."
        raise TryLater(Reason.UNAVAILABLE, "$", detail)
    # A slow sender may take long from here on, and must not hold a connection of the pool.
    release_connection()


def take_request(post: IngestRequest, key: KeyFacts, received_at: datetime) -> IngestResponse:
    """Reads a body, stores its envelopes, wakes a worker, and returns the answer. Raises `TraceError`."""
    sent = read_sent(post, settings.INGEST_MAX_BODY_BYTES)
    if post.coding in GZIP_CODINGS and sent and not is_gzip(sent):
        raise TraceError(Reason.INVALID_GZIP, "$", "The body is not the gzip that Content-Encoding promises.")
    bounds = {"large_bytes": settings.INGEST_LARGE_BODY_BYTES, "max_bytes": settings.INGEST_MAX_EXPANDED_BYTES}
    limits = envelope_limits()
    at_once = parse_at_once(sent, content_type=post.media_type, limits=limits, max_bytes=min(bounds.values()))
    with nullcontext(sent) if at_once else expanded(sent, **bounds) as body:
        parsed = at_once or parse_body(
            body,
            content_type=post.media_type,
            limits=limits,
            max_envelopes=settings.INGEST_MAX_ENVELOPES,
        )
        charge_rate(key.project_id, len(parsed.envelopes) + len(parsed.refused) - 1)  # `admit` took the first one
        _refuse_beyond_quota(key, parsed, received_at)
        arrivals = make_arrivals(parsed, sent, body)
        if arrivals:
            store_arrivals(key=key, arrivals=arrivals, headers=post.headers, received_at=received_at)
    return conclude(key, parsed, received_at)


def make_arrivals(parsed: ParsedBody, sent: bytes, body: bytes) -> list[Arrival]:
    """Returns the arrivals to store: a single envelope as sent, others and translated ones as their own bytes."""
    if not parsed.is_batch and parsed.envelopes[0][1] is body:
        size = len(body) if parsed.expanded_bytes is None else parsed.expanded_bytes
        return [
            Arrival(index=i, envelope=envelope, body=sent, is_gzip=is_gzip(sent), expanded_bytes=size)
            for i, _, envelope in parsed.envelopes
        ]
    return [
        Arrival(index=i, envelope=envelope, body=bytes(value), is_gzip=False, expanded_bytes=len(memoryview(value)))
        for i, value, envelope in parsed.envelopes
    ]


def conclude(key: KeyFacts, parsed: ParsedBody, received_at: datetime) -> IngestResponse:
    """Counts a post whose envelopes are stored, wakes a worker, and returns the answer."""
    ACCEPTED.inc(len(parsed.envelopes))
    for refused in parsed.refused:
        INGEST_ENVELOPES.labels(outcome="refused", reason=refused.error.reason).inc()
    if parsed.refused:
        count_refusals(key.project_id, [refused.error.reason for refused in parsed.refused], received_at)
    release_connection()
    if parsed.envelopes:
        notify_soon()
    told: dict[str, object] = {
        "accepted": len(parsed.envelopes),
        "rejected": [_describe(refused) for refused in parsed.refused],
    }
    if (stop_s := _stop_of_batch(key, parsed)) is not None:
        told["stop"] = stop_s
    return answer(202, told)


def _stop_of_batch(key: KeyFacts, parsed: ParsedBody) -> int | None:
    """Returns for how many seconds the page may as well stop sending; None if it should go on."""
    if key.collection.off:
        return STOP_S
    return max((stop_s for refused in parsed.refused if (stop_s := stop_of(refused.error))), default=None)


def _refuse_beyond_quota(key: KeyFacts, parsed: ParsedBody, received_at: datetime) -> None:
    """Moves envelopes beyond the day's quota from the accepted to the refused ones; a single one raises."""
    granted = take_quota(key, len(parsed.envelopes), received_at)
    beyond = parsed.envelopes[granted:]
    if not beyond:
        return
    detail = f"The project may send {quota_of(key)} traces a day (UTC)."
    error = TryLater(Reason.QUOTA_EXCEEDED, "$", detail, retry_after_s=seconds_to_next_day(received_at))
    if not parsed.is_batch:
        raise error
    parsed.envelopes = parsed.envelopes[:granted]
    parsed.refused += [Refused(i, str(e.traceId) if e.traceId else None, error) for i, _, e in beyond]
    parsed.refused.sort(key=lambda refused: refused.index)


def _describe(refused: Refused) -> dict[str, object]:
    error = refused.error
    return {
        "index": refused.index,
        "traceId": refused.trace_id,
        "reason": error.reason,
        "path": error.path,
        "detail": error.detail,
    }
