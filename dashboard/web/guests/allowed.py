"""What guests may read: pages, parts of pages, endpoints and parameters. Everything else is refused.

Guests see what many page views add up to. They see no single page view, since it is one visit of one person, no raw
trace, and no text of a source.
"""

from typing import Final
from urllib.parse import unquote, urlsplit

from django.http import QueryDict
from django.urls import Resolver404, ResolverMatch, reverse

from dashboard.web.own_address import resolve_address
from dashboard.web.project_pages import find_traits
from profcore.trace.dimensions import DIMENSIONS

# Parts of a function's page. Not "views", which lists single page views.
FUNCTION_PARTS: Final = frozenset(
    {"cost", "trend", "step", "relatives", "pages", "calls", *(dimension.plural for dimension in DIMENSIONS), "days"}
)
# Filters for single page views. A tag is the sender's own word, and could be guessed value by value.
NEVER: Final = ("view", "trace", "stratify", "sources")
ONLY_OF_LINK: Final = ("tag",)
RAW: Final = "raw"  # a format of profiles


class NotShareable(Exception):
    """A page cannot be shared; the text says why."""


def may_visit(match: ResolverMatch) -> bool:
    """Returns whether guests may read an address, if it is of the project of their link."""
    if match.url_name == "function-part":
        return match.kwargs["part"] in FUNCTION_PARTS
    return find_traits(match).for_guests != "no"


def find_refused(params: QueryDict, page: str) -> str:
    """Returns the first parameter that a guest may not use, "" if there is none. `page` is what their link opens."""
    for name in NEVER:
        if any(params.getlist(name)):
            return name
    allowed = QueryDict(urlsplit(page).query)
    for name in ONLY_OF_LINK:
        if not set(_list_values(params, name)) <= set(_list_values(allowed, name)):
            return name
    return "format" if RAW in params.getlist("format") else ""


def _list_values(params: QueryDict, name: str) -> list[str]:
    """Returns the values of a field; one may hold several, separated by spaces."""
    return [word for value in params.getlist(name) for word in value.split()]


def read_shared_page(address: str, slug: str) -> str:
    """Returns the page of an address as a link keeps it: its path below the project, its query and its fragment.

    `address` may have a scheme and a host, which do not count. Raises `NotShareable`.
    """
    try:
        parts = urlsplit(address if address.isprintable() else "")
        match = resolve_address(unquote(parts.path))
    except (ValueError, Resolver404):
        raise NotShareable("This is not the address of a page.") from None
    if find_traits(match).for_guests != "open" or match.kwargs.get("slug") != slug:
        raise NotShareable("This page cannot be shared. Share the overview, functions, flame graph, or a comparison.")
    if find_refused(QueryDict(parts.query), f"?{parts.query}"):
        raise NotShareable("This page is about single page views, which cannot be shared. Remove that filter.")
    below = parts.path.removeprefix(reverse("overview", args=[slug]))
    if below.startswith("/"):  # the slug is written in another way
        raise NotShareable("This is not the address of a page.")
    return parts._replace(scheme="", netloc="", path=below).geturl()
