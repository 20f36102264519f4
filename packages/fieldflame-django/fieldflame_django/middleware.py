"""Sends `Document-Policy: js-profiling` on a share of the HTML responses, and announces it on each of them.

The header alone may cost a page some per cent of its processor time, also where nothing is recorded. So it is sent on a
share of the views only. The snippet reads by Server-Timing whether a page has it, and what the share is.
"""

import math
import random
import re
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Final, cast
from urllib.parse import quote

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase

POLICY: Final = "js-profiling, js-profiling-mode=lazy"
HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
# A page that a view decided on itself: js-profiling with or without a value, among other names.
DIRECTIVE: Final = re.compile(r"(?:^|,)[ \t]*js-profiling(?:=(?P<value>[^,;]*))?[ \t]*(?=[,;]|$)")
CONVERTER: Final = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")
REGEX_SIGNS: Final = frozenset("^$\\(")
DEFAULT_RATE: Final = 0.1  # of the pages; the others cost nothing

Answer = Callable[[HttpRequest], HttpResponseBase]
AsyncAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class FieldflameMiddleware:
    """Put it first in MIDDLEWARE: a page from Django's cache then gets a draw of its own.

    It reads `FIELDFLAME_HEADER_RATE` (0 to 1, 0.1 if unset) and `FIELDFLAME_RELEASE`. With `DEBUG` it does nothing,
    unless `FIELDFLAME_HEADER_IN_DEBUG` is true: DevTools shows "Profiling Overhead" on pages with the header.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Answer | AsyncAnswer) -> None:
        if settings.DEBUG and not getattr(settings, "FIELDFLAME_HEADER_IN_DEBUG", False):
            raise MiddlewareNotUsed("DEBUG is on, and FIELDFLAME_HEADER_IN_DEBUG is not.")
        self.get_response = get_response
        self.rate = read_rate(getattr(settings, "FIELDFLAME_HEADER_RATE", DEFAULT_RATE))
        self.release = str(getattr(settings, "FIELDFLAME_RELEASE", "") or "")
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self.answer_later(request)
        response = cast("Answer", self.get_response)(request)
        self.mark(request, response)
        return response

    async def answer_later(self, request: HttpRequest) -> HttpResponseBase:
        """Does the same where the view, or what is between, is async."""
        response = await cast("AsyncAnswer", self.get_response)(request)
        self.mark(request, response)
        return response

    def mark(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Adds the headers to a page. Redirects and everything that is not HTML stay as they are."""
        if not is_page(response):
            return
        policy = response.headers.get("Document-Policy", "")
        directive = DIRECTIVE.search(policy)
        if directive is not None:  # a view has decided for all its pages
            is_on = directive["value"] in (None, "?1")
            rate = 1.0 if is_on else 0.0
        else:
            is_on, rate = random.random() < self.rate, self.rate  # noqa: S311  # a draw, no secret
            if is_on:
                response.headers["Document-Policy"] = f"{policy}, {POLICY}" if policy.strip() else POLICY
        metric = announce(rate=rate, is_on=is_on, release=self.release, page=find_page(request))
        timing = response.headers.get("Server-Timing", "")
        response.headers["Server-Timing"] = f"{timing}, {metric}" if timing.strip() else metric


def read_rate(rate: object) -> float:
    """Returns the share of pages. Raises Django's `ImproperlyConfigured` unless it is a number from 0 to 1."""
    if isinstance(rate, (int, float)) and not isinstance(rate, bool) and math.isfinite(rate) and 0 <= rate <= 1:
        return float(rate)
    raise ImproperlyConfigured(f"FIELDFLAME_HEADER_RATE must be a number from 0 to 1, not {rate!r}.")


def is_page(response: HttpResponseBase) -> bool:
    """Returns whether a browser makes a document of a response."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind in HTML_TYPES and not 300 <= response.status_code < 400


def announce(*, rate: float, is_on: bool, release: str, page: str) -> str:
    """Returns the metric of Server-Timing. Texts are percent-encoded, so they hold neither quotes nor semicolons."""
    parts = [f"rate={Decimal(str(rate)):f}", f"on={int(is_on)}"]
    if release:
        parts.append(f"release={quote(release, safe='')}")
    if page:
        parts.append(f"page={quote(page, safe='/:')}")
    return f'ff;desc="{";".join(parts)}"'


def find_page(request: HttpRequest) -> str:
    """Returns the route that a request was resolved to, such as `/product/:id`; empty without one."""
    match = getattr(request, "resolver_match", None)
    route = getattr(match, "route", None)
    if match is None or route is None:
        return ""
    if REGEX_SIGNS & set(route):
        from django.contrib.admindocs.views import simplify_regex

        route = simplify_regex(route)
    return "/" + CONVERTER.sub(r":\1", route).lstrip("/")
