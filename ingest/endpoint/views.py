"""The endpoint, straight from the web server: `POST /ingest/v1/traces`. Decode, one call, encode.

Django's handler, its request, its signals and its chain of middleware cost more than storing a trace.
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from http.client import responses
from typing import Any, Final

from django.conf import settings
from django.db import Error

from ingest.deadline import release_connection, with_deadline
from ingest.endpoint.absences import take_absence
from ingest.endpoint.admission import (
    ADMISSION,
    check_sender,
    quota_of,
    read_key,
    seconds_to_next_day,
)
from ingest.endpoint.outcomes import INGEST_ENVELOPES, count_refusals
from ingest.endpoint.parsing import NDJSON_TYPES, ParsedBody, Refused, parse_body, parse_compiled
from ingest.endpoint.requests import (
    IngestRequest,
    TryLater,
    expanded,
    is_gzip,
    read_bounded,
    read_request,
    skip_body,
)
from ingest.endpoint.responses import (
    STOP_S,
    IngestResponse,
    answer,
    answer_error,
    answer_fault,
    answer_preflight,
    answer_unknown_address,
    answer_wrong_method,
    explain_outage,
    stop_of,
)
from ingest.endpoint.slow_bodies import TimedBody, end_slow
from ingest.limits import envelope_limits
from ingest.notify import notify_soon
from ingest.storage.storing import GROUP_COMMIT, store_arrivals
from profcore.errors import Reason, TraceError
from projects.key_cache import KeyConfig

logger = logging.getLogger(__name__)

View = Callable[[IngestRequest], IngestResponse]
CONTENT_TYPES: Final = NDJSON_TYPES | {
    *("", "text/plain", "application/json", "application/octet-stream", "application/gzip", "application/x-gzip")
}
GZIP_CODINGS: Final = frozenset({"gzip", "x-gzip"})
CODINGS: Final = GZIP_CODINGS | {"", "identity"}
SLASHES: Final = re.compile(r"/{2,}")
ACCEPTED: Final = INGEST_ENVELOPES.labels(outcome="accepted", reason="")


def take_traces(post: IngestRequest) -> IngestResponse:
    """Accepts envelopes by the ingest contract (docs/ingest.md) and answers 202 once they are durable."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers)
    if post.method != "POST":
        return answer_wrong_method()
    received_at = datetime.now(UTC)
    key: KeyConfig | None = None
    try:
        with with_deadline(GROUP_COMMIT.policy.deadline_s):
            key = read_key(post)
            check_sender(post, key)
            check_media(post)
            ADMISSION.check(key, received_at)
            # A slow sender may take long from here on, and must not hold a connection of the pool.
            release_connection()
            parsed = store_body(post, key, received_at)
            return conclude(key, parsed, received_at)
    except TraceError as error:
        refusal = refuse(key, error, received_at)
    except Error as error:
        refusal = refuse(None, explain_outage(error), received_at)
    release_connection()
    skip_body(post)
    return refusal


def refuse(key: KeyConfig | None, error: TraceError, received_at: datetime) -> IngestResponse:
    """Counts a post that is refused as a whole, and returns the answer."""
    INGEST_ENVELOPES.labels(outcome="refused", reason=error.reason).inc()
    if key is not None:
        count_refusals(key.project_id, [error.reason], received_at)
    return answer_error(error)


def check_media(post: IngestRequest) -> None:
    """Raises `TraceError` if the headers promise a body that the endpoint does not read."""
    if post.media_type not in CONTENT_TYPES:
        detail = "Send text/plain, application/json or application/x-ndjson, gzip or not."
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", detail)
    if post.coding not in CODINGS:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", "The only Content-Encoding taken is gzip.")


def store_body(post: IngestRequest, key: KeyConfig, received_at: datetime) -> ParsedBody:
    """Reads a body, and stores and returns its envelopes. Raises `TraceError`."""
    sent = read_bounded(post.stream, declared=post.length, max_bytes=settings.INGEST_MAX_BODY_BYTES)
    if post.coding in GZIP_CODINGS and sent and not is_gzip(sent):
        raise TraceError(Reason.INVALID_GZIP, "$", "The body is not the gzip that Content-Encoding promises.")
    bounds = {"large_bytes": settings.INGEST_LARGE_BODY_BYTES, "max_bytes": settings.INGEST_MAX_EXPANDED_BYTES}
    limits = envelope_limits()
    compiled = parse_compiled(sent, content_type=post.media_type, limits=limits, max_bytes=min(bounds.values()))
    with nullcontext(sent) if compiled else expanded(sent, **bounds) as body:
        parsed = compiled or parse_body(
            sent,
            body,
            content_type=post.media_type,
            limits=limits,
            max_envelopes=settings.INGEST_MAX_ENVELOPES,
        )
        _charge(key, parsed, received_at)
        if parsed.arrivals:
            store_arrivals(key=key, arrivals=parsed.arrivals, headers=post.headers, received_at=received_at)
    return parsed


