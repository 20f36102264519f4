"""The page of what a display rule shows as one function: what it is made of."""

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors import Slice, select_arrivals, select_func, select_releases
from aggregate.selectors.made_rows import select_members
from dashboard.access import get_visible_project
from dashboard.export_menu import build_export_menu
from dashboard.shell import build_shell
from dashboard.views import read_page_slice


def show_made(request: HttpRequest, slug: str, row_id: str) -> HttpResponse:
    """Answers with the functions behind a row. Raises Http404 where the project's rules make none of that id."""
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    func = select_func(project.pk, row_id)
    if func is None:
        raise Http404("There is no such function.")
    now = timezone.now()
    context = {
        "project": project,
        "slice": replace(slice_, as_stored=True),  # what the links of its functions keep
        "func": func,
        "table": select_members(slice_, row_id),
        "arrivals": select_arrivals(slice_),
        "export": build_export_menu(project, slice_),
        "sandwich_link": f"{reverse('tree', args=[slug])}?{_sandwich_query(slice_, row_id)}",
        "shell": build_shell(request, project, slice_, "page", releases=select_releases(project.pk), now=now),
    }
    return render(request, "dashboard/function_made.html", context)


def _sandwich_query(slice_: Slice, row_id: str) -> str:
    return "&".join(part for part in (slice_.query(), "show=sandwich", f"func={row_id}") if part)
