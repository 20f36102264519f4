"""Bounds how many heavy reads a web process computes at a time: tables, call trees, comparisons and exports.

Each may take some hundred MB while it is computed, and a core. What is beyond the bound waits for a moment, and is then
answered 503 with `Retry-After`. One project may not take all places, so others' readers find one. Only a reader of the
project takes a place or waits for one.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from dashboard.web.project_pages import find_traits
from dashboard.web.unavailable import answer_later
from ingest.deadline import release_connection

# Waiting reads hold threads, and posts need some too: of 64 threads, a quarter.
MAX_WAITING: Final = 16
RETRY_AFTER_S: Final = 5


class TooManyReads(Exception):
    """No place was free in time."""


class Places:
    """The places for heavy reads of this process. One project may take all but one of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self._waiting = 0

    @contextmanager
    def take(self, project: str, *, places: int, wait_s: float) -> Iterator[None]:
        """Holds a place meanwhile. Raises `TooManyReads`. A read that waits holds no connection of the pool."""
        with self._changed:
            if not self._is_free(project, places):
                self._wait(project, places, wait_s)
            self._taken[project] += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken[project] -= 1
                self._taken += Counter()  # forgets projects that hold none
                self._changed.notify_all()

    def _is_free(self, project: str, places: int) -> bool:
        return self._taken.total() < places and self._taken[project] < max(1, places - 1)

    def _wait(self, project: str, places: int, wait_s: float) -> None:
        if self._waiting >= MAX_WAITING:
            raise TooManyReads
        release_connection()
        self._waiting += 1
        deadline_s = time.monotonic() + wait_s
        try:
            while not self._is_free(project, places):
                if not self._changed.wait(deadline_s - time.monotonic()) and time.monotonic() >= deadline_s:
                    raise TooManyReads
        finally:
            self._waiting -= 1


PLACES: Final = Places()


class LoadSheddingMiddleware:
    """Gives the place of a heavy read (`take_place`) back when its answer begins: a slow receiver keeps no place.

    An export is complete then, except for its text, which is written piece by piece.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with ExitStack() as held:
            request.held_places = held  # type: ignore[attr-defined]  # for `take_place`
            return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answers a read that found no place; passes on all other errors."""
        if not isinstance(error, TooManyReads):
            return None
        detail = "This server is computing as many large answers as it may at a time. Try again in a moment."
        return answer_later(request, api_detail=detail, page_detail=detail, retry_after_s=RETRY_AFTER_S)


def take_place(request: HttpRequest, project: str) -> None:
    """Holds a place for a heavy read until its answer begins; does nothing for any other. Raises `TooManyReads`.

    It is called once the reader is known to be one. `project` is the slug of theirs.
    """
    if find_traits(request.resolver_match).is_heavy(request):
        place = PLACES.take(project, places=settings.READ_HEAVY_AT_ONCE, wait_s=settings.READ_HEAVY_WAIT_S)
        request.held_places.enter_context(place)  # type: ignore[attr-defined]  # set by the middleware
