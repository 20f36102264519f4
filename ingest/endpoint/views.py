"""The endpoint, straight from the web server: `POST /ingest/v1/traces`, and the addresses beside it.

Django's handler, its request, its signals and its chain of middleware cost more than storing a trace.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from http.client import responses
from typing import Any, Final

from django.conf import settings

from ingest.deadline import release_connection
from ingest.endpoint.absences import take_absence
from ingest.endpoint.datadog import take_datadog
from ingest.endpoint.loads import take_load
from ingest.endpoint.parsing import NDJSON_TYPES, ParsedBody, parse_body, parse_compiled
from ingest.endpoint.posts import take_posted
from ingest.endpoint.reports import take_reports
from ingest.endpoint.requests import (
    IngestRequest,
    expanded,
    is_gzip,
    key_in,
    read_bounded,
    read_request,
    skip_body,
)
from ingest.endpoint.responses import (
    IngestResponse,
    answer_fault,
    answer_preflight,
    answer_unknown_address,
    answer_wrong_method,
)
from ingest.endpoint.sentry import take_sentry
from ingest.endpoint.slow_bodies import TimedBody, end_slow
from ingest.limits import envelope_limits
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


def take_traces(post: IngestRequest) -> IngestResponse:
    """Accepts envelopes by the ingest contract (docs/ingest.md) and answers 202 once they are durable."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers)
    if post.method != "POST":
        return answer_wrong_method()
    return take_posted(post, key_in(post.query), read_envelopes)


@contextmanager
def read_envelopes(post: IngestRequest, key: KeyConfig) -> Iterator[ParsedBody]:
    """Reads a body, and yields its envelopes. Raises `TraceError`."""
    check_media(post)
    sent = read_bounded(post.stream, declared=post.length, max_bytes=settings.INGEST_MAX_BODY_BYTES)
    if post.coding in GZIP_CODINGS and sent and not is_gzip(sent):
        raise TraceError(Reason.INVALID_GZIP, "$", "The body is not the gzip that Content-Encoding promises.")
    large, most = settings.INGEST_LARGE_BODY_BYTES, settings.INGEST_MAX_EXPANDED_BYTES
    limits = envelope_limits()
    compiled = parse_compiled(sent, content_type=post.media_type, limits=limits, max_bytes=min(large, most))
    with nullcontext(sent) if compiled else expanded(sent, large_bytes=large, max_bytes=most) as body:
        yield compiled or parse_body(
            sent,
            body,
            content_type=post.media_type,
            limits=limits,
            max_envelopes=settings.INGEST_MAX_ENVELOPES,
        )


def check_media(post: IngestRequest) -> None:
    """Raises `TraceError` if the headers promise a body that the endpoint does not read."""
    if post.media_type not in CONTENT_TYPES:
        detail = "Send text/plain, application/json or application/x-ndjson, gzip or not."
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", detail)
    if post.coding not in CODINGS:
        raise TraceError(Reason.UNSUPPORTED_MEDIA, "$", "The only Content-Encoding taken is gzip.")


ENDPOINTS: Final[Mapping[str, View]] = {
    "/ingest/v1/traces": take_traces,
    "/ingest/v1/absent": take_absence,
    "/ingest/v1/loads": take_load,
    "/ingest/v1/reports": take_reports,
}
# Other SDKs write further parts of the address themselves.
SDK_ENDPOINTS: Final[Mapping[str, View]] = {"datadog": take_datadog, "sentry": take_sentry}


def find_endpoint(path: str) -> View | None:
    """Returns what answers a path of the endpoint; None for any other path.

    A proxy or a framework in between may add a slash at the end, or double the first one. A wrong address below
    `/ingest/` is answered here too: a page's script can read only an answer with CORS headers.
    """
    if (view := ENDPOINTS.get(path)) is not None:
        return view
    first, slash, rest = path.lstrip("/").partition("/")
    if rest and (view := SDK_ENDPOINTS.get(first)) is not None:
        return view
    if first != "ingest" or not slash:
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
