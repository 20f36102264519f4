"""The addresses of pages: reads a page's slice from its address, and writes query strings for links."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict

from aggregate.selectors.slice.slices import DISPLAY, FINE_FIELDS, SLICE_FIELDS, Slice, resolve_slice
from dashboard.web.params import EVERY_FUNCTION, Narrowing, read_narrowing, read_slice_query
from projects.models import Project


def read_page_slice(request: HttpRequest, project: Project) -> Slice:
    """Returns the slice in a page's address. Unknown parameters are ignored; empty ones, as forms send them, mean all.

    One field may hold several tags, separated by spaces.
    """
    params = QueryDict(mutable=True)
    for field in (*SLICE_FIELDS, *FINE_FIELDS, DISPLAY):
        params.setlist(field, [value for value in request.GET.getlist(field) if value])
    params.setlist("tag", [tag for value in params.getlist("tag") for tag in value.split()])
    return resolve_slice(project.pk, read_slice_query(params))


def make_query(slice_: Slice, narrowing: Narrowing = EVERY_FUNCTION, **more: str) -> str:
    """Returns the query string of a slice, of the functions shown, and of further parameters."""
    return write_query([*slice_.params(), *narrowing.params(), *more.items()])


def read_page_narrowing(params: QueryDict) -> Narrowing:
    """Returns the category and the search in a page's address; empty ones mean all."""
    filled = QueryDict(mutable=True)
    for name in ("category", "q"):
        filled.setlist(name, [value for value in params.getlist(name) if value])
    return read_narrowing(filled)


def write_query(pairs: Sequence[tuple[str, str]] | Mapping[str, str]) -> str:
    """Returns parameters, which may be repeated, as a query string."""
    return urlencode(pairs, safe="/:")
