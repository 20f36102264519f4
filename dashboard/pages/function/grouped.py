"""The page of a group that a display rule shows as one function: its functions."""

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.functions.calls import select_func
from aggregate.selectors.functions.grouped_rows import select_members
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.export_menu import build_export_menu
from dashboard.layout.shell import build_shell
from dashboard.web.access import get_visible_project
from dashboard.web.queries import read_page_slice


def show_grouped_row(request: HttpRequest, slug: str, row_id: str) -> HttpResponse:
    """Shows the functions of a group. Raises Http404 if the project's rules have no group of that id."""
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
        "export": build_export_menu(project, slice_, func=func.label),
        "sandwich_link": f"{reverse('flame-graph', args=[slug])}?{_sandwich_query(slice_, row_id)}",
        "shell": build_shell(request, project, slice_, "functions", releases=select_releases(project.pk), now=now),
    }
    return render(request, "dashboard/function/grouped.html", context)


def _sandwich_query(slice_: Slice, row_id: str) -> str:
    return "&".join(part for part in (slice_.query(), "show=sandwich", f"func={row_id}") if part)
