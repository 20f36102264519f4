"""The two ways to the door: straight from the web server, and through Django.

The web server's requests go straight to it: Django's handler, its request, its signals and its chain of middleware cost
more than storing a trace. Whatever else calls Django, as tests do, gets the same answers through `DoorMiddleware`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from http.client import responses
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from ingest.door.absent import take_absence
from ingest.door.answers import Answer, answer_fault
from ingest.door.posts import Post, read_post
from ingest.door.views import take_traces
from ingest.patience import release_connection
from ingest.slow_bodies import TimedBody, end_slow

logger = logging.getLogger(__name__)

View = Callable[[Post], Answer]
DOORS: Final[Mapping[str, View]] = {"/ingest/v1/traces": take_traces, "/ingest/v1/absent": take_absence}


def answer_environ(view: View, environ: Mapping[str, Any], start_response: Any) -> Iterable[bytes]:  # Any: the server's
    """Answers a request of the web server. Whatever fails is logged, and answered as the contract says."""
    try:
        answer = view(read_post(environ))
    except Exception:
        logger.exception("The door failed.")
        answer = answer_fault()
    finally:
        release_connection()
    status = f"{answer.status} {responses.get(answer.status, '')}"
    body = environ["wsgi.input"]
    if isinstance(body, TimedBody) and body.error is not None:
        return end_slow(body.error, status, answer.headers, answer.content, start_response)
    start_response(status, answer.headers)
    return [answer.content]


class DoorMiddleware:
    """Answers the door's paths itself, and passes on all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        view = DOORS.get(request.path_info)
        return self.get_response(request) if view is None else answer_request(view, request)


def answer_request(view: View, request: HttpRequest) -> HttpResponse:
    """Answers one of Django's requests."""
    answer = view(read_post(request.META))
    response = HttpResponse(answer.content, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        response[name] = value
    # Refusals are counted by reason; one log line for each would let anybody fill the disk. The mark is Django's own.
    response._has_been_logged = True  # type: ignore[attr-defined]  # not in the stubs
    return response


def receive_traces(request: HttpRequest) -> HttpResponse:
    """Answers a post of traces."""
    return answer_request(take_traces, request)
