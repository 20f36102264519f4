"""The addresses of saved views: only pages of their project, without its slug."""

from typing import Final
from urllib.parse import parse_qsl, urlsplit

from django.urls import Resolver404, reverse

from dashboard.web.own_address import resolve_address
from dashboard.web.params import ParamError
from dashboard.web.project_pages import find_traits
from dashboard.web.queries import write_query
from projects.models import Project, SavedView
from projects.saved_views import ViewAddress

MAX_QUERY: Final = 4_000  # as the table has it; a slice may name 500 pages, but no one saves that
MAX_PARAMS: Final = 500


def read_saved_address(project: Project, address: str) -> ViewAddress:
    """Returns a page's address as it is saved. Raises `ParamError` unless it is one of the project's own pages."""
    wrong = ParamError("address", "Only pages of this project that show its data can be saved.")
    if not address.isprintable():
        raise wrong
    try:
        parts = urlsplit(address)
        match = resolve_address(parts.path)
        pairs = parse_qsl(parts.query, max_num_fields=MAX_PARAMS)
    except (ValueError, Resolver404):
        raise wrong from None
    home = reverse("overview", args=[project.slug])
    is_of_project = not parts.scheme and not parts.netloc and parts.path.startswith(home)
    if not is_of_project or not find_traits(match).is_saveable or match.kwargs.get("slug") != project.slug:
        raise wrong
    query = write_query(pairs)
    if len(query) > MAX_QUERY:
        raise ParamError("address", f"The page has too many filters to be saved: more than {MAX_QUERY} characters.")
    return ViewAddress(parts.path.removeprefix(home), query)


def link_saved_view(project: Project, view: SavedView) -> str:
    """Returns the address of a saved view."""
    return reverse("overview", args=[project.slug]) + view.path + (f"?{view.query}" if view.query else "")
