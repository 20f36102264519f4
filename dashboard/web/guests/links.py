"""Shared links as a request brings them: what they are worth now, and how often a client may guess."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render

from dashboard.web.access import visible_projects
from dashboard.web.logins.visitors import name_network
from dashboard.web.unavailable import API_PATH
from projects.models import SharedLink
from projects.shared_links import find_shared_link, note_use

Answer = TypeVar("Answer", bound=HttpResponseBase)
MINUTE_S: Final = 60
# reason → status, and what the page says
REFUSALS: Final = {
    "unknown": (404, "This link is not valid, or it is incomplete. Open the whole link that was sent to you."),
    "busy": (429, "Too many wrong links came from your network. Try again in a minute."),
    "revoked": (410, "This link was revoked. Ask the person who sent it for a new one."),
    "expired": (410, "This link has expired. Ask the person who sent it for a new one."),
    "lost": (410, "This link has ended: the person who created it can no longer read the project."),
    "archived": (410, "This link does not work at the moment: the project is archived."),
    "off": (410, "This link has ended: sharing is switched off on this server."),
    "closed": (404, "This page is not part of what was shared with you."),
    "filter": (404, "This filter is not part of what was shared with you."),
    "method": (405, "A shared link can only be used to read."),
}


@dataclass(frozen=True, slots=True)
class LinkRefused(Exception):
    """A link, or an address below it, is refused; `reason` is a key of `REFUSALS`."""

    reason: str


def read_link(request: HttpRequest, clear: str) -> SharedLink:
    """Returns the live link with this clear text, and notes its use. Raises `LinkRefused`."""
    now = datetime.now(UTC)
    failures = f"shared-link-failures:{name_network(request)}"
    if cache.get(failures, 0) >= settings.SHARED_LINK_FAILURES:
        raise LinkRefused("busy")
    link = find_shared_link(clear)
    if link is None and not clear:
        raise LinkRefused("unknown")  # no guess, but a visitor without the cookie
    if link is None:
        cache.add(failures, 0, MINUTE_S)
        with suppress(ValueError):  # it expired just now
            cache.incr(failures)
        raise LinkRefused("unknown")
    if ended := find_end(link, now):
        raise LinkRefused(ended)
    note_use(link, now)
    return link


def find_end(link: SharedLink, now: datetime) -> str:
    """Returns why a link has ended, "" if it is live."""
    if not settings.SHARED_LINK_MAX_DAYS:
        return "off"
    if link.revoked_at is not None:
        return "revoked"
    if link.expires_at <= now:
        return "expired"
    if link.project.archived_at is not None:
        return "archived"
    has_access = link.creator.is_active and visible_projects(link.creator).filter(pk=link.project_id).exists()
    return "" if has_access else "lost"


def refuse(request: HttpRequest, reason: str) -> HttpResponse:
    """Returns the answer to a request by a link that is refused. It is not logged: its path may be a link's secret."""
    status, detail = REFUSALS[reason]
    response: HttpResponse
    if request.path_info.startswith(API_PATH):
        response = JsonResponse({"detail": detail}, status=status)
    else:
        response = render(request, "dashboard/shared/refused.html", {"detail": detail, "reason": reason}, status=status)
    if "HX-Request" in request.headers and status == REFUSALS["expired"][0]:
        response["HX-Refresh"] = "true"  # a part of an open page: the page itself says why
    if reason == "busy":
        response["Retry-After"] = str(MINUTE_S)
    # The mark is Django's own.
    response._has_been_logged = True  # type: ignore[attr-defined]  # not in the stubs
    return protect(response)


def protect(response: Answer) -> Answer:
    """Keeps an answer to a guest out of caches and search engines, and its address out of other sites' logs."""
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response
