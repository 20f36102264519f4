"""How long requests take, by what they ask for, and an id for each, which logs and answers to it share."""

import re
import secrets
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from django.conf import settings
from prometheus_client import Histogram

# Posts are stored in milliseconds; a heavy read may take READ_WAIT_S.
BUCKETS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REQUEST_SECONDS: Final = Histogram(
    "fieldflame_request_seconds",
    "Time from the header of a request to the start of its answer, by kind and class of status (2xx)",
    ["kind", "status"],
    buckets=BUCKETS_S,
)
# The first one that a path begins with.
KINDS: Final = (
    ("/ingest/v1/traces", "ingest"),
    ("/ingest/v1/absent", "absent"),
    ("/ingest/v1/loads", "loads"),
    ("/ingest/v1/reports", "reports"),
    ("/datadog/", "ingest"),
    ("/sentry/", "ingest"),
    ("/snippet", "snippet"),
    ("/api/", "api"),
    ("/static/", "static"),
    ("/healthz", "monitor"),
    ("/readyz", "monitor"),
    ("/metrics", "monitor"),
)
STATUSES: Final = ("2xx", "3xx", "4xx", "5xx")
ID_HEADER: Final = "X-Request-ID"
REQUEST_ID: Final = re.compile(r"[A-Za-z0-9-]{8,64}")  # nginx's has 32 digits, a UUID 36 characters


class RequestMark:
    """A request of this thread, which serves one after the other: when it began, and its id, made when it is needed."""

    __slots__ = ("_id", "began_s", "kind", "status")

    def __init__(self, environ: dict[str, Any]) -> None:  # Any: the server's own types
        self.began_s = time.perf_counter()
        self.kind = find_kind(environ["PATH_INFO"])
        self.status = "5xx"  # of a request whose answer fails to begin
        sent_id = environ.get("HTTP_X_REQUEST_ID")
        # Anybody can send the header, but a proxy replaces it.
        self._id = sent_id if sent_id and settings.BEHIND_PROXY and REQUEST_ID.fullmatch(sent_id) else ""
        _present.set(self)

    @property
    def id(self) -> str:
        """The id that a proxy in front gave the request, else one of its own."""
        if not self._id:
            self._id = secrets.token_hex(8)
        return self._id

    def begin(self, start_response: Callable[..., Any]) -> Callable[..., Any]:  # Any: as above
        """Returns a `start_response` that notes the status, and tells the id to who got an error."""

        def noted(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            self.status = f"{status[0]}xx"
            if status[0] in "45":
                headers = [*headers, (ID_HEADER, self.id)]
            return start_response(status, headers, *more)

        return noted

    def end(self) -> None:
        """Counts the request: its answer has begun."""
        REQUEST_SECONDS.labels(self.kind, self.status).observe(time.perf_counter() - self.began_s)


_present: Final[ContextVar[RequestMark | None]] = ContextVar("request", default=None)


def present_request() -> RequestMark | None:
    """Returns the request that this thread serves, or served last."""
    return _present.get()


def find_kind(path: str) -> str:
    """Returns the kind of what a path asks for; a page unless it is something else."""
    if path.startswith("//"):
        path = "/" + path.lstrip("/")
    for start, kind in KINDS:
        if path.startswith(start):
            return kind
    return "page"


def begin_series() -> None:
    """Makes the series of what every server answers, so that the first of each is seen as a rise."""
    for kind in {kind for _, kind in KINDS} | {"page"}:
        for status in STATUSES:
            REQUEST_SECONDS.labels(kind, status)
