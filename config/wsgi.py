"""The WSGI application that granian serves."""

import os
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from ingest.endpoint.slow_bodies import BodyLimits, SlowPlaces, TimedBody, end_slow
from ops.malloc_trim import keep_trimming
from ops.preload import warm_up
from ops.telemetry.requests import RequestMark, begin_series
from ops.telemetry.tasks import PROCESSES
from ops.url_path import take_off_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_django = get_wsgi_application()
if not settings.IS_SECRET_KEPT:
    raise ImproperlyConfigured(
        "The web server needs a secret that all its processes share: set FIELDFLAME_SECRET_KEY, "
        "or FIELDFLAME_DATA to a data folder with a secret_key file, as `./run` makes one."
    )
warm_up()  # before the server listens: a request that comes meanwhile would wait for the same
begin_series()
PROCESSES.labels("web").inc()
keep_trimming()  # its thread starts here, and not in `warm_up`: that is also called before a fork

# They need Django's settings.
from ingest.endpoint.views import answer_environ, find_endpoint  # noqa: E402

_body_limits = BodyLimits(wait_s=settings.BODY_WAIT_S, bytes_per_s=settings.BODY_BYTES_PER_S)
_slow_places = SlowPlaces(
    all_places=settings.SLOW_BODIES_AT_ONCE,
    # Behind a proxy all bodies come from its address.
    places_of_address=settings.SLOW_BODIES_AT_ONCE if settings.BEHIND_PROXY else settings.SLOW_BODIES_PER_ADDRESS,
)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # Any: the server's own types
    """Serves a request, and notes how long that took."""
    if settings.URL_PATH:
        take_off_path(environ, settings.URL_PATH)
    mark = RequestMark(environ)
    try:
        return serve(environ, mark.begin(start_response))
    finally:
        mark.end()


def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # Any: as above
    """Serves a request, whose body is read within limits of time. The endpoint is asked before Django."""
    endpoint = find_endpoint(environ["PATH_INFO"])
    if endpoint is None:
        drop_charset(environ)
    if environ.get("CONTENT_LENGTH") in (None, "", "0") and "HTTP_TRANSFER_ENCODING" not in environ:
        return (
            _django(environ, start_response) if endpoint is None else answer_environ(endpoint, environ, start_response)
        )
    body = TimedBody(environ["wsgi.input"], _body_limits, _slow_places, environ.get("REMOTE_ADDR", ""))
    environ["wsgi.input"] = body
    try:
        if endpoint is not None:
            return answer_environ(endpoint, environ, start_response)
        return answer(environ, start_response, body)
    finally:
        body.leave()


def answer(environ: dict[str, Any], start_response: Any, body: TimedBody) -> Iterable[bytes]:  # Any: as above
    """Returns Django's answer. If the body was given up, the answer also ends the connection."""
    status, headers = "", list[tuple[str, str]]()

    def begin(new_status: str, fields: list[tuple[str, str]], exc_info: Any = None, /) -> Any:
        nonlocal status, headers
        status, headers = new_status, fields
        return start_response(new_status, fields)

    content = _django(environ, begin)
    if body.error is None:
        return content
    try:
        return end_slow(body.error, status, headers, b"".join(content), start_response)
    finally:
        content.close()


def drop_charset(environ: dict[str, Any]) -> None:
    """Lets Django read a request as UTF-8, whatever charset its `Content-Type` names.

    Django decodes the query with that charset before any code of ours runs, and fails for codecs such as `hex` and
    `undefined`. Then anybody could fill the log with tracebacks.
    """
    content_type = environ.get("CONTENT_TYPE", "")
    if "charset" in content_type.lower():
        parts = content_type.split(";")
        environ["CONTENT_TYPE"] = ";".join(p for p in parts if not p.strip().lower().startswith("charset"))
