"""Reading by a shared link: everything below `/shared/PREFIX/` is read as a guest, and as no one else.

The guest's cookie is sent for these addresses only. All other credentials of a request are dropped there, and elsewhere
the guest's cookie counts for nothing. So who is logged in keeps their session, and neither gains from the other.
Addresses are made by Django's script prefix, so that links and fetches of pages stay below it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, get_script_prefix, resolve, reverse, set_script_prefix
from django.utils.cache import patch_vary_headers

from dashboard.web.access import Guest
from dashboard.web.guests.allowed import find_refused, may_visit
from dashboard.web.guests.links import LinkRefused, protect, read_link, refuse
from projects.shared_links import PREFIX_CHARS

AREA: Final = re.compile(rf"/(shared/([0-9a-f]{{{PREFIX_CHARS}}}))(/.+)", re.DOTALL)
LINK: Final = re.compile(r"/shared/([^/]+)/?")
LOGGED_AS: Final = "/shared/.../"  # what logs and errors say instead of a link
COOKIE: Final = "fieldflame_guest"
SAFE: Final = ("GET", "HEAD")
CREDENTIALS: Final = ("HTTP_COOKIE", "HTTP_AUTHORIZATION")


@dataclass(frozen=True, slots=True)
class Visit:
    """A request below `/shared/`: the link's prefix, what its cookie holds, and the prefix of all other addresses."""

    prefix: str
    clear: str
    outside: str


def area_of(prefix: str) -> str:
    """Returns the path below which a link is read."""
    return f"{get_script_prefix()}shared/{prefix}/"


class GuestMiddleware:
    """Makes a request below `/shared/` one of a guest, and refuses what guests may not read.

    It stands above sessions and logins, so that these find no credentials.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if link := LINK.fullmatch(request.path_info):
            return self._open(request, link.group(1))
        match = AREA.fullmatch(request.path_info)
        if match is None:
            return self.get_response(request)
        below, prefix, path = match.groups()
        outside = get_script_prefix()
        request.guest_visit = Visit(prefix, request.COOKIES.get(COOKIE, ""), outside)  # type: ignore[attr-defined]
        request.COOKIES = {}
        for name in CREDENTIALS:
            request.META.pop(name, None)
        request.path_info = path
        try:
            set_script_prefix(f"{outside}{below}/")
            response = self._answer(request)
        finally:
            set_script_prefix(outside)
        response.cookies.clear()
        protect(response)
        patch_vary_headers(response, ["Cookie"])
        return response

    def _open(self, request: HttpRequest, clear: str) -> HttpResponseBase:
        """Passes a link on with its secret out of the path, which others log: Django, and a page of an error."""
        request.shared_link = clear  # type: ignore[attr-defined]
        request.path_info = LOGGED_AS
        request.path = get_script_prefix() + LOGGED_AS.removeprefix("/")
        return self.get_response(request) if request.method in SAFE else refuse(request, "method")

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        if request.method not in SAFE:
            return self._refuse(request, "method")
        try:
            is_allowed = may_visit(resolve(request.path_info))
        except Resolver404:
            is_allowed = False
        return self.get_response(request) if is_allowed else self._refuse(request, "closed")

    def process_view(
        self, request: HttpRequest, view: Callable[..., object], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:  # Any: a view's arguments
        """Lets a guest of a live link pass, within the link's project."""
        visit: Visit | None = getattr(request, "guest_visit", None)
        if visit is None:
            return None
        try:
            link = read_link(request, visit.clear)
        except LinkRefused as error:
            return self._refuse(request, error.reason)
        if link.prefix != visit.prefix or link.project.slug != kwargs.get("slug"):
            return self._refuse(request, "closed")
        if find_refused(request.GET, link.page):
            return self._refuse(request, "filter")
        query = request.META.get("QUERY_STRING", "")
        page = visit.outside + request.path_info.removeprefix("/") + (f"?{query}" if query else "")
        login = visit.outside + reverse("login").removeprefix(get_script_prefix())
        request.user = Guest(link, f"{login}?{urlencode({'next': page})}")  # type: ignore[assignment]
        return None

    def _refuse(self, request: HttpRequest, reason: str) -> HttpResponseBase:
        """Refuses a request, with a page whose links lead out of the shared addresses."""
        set_script_prefix(request.guest_visit.outside)  # type: ignore[attr-defined]  # set above
        return refuse(request, reason)
