"""Answers from the replica, where one is set and near enough; else from the database, as everywhere else.

Who a reader is and what they may see is always read from the database. So is everything that writes, and all that an
answer to a write leads to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponseBase
from prometheus_client import Counter, Histogram

from aggregate.replica.lag import WATCH
from aggregate.replica.source import at_replica, drop_replica_connection, has_replica, open_replica
from aggregate.selectors.slice.read_context import read_context
from dashboard.web.project_pages import find_traits, only_reads
from ingest.deadline import DeadlineExceeded

HEADER: Final = "Fieldflame-Replica-Lag"
WROTE_COOKIE: Final = "fieldflame_wrote"
STEPS_S: Final = (2, 5, 10, 30, 60, 300, 900, 3_600)  # what pages say; a step is part of their ETag
SAFE: Final = ("GET", "HEAD")

SOURCES: Final = ("replica", "asked", "away", "behind", "failed")
READS: Final = Counter(
    "fieldflame_replica_reads_total",
    "Reads that the replica may answer, by who did: the replica, or the database because the reader asked for the "
    "newest (asked), or because the replica was away, too far behind, or failed (away, behind, failed)",
    ["source"],
)
LAG_SECONDS: Final = Histogram(
    "fieldflame_replica_lag_seconds",
    "How far the replica was behind at most when it was read",
    buckets=(0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
for _source in SOURCES:  # so that the first one of each is seen as a rise
    READS.labels(_source)

Response = TypeVar("Response", bound=HttpResponseBase)


@dataclass(frozen=True, slots=True)
class ReplicaRead:
    """A read of the replica: how far that was behind at most, in seconds."""

    lag_s: float

    @property
    def lag_step_s(self) -> int:
        """The lag as pages say it: the step that it lies within."""
        return next((step for step in STEPS_S if self.lag_s <= step), STEPS_S[-1])


def may_read_there(request: HttpRequest) -> bool:
    """Returns whether the replica may answer a request. Some posts only read."""
    is_read = request.method in SAFE or only_reads(request.resolver_match)
    return has_replica() and is_read and find_traits(request.resolver_match).on_replica


def answer_from_replica(request: HttpRequest, make: Callable[[], Response]) -> Response:
    """Returns what `make` returns, by statements to the replica if that is near enough, else to the database."""
    if not may_read_there(request):
        return make()
    read = choose(request)
    if read is None:
        return make()
    request.replica_read = read  # type: ignore[attr-defined]  # for templates and ETags
    is_open = False
    try:
        open_replica()
        is_open = True
        with at_replica():
            response = make()
    except (OperationalError, InterfaceError, InternalError) as error:
        drop_replica_connection()
        if is_open and isinstance(error.__cause__, DeadlineExceeded):  # it would take too long elsewhere too
            raise
        WATCH.note_fault()
        READS.labels("failed").inc()
        del request.replica_read  # type: ignore[attr-defined]
        with read_context():  # what the replica has answered so far does not count
            return make()
    READS.labels("replica").inc()
    LAG_SECONDS.observe(read.lag_s)
    response[HEADER] = f"{read.lag_s:.1f}"
    return response


def choose(request: HttpRequest) -> ReplicaRead | None:
    """Returns the read if the replica is to be read, None for the database."""
    lag_s = WATCH.find_lag_s()
    if WROTE_COOKIE in request.COOKIES or "no-cache" in request.headers.get("Cache-Control", ""):
        READS.labels("asked").inc()
        return None
    if lag_s is None or lag_s > settings.REPLICA_MAX_LAG_S:
        READS.labels("away" if WATCH.is_away else "behind").inc()
        return None
    return ReplicaRead(lag_s)


def replica_lag_s(request: HttpRequest) -> int | None:
    """Returns the step of the lag that a page says, None for an answer of the database."""
    read: ReplicaRead | None = getattr(request, "replica_read", None)
    return None if read is None else read.lag_step_s


class ReadYourWritesMiddleware:
    """Lets people who have written read the database itself, until the replica has what they wrote.

    A replica that is farther behind is not read, so a cookie for that time is enough.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: Any = self.get_response(request)  # Any: cookies are of every kind of answer
        if request.method not in SAFE and settings.SESSION_COOKIE_NAME in request.COOKIES | response.cookies:
            response.set_cookie(
                WROTE_COOKIE,
                "1",
                max_age=settings.REPLICA_MAX_LAG_S + 1,
                path=settings.SESSION_COOKIE_PATH,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        answer: HttpResponseBase = response
        return answer
