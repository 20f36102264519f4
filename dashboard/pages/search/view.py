"""The search: a page of its own, which works without JavaScript, and the results that the palette fetches."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from aggregate.selectors.slice.slices import Slice, SliceError
from dashboard.layout.shell import Shell, build_tabs
from dashboard.pages.search.results import OTHER_WAYS, Search, select_groups
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.params import MAX_SEARCH, ParamError, read_one
from dashboard.web.queries import read_page_slice
from projects.models import Project


@project_page(name="project-search", path="search/")
def show_search(request: HttpRequest, slug: str | None = None) -> HttpResponse:
    search = read_search(request, slug)
    groups = select_groups(search, with_acts=False)
    context = {
        "search": search,
        "project": search.project,
        "shell": Shell(build_tabs(search.project, search.slice_), None) if search.project else None,
        "groups": groups,
        "has_found": any(group.key != OTHER_WAYS for group in groups),
        "kept": search.slice_.params() if search.slice_ else (),
        "max_search": MAX_SEARCH,
    }
    return render(request, "dashboard/search/page.html", context)


@project_page(kind="part", name="project-search-results", path="search/results/")
def show_search_results(request: HttpRequest, slug: str | None = None) -> HttpResponse:
    search = read_search(request, slug)
    return render(request, "dashboard/search/_results.html", {"groups": select_groups(search, with_acts=True)})


def read_search(request: HttpRequest, slug: str | None) -> Search:
    """Reads `find`, and the slice of the page that the search was opened on. Raises Http404 and `ParamError`."""
    project = get_visible_project(request.user, slug) if slug is not None else None
    text = read_one(request.GET, "find", "").replace("\0", "").strip()
    if len(text) > MAX_SEARCH:
        raise ParamError("find", f"find must have at most {MAX_SEARCH} characters, not {len(text)}.")
    return Search(request.user, text, project, _read_slice(request, project) if project else None)


def _read_slice(request: HttpRequest, project: Project) -> Slice:
    """Returns the slice that links keep: all, if the page's address has none that can be read."""
    try:
        return read_page_slice(request, project)
    except SliceError:
        return Slice(project_id=project.pk)
