"""The list of projects: script + hidden time per view, its trend, and the change of the last release."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.project.summaries import (
    ProjectDay,
    ProjectSummary,
    select_project_days,
    select_project_summaries,
)
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.verdict_text import describe_verdict
from dashboard.pages.overview.view import choose_last_sides
from dashboard.web.access import get_visible_project, may_create_projects, reader_projects
from dashboard.web.decorators import private_page, private_part, project_page
from dashboard.web.verdicts import MAX_RELEASES, answer_verdict
from projects.models import Project

SHOWN_DAYS: Final = 30
DAY_WIDTH: Final = 4
SPARK_HEIGHT: Final = 28
SPARK_MARGIN: Final = 3  # so that a line's own width is not cut


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Script + hidden time per view by day.

    A path is a run of days with views; single days and the last day are dots.
    """

    width: int
    height: int
    paths: Sequence[str]
    dots: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProject:
    """One row of the list. `views` and `busy_us` are of the days shown."""

    project: Project
    summary: ProjectSummary
    views: int
    busy_us: int
    sparkline: Sparkline | None


@private_page
def show_projects(request: HttpRequest) -> HttpResponse:
    of_reader = list(reader_projects(request.user))
    visible = [project for project in of_reader if project.deletion_started_at is None]
    is_whole = request.GET.get("archived") == "1"
    archived_count = sum(project.archived_at is not None for project in visible)
    projects = [project for project in visible if is_whole or project.archived_at is None]
    ids = [project.pk for project in projects]
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=SHOWN_DAYS - 1)
    summaries, days = select_project_summaries(ids), select_project_days(ids, since)
    rows = [list_project(project, summaries[project.pk], days.get(project.pk, ()), since) for project in projects]
    context = {
        "rows": rows,
        "shown_days": SHOWN_DAYS,
        "may_create": may_create_projects(request.user),
        "archived_count": archived_count,
        "is_whole": is_whole,
        "deleting": [project for project in of_reader if project.deletion_started_at is not None],
    }
    return render(request, "dashboard/projects/page.html", context)


@private_part
def show_deleting(request: HttpRequest) -> HttpResponse:
    """Shows how far the deletions of projects are: a part of the list, empty once all are done."""
    deleting = reader_projects(request.user).exclude(deletion_started_at=None)
    if not deleting:
        return HttpResponse('<p id="deleting" role="status">The project is deleted.</p>')
    return render(request, "dashboard/projects/_deleting.html", {"deleting": deleting})


@project_page(
    kind="part",
    name="last-change",
    path="last-change/",
    heavy="yes",
    on_replica=True,
)
def show_last_change(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the change of a project's last release: a part of the list."""
    project = get_visible_project(request.user, slug)
    by_release = select_overview(Slice(project_id=project.pk), ["release"], limit=MAX_RELEASES)
    sides = choose_last_sides(Slice(project_id=project.pk), by_release, select_releases(project.pk))
    context = describe_verdict(project, None if sides is None else answer_verdict(sides.base, sides.head))
    return render(request, "dashboard/projects/_last_change.html", context)


def list_project(
    project: Project, summary: ProjectSummary, days: Sequence[ProjectDay], since: datetime
) -> ListedProject:
    """Returns a project's row. `days` are its days from `since` on, in order."""
    sparkline = draw_sparkline(days, since.date()) if days else None
    return ListedProject(
        project=project,
        summary=summary,
        views=sum(day.views for day in days),
        busy_us=sum(day.busy_us for day in days),
        sparkline=sparkline,
    )


def draw_sparkline(days: Sequence[ProjectDay], first_on: date) -> Sparkline:
    """Returns the line of script + hidden time per view, from zero to the highest day."""
    highest = max(day.busy_us / day.views for day in days) or 1.0
    room = SPARK_HEIGHT - 2 * SPARK_MARGIN
    runs: list[list[tuple[str, str]]] = []
    last_on: date | None = None
    for day in days:
        x = SPARK_MARGIN + DAY_WIDTH * (day.on - first_on).days
        place = (str(x), f"{SPARK_MARGIN + room * (1 - day.busy_us / day.views / highest):.1f}")
        if last_on is None or (day.on - last_on).days > 1:
            runs.append([])
        runs[-1].append(place)
        last_on = day.on
    paths = ["M" + " L".join(f"{x} {y}" for x, y in run) for run in runs if len(run) > 1]
    dots = [run[0] for run in runs if len(run) == 1]
    if last_on is not None and len(runs[-1]) > 1:
        dots.append(runs[-1][-1])
    return Sparkline(DAY_WIDTH * (SHOWN_DAYS - 1) + 2 * SPARK_MARGIN, SPARK_HEIGHT, paths, dots)
