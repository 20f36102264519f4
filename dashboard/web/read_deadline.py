"""A page or an answer of the read API that the database takes too long for, or is away for, says what to do."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from dashboard.web.unavailable import answer_later
from ingest.deadline import drop_silent_connection, with_deadline
from ingest.storage.group_commit import is_outage
from ingest.storage.packs.store import BodiesUnavailable

logger = logging.getLogger(__name__)

RETRY_AFTER_S = 30
OUTAGE_S = 10  # a restart of the database takes seconds


@contextmanager
def bounded_read() -> Iterator[None]:
    """Bounds how long a read waits for the database: READ_WAIT_S for all its statements. They end there too."""
    with with_deadline(settings.READ_WAIT_S, cancels=True):
        yield


class ReadDeadlineMiddleware:
    """Bounds each GET as a read (`bounded_read`). What only reads by POST, such as a preview, does so itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method not in ("GET", "HEAD"):
            return self.get_response(request)
        with bounded_read():
            return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answers a read that was given up, and any request that lost the database; passes on all other errors."""
        if isinstance(error, OperationalError) and drop_silent_connection(error):
            limit = f"The database did not answer within {settings.READ_WAIT_S} s."
            return answer_later(
                request,
                api_detail=f"{limit} Ask for less: a shorter time, one release or one page; or start a job.",
                page_detail=f"{limit} Choose less: a shorter time, one release or one page.",
                retry_after_s=RETRY_AFTER_S,
            )
        if is_outage(error):
            logger.error("A request lost the database: %s.", type(error.__cause__ or error).__name__)
            connection.close()  # the answer, or the next request, takes another one
            what = "store of raw traces" if isinstance(error, BodiesUnavailable) else "database"
            detail = f"The {what} does not answer at the moment. Try again in some seconds."
            return answer_later(
                request, api_detail=detail, page_detail=detail, retry_after_s=OUTAGE_S, title=f"The {what} is away"
            )
        return None
