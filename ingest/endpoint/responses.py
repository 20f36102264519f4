"""The endpoint's answers: JSON, all with CORS headers, also errors."""

import logging
import re
from dataclasses import dataclass
from typing import Final

import msgspec
from django.db import Error, InterfaceError, OperationalError

from ingest.deadline import drop_silent_connection
from ingest.endpoint.requests import TryLater
from ingest.storage.packs.store import BodiesUnavailable
from profcore.errors import Reason, TraceError

logger = logging.getLogger(__name__)

STATUS_OF_REASON: Final = {
    Reason.UNKNOWN_KEY: 401,
    Reason.ORIGIN_NOT_ALLOWED: 403,
    Reason.PROJECT_ARCHIVED: 403,
    Reason.TOO_SLOW: 408,
    Reason.TOO_LARGE: 413,
    Reason.TOO_MANY_ENVELOPES: 413,
    Reason.UNSUPPORTED_MEDIA: 415,
    Reason.RATE_LIMITED: 429,
    Reason.TOO_MANY_PENDING: 429,
    Reason.TOO_MANY_PAGES: 429,
    Reason.QUOTA_EXCEEDED: 429,
    Reason.UNAVAILABLE: 503,
}
# The seconds that a page stops recording and sending: for a project that collects nothing or is archived, and for a
# wrong origin.
# After an hour, a tab that stays open for days tries again.
STOP_S: Final = 3_600
PREFLIGHT_S: Final = 7_200  # Chromium's maximum
USUAL_HEADERS: Final = "content-type, content-encoding"
MAX_WANTED_CHARS: Final = 2_000  # those of three tracing libraries together have 300
# A list of tokens (RFC 9110, 5.6.2). The separator is no character of a token, so this never backtracks far.
HEADER_NAMES: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]++(?:[ \t]*+,[ \t]*+[!#$%&'*+.^_`|~0-9A-Za-z-]++)*+")
OPEN: Final = (("Access-Control-Allow-Origin", "*"), ("Cache-Control", "no-store"))  # for any origin, never kept
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class IngestResponse:
    """An answer of the endpoint, for whichever server sends it.

    `pause_s` is for how many seconds further posts would be useless, 0 if that is open.
    """

    status: int
    headers: list[tuple[str, str]]
    content: bytes = b""
    pause_s: int = 0


def answer(
    status: int, value: object, *, retry_after_s: int | None = None, pause_s: int = 0, allowed: str = ""
) -> IngestResponse:
    """Returns a JSON answer that any origin may read."""
    headers = [*OPEN, ("Content-Type", "application/json")]
    if retry_after_s is not None:
        headers += [("Retry-After", str(retry_after_s)), ("Access-Control-Expose-Headers", "Retry-After")]
    if allowed:
        headers.append(("Allow", allowed))
    return IngestResponse(status, headers, _encoder.encode(value), max(pause_s, retry_after_s or 0))


def answer_error(error: TraceError) -> IngestResponse:
    """Returns the answer to a refused body: `{"reason", "path", "detail"}` with the status of its reason, else 400."""
    body: dict[str, object] = {"reason": error.reason, "path": error.path, "detail": error.detail}
    if (stop_s := stop_of(error)) is not None:
        body["stop"] = stop_s
    retry_after_s = error.retry_after_s if isinstance(error, TryLater) else None
    status = STATUS_OF_REASON.get(error.reason, 400)
    return answer(status, body, retry_after_s=retry_after_s, pause_s=stop_s or 0)


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


def stop_of(error: TraceError) -> int | None:
    """Returns the seconds for which further posts of the page would certainly be refused too; None if that is open."""
    if error.reason == Reason.QUOTA_EXCEEDED and isinstance(error, TryLater):
        return error.retry_after_s
    return STOP_S if error.reason in (Reason.ORIGIN_NOT_ALLOWED, Reason.PROJECT_ARCHIVED) else None


def answer_nothing() -> IngestResponse:
    """Returns the answer to a report that was counted."""
    return IngestResponse(204, list(OPEN))


def answer_wrong_method(allowed: str = "POST, OPTIONS", detail: str = "Traces are posted.") -> IngestResponse:
    """Returns the answer to any method except the allowed ones."""
    return answer(405, {"reason": "method_not_allowed", "path": "$", "detail": detail}, allowed=allowed)


def answer_unknown_address() -> IngestResponse:
    """Returns the answer to a request for an address next to the endpoint's own ones."""
    detail = "Traces are posted to /ingest/v1/traces."
    return answer(404, {"reason": "not_found", "path": "$", "detail": detail})


def answer_fault() -> IngestResponse:
    """Returns the answer to a request that failed through a fault of ours."""
    return answer(500, {"reason": "internal_error", "path": "$", "detail": "The server failed; the fault is logged."})


def answer_preflight(wanted_headers: str = "", allowed: str = "POST, OPTIONS") -> IngestResponse:
    """Returns the answer to a CORS preflight: `fetch` with `application/json` or `Content-Encoding` sends one.

    It allows whatever headers are asked for. Scripts that trace requests add theirs to each `fetch` of a page; no
    cookies are read here, so nothing is gained by refusing. The usual headers are allowed if the list is no list.
    """
    wanted_headers = wanted_headers.strip()
    is_list = len(wanted_headers) <= MAX_WANTED_CHARS and HEADER_NAMES.fullmatch(wanted_headers)
    headers = [
        OPEN[0],
        ("Access-Control-Allow-Methods", allowed),
        ("Access-Control-Allow-Headers", wanted_headers if is_list else USUAL_HEADERS),
        ("Access-Control-Max-Age", str(PREFLIGHT_S)),
        ("Vary", "Access-Control-Request-Headers"),
    ]
    return IngestResponse(204, headers)
