"""The way to the endpoint, straight from the web server.

Django's handler, its request, its signals and its chain of middleware cost more than storing a trace.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from http.client import responses
from typing import Any, Final

from ingest.deadline import release_connection
from ingest.endpoint.client_reports import take_absence
from ingest.endpoint.requests import IngestRequest, read_request
from ingest.endpoint.responses import IngestResponse, answer_fault
from ingest.endpoint.slow_bodies import TimedBody, end_slow
from ingest.endpoint.views import take_traces

logger = logging.getLogger(__name__)

View = Callable[[IngestRequest], IngestResponse]
ENDPOINTS: Final[Mapping[str, View]] = {"/ingest/v1/traces": take_traces, "/ingest/v1/absent": take_absence}


def answer_environ(view: View, environ: Mapping[str, Any], start_response: Any) -> Iterable[bytes]:  # Any: the server's
    """Answers a request of the web server. Whatever fails is logged, and answered as the contract says."""
    try:
        answer = view(read_request(environ))
    except Exception:
        logger.exception("The endpoint failed.")
        answer = answer_fault()
    finally:
        release_connection()
    status = f"{answer.status} {responses.get(answer.status, '')}"
    body = environ["wsgi.input"]
    if isinstance(body, TimedBody) and body.error is not None:
        return end_slow(body.error, status, answer.headers, answer.content, start_response)
    start_response(status, answer.headers)
    return [answer.content]
