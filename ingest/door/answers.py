"""The door's answers: JSON, all with CORS headers, also errors."""

from typing import Final

import msgspec
from django.http import HttpResponse

from ingest.door.bodies import TryLater
from profcore.errors import Reason, TraceError

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
_encoder = msgspec.json.Encoder()


def answer(status: int, value: object, *, retry_after_s: int | None = None) -> HttpResponse:
    """Returns a JSON answer that any origin may read."""
    response = HttpResponse(_encoder.encode(value), status=status, content_type="application/json")
    response["Access-Control-Allow-Origin"] = "*"
    response["Cache-Control"] = "no-store"
    # Refusals are counted by reason; one log line for each would let anybody fill the disk. The mark is Django's own.
    response._has_been_logged = True  # type: ignore[attr-defined]  # not in the stubs
    if retry_after_s is not None:
        response["Retry-After"] = str(retry_after_s)
        response["Access-Control-Expose-Headers"] = "Retry-After"
    return response


def answer_error(error: TraceError) -> HttpResponse:
    """Returns the answer to a refused body: `{"reason", "path", "detail"}` with the status of its reason, else 400."""
    body: dict[str, object] = {"reason": error.reason, "path": error.path, "detail": error.detail}
    if (stop_s := stop_of(error)) is not None:
        body["stop"] = stop_s
    retry_after_s = error.retry_after_s if isinstance(error, TryLater) else None
    return answer(STATUS_OF_REASON.get(error.reason, 400), body, retry_after_s=retry_after_s)


def stop_of(error: TraceError) -> int | None:
    """Returns the seconds for which further posts of the page would certainly be refused too; None if that is open."""
    if error.reason == Reason.QUOTA_EXCEEDED and isinstance(error, TryLater):
        return error.retry_after_s
    return STOP_S if error.reason in (Reason.ORIGIN_NOT_ALLOWED, Reason.PROJECT_ARCHIVED) else None


def answer_nothing() -> HttpResponse:
    """Returns the answer to a report that was counted, whoever sent it."""
    response = HttpResponse(status=204)
    response["Access-Control-Allow-Origin"] = "*"
    response["Cache-Control"] = "no-store"
    return response


def answer_wrong_method(allowed: str = "POST, OPTIONS", detail: str = "Traces are posted.") -> HttpResponse:
    """Returns the answer to any method except the allowed ones."""
    response = answer(405, {"reason": "method_not_allowed", "path": "$", "detail": detail})
    response["Allow"] = allowed
    return response


def answer_preflight(allowed: str = "POST, OPTIONS") -> HttpResponse:
    """Returns the answer to a CORS preflight: `fetch` with `application/json` or `Content-Encoding` sends one."""
    response = HttpResponse(status=204)
    response["Access-Control-Allow-Origin"] = "*"
    response["Access-Control-Allow-Methods"] = allowed
    response["Access-Control-Allow-Headers"] = "content-type, content-encoding"
    response["Access-Control-Max-Age"] = str(PREFLIGHT_S)
    return response