def _charge(key: KeyConfig, parsed: ParsedBody, received_at: datetime) -> None:
    """Charges the project, and moves envelopes beyond its quota to the refused ones; a single one raises."""
    sent = len(parsed.arrivals) + len(parsed.refused)
    granted = ADMISSION.charge(key, received_at, sent=sent, accepted=len(parsed.arrivals))
    beyond = parsed.arrivals[granted:]
    if not beyond:
        return
    detail = f"The project may send {quota_of(key)} traces a day (UTC)."
    error = TryLater(Reason.QUOTA_EXCEEDED, "$", detail, retry_after_s=seconds_to_next_day(received_at))
    if not parsed.is_batch:
        raise error
    parsed.arrivals = parsed.arrivals[:granted]
    for arrival in beyond:
        trace_id = arrival.envelope.traceId
        parsed.refused.append(Refused(arrival.index, str(trace_id) if trace_id else None, error))
    parsed.refused.sort(key=lambda refused: refused.index)


def conclude(key: KeyConfig, parsed: ParsedBody, received_at: datetime) -> IngestResponse:
    """Counts a post whose envelopes are stored, notifies a worker, and returns the answer.

    `stop` says for how many seconds the page may as well stop sending, if it should.
    """
    ACCEPTED.inc(len(parsed.arrivals))
    for refused in parsed.refused:
        INGEST_ENVELOPES.labels(outcome="refused", reason=refused.error.reason).inc()
    if parsed.refused:
        count_refusals(key.project_id, [refused.error.reason for refused in parsed.refused], received_at)
    release_connection()
    if parsed.arrivals:
        notify_soon()
    content: dict[str, object] = {
        "accepted": len(parsed.arrivals),
        "rejected": [_describe(refused) for refused in parsed.refused],
    }
    stops_s = [STOP_S] if key.collection.off else [stop_of(refused.error) or 0 for refused in parsed.refused]
    if any(stops_s):
        content["stop"] = max(stops_s)
    return answer(202, content)


def _describe(refused: Refused) -> dict[str, object]:
    error = refused.error
    return {
        "index": refused.index,
        "traceId": refused.trace_id,
        "reason": error.reason,
        "path": error.path,
        "detail": error.detail,
    }


ENDPOINTS: Final[Mapping[str, View]] = {"/ingest/v1/traces": take_traces, "/ingest/v1/absent": take_absence}


def find_endpoint(path: str) -> View | None:
    """Returns what answers a path of the endpoint; None for any other path.

    A proxy or a framework in between may add a slash at the end, or double the first one. A wrong address below
    `/ingest/` is answered here too: a page's script can read only an answer with CORS headers.
    """
    if (view := ENDPOINTS.get(path)) is not None:
        return view
    if not path.lstrip("/").startswith("ingest/"):
        return None
    return ENDPOINTS.get(SLASHES.sub("/", path).rstrip("/"), take_nothing)


def take_nothing(post: IngestRequest) -> IngestResponse:
    """Answers a request for an address that does not exist."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers)
    skip_body(post)
    return answer_unknown_address()


def answer_environ(view: View, environ: Mapping[str, Any], start_response: Any) -> Iterable[bytes]:  # Any: the server's
    """Answers a request of the web server. Whatever fails is logged, and answered as the contract says."""
    try:
        response = view(read_request(environ))
    except Exception:
        logger.exception("The endpoint failed.")
        response = answer_fault()
    finally:
        release_connection()
    status = f"{response.status} {responses.get(response.status, '')}"
    body = environ["wsgi.input"]
    if isinstance(body, TimedBody) and body.error is not None:
        return end_slow(body.error, status, response.headers, response.content, start_response)
    start_response(status, response.headers)
    return [response.content]
