"""The overview of a project: the change of the last release, time per view, pages, and the state of its data."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.overview import Overview, OverviewRow, select_overview
from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.project.summaries import Status, select_status
from aggregate.selectors.project.trends import DEFAULT_LINES, estimate_pages
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.page_changes import VERDICT_MEASURE
from aggregate.selectors.verdict.verdict import Verdict
from dashboard.layout.export_menu import build_export_menu
from dashboard.layout.measures import TIME_WORDS
from dashboard.layout.shell import build_shell
from dashboard.layout.verdict_text import describe_changed_releases, describe_verdict
from dashboard.pages.overview.alerted import Mark, describe_alerts, list_marks
from dashboard.pages.overview.changes import describe_page_changes, link_comparison, read_measure
from dashboard.pages.overview.first_visit import answer_first_visit
from dashboard.pages.quality.view import explain_reasons
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import EVERY_FUNCTION, read_choice, read_count
from dashboard.web.project_pages import Tab
from dashboard.web.queries import make_query, read_page_narrowing, read_page_slice
from dashboard.web.verdicts import MAX_RELEASES, ChosenSides, answer_verdict, choose_sides, find_first_culprit
from ingest.storage.groups import OTHER
from profcore.stats.joining import MIN_COMPARED_VIEWS
from profcore.stats.summaries import MIN_VIEWS
from profcore.stats.trends import BucketMean
from profcore.stats.views import Measure
from projects.models import Project

US_PER_MS: Final = 1_000
MAX_MARKS: Final = 12  # in the chart; more names would cover each other
MAX_DAYS: Final = 10_000
SHOWN_DAYS: Final = 60
TOP_PAGES: Final = 10  # with intervals, from about 400 views of each
MAX_PAGES: Final = 10_000  # that are sorted
MAX_TOP_PAGES: Final = 100
PAGE_SORTS: Final = ("per_view", "total")
CHART: Final = ("measure", "lines")  # the parameters of the chart


@project_page(
    name="overview",
    path="",
    tab=Tab(label="Overview", key="o"),
    heavy="yes",
    on_replica=True,
    for_guests="open",
    is_saveable=True,
)
@answer_unchanged
def show_overview(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the overview, or how to send the first trace to a project that has none."""
    project = get_visible_project(request.user, slug)
    status = select_status(project.pk)
    releases = select_releases(project.pk)
    if not status.folded and not any(row.views for row in releases):  # sums are kept longer than the counts of traces
        return answer_first_visit(request, project, status)
    slice_ = read_page_slice(request, project)
    measure = read_measure(request)
    kept = list(keep_params(request, *CHART, "sort", "limit").items())
    context = {
        "project": project,
        "slice": slice_,
        "may_import": may_administer(request.user, project),
        "shell": build_shell(request, project, slice_, "overview", releases=releases, now=timezone.now(), kept=kept),
        "arrivals": select_arrivals(slice_),
        "functions_link": f"{reverse('functions', args=[slug])}?{make_query(slice_, read_page_narrowing(request.GET))}",
        "export": build_export_menu(project, slice_),
        "measure": measure,
        "measure_word": TIME_WORDS[measure],
        **describe_status(status),
        **describe_releases(request, project, slice_, releases),
        **describe_chart(request, project, slice_, measure),
        "chart_marks": write_marks(slice_, releases, list_marks(request, project)),
        **describe_alerts(request, project),
        **describe_pages(request, project, slice_, measure),
    }
    return render(request, "dashboard/overview/page.html", context)


def keep_params(request: HttpRequest, *names: str, **changed: str) -> dict[str, str]:
    """Returns the named parameters of the address with some `changed`, for a link that keeps how the page is shown."""
    kept = {name: request.GET.get(name, "") for name in names} | changed
    return {name: value for name, value in kept.items() if value}


def describe_status(status: Status) -> dict[str, object]:
    """Returns how many traces are received, pending, folded, rejected and refused."""
    return {
        "status": status,
        "oldest_pending_at": find_oldest_pending(status, timezone.now()),
        "refused": explain_reasons(status.refused_by_reason),
    }


def describe_releases(
    request: HttpRequest, project: Project, slice_: Slice, releases: Sequence[ReleaseRow]
) -> dict[str, object]:
    """Returns the slice's releases and days, and the verdict on its last release with links to the comparison."""
    by_release = select_overview(slice_, ["release"], limit=MAX_RELEASES)
    sides = choose_last_sides(slice_, by_release, releases)
    verdict = None if sides is None else answer_verdict(sides.base, sides.head)
    context = {
        "by_release": by_release,
        "passed_over": sides.passed_over if sides is not None else (),
        "min_views": MIN_VIEWS,
        "releases": link_releases(request, slice_, by_release),
        "newer": list_newer(by_release, verdict, releases),
        "by_day": select_overview(slice_, ["day"], limit=MAX_DAYS).rows[-SHOWN_DAYS:],
        **describe_verdict(project, verdict),
    }
    if verdict is None:
        return context
    base, head = verdict.base.releases[0], verdict.head.releases[0]
    whole = without_fine(slice_)
    # The buttons below the sentence and the change by device are about the page that it names.
    page = verdict.leading.page
    leading = replace(whole, pages=(page,)) if page else whole
    return {
        **context,
        **describe_changed_releases(verdict.base, verdict.head, request.user),
        "changes_link": link_comparison("changes", project, whole, base, head),
        "has_late_forced": find_first_culprit(verdict) is not None,
        "forced_link": link_comparison("change-forced", project, whole, base, head),
        "compare_link": link_comparison("compare", project, whole, base, head),
        "parts_link": link_comparison("change-parts", project, leading, base, head),
        "lead_compare_link": link_comparison("compare", project, leading, base, head),
        "lead_tree_link": link_comparison("flame-graph", project, leading, base, head),
        **describe_page_changes(project, whole, verdict, base, head),
    }


def find_oldest_pending(status: Status, now: datetime) -> datetime | None:
    """Returns when the oldest pending trace was received. The script shows its age: the page need not change."""
    return None if status.oldest_pending_s is None else now - timedelta(seconds=round(status.oldest_pending_s))


def choose_last_sides(slice_: Slice, by_release: Overview, releases: Sequence[ReleaseRow]) -> ChosenSides | None:
    """Returns the slice's last release and its base; None if there is no release before it."""
    return choose_sides(without_fine(slice_), QueryDict(), newest=by_release, known=releases)


def link_releases(
    request: HttpRequest, slice_: Slice, by_release: Overview
) -> list[tuple[OverviewRow, str, float | None]]:
    """Returns the slice's releases, each with a link to its overview, and its script + hidden time per view, ms."""
    narrowing = read_page_narrowing(request.GET)
    kept = keep_params(request, *CHART)
    return [
        (
            row,
            f"{request.path}?{make_query(replace(slice_, releases=(row.release or '',)), narrowing, **kept)}",
            _time_us(row, VERDICT_MEASURE) / US_PER_MS / row.views if row.views else None,
        )
        for row in by_release.rows
    ]


def list_newer(by_release: Overview, verdict: Verdict | None, releases: Sequence[ReleaseRow]) -> list[OverviewRow]:
    """Returns the releases that are newer than the verdict's and have too few views so far, here or in the project."""
    head = verdict.head.releases[0] if verdict else None
    if head not in [row.release for row in by_release.rows]:
        return []
    newer = takewhile(lambda row: row.release != head, by_release.rows)
    counted = {row.release for row in releases if row.is_comparable}
    few = [row for row in newer if row.views < MIN_COMPARED_VIEWS or row.release not in counted]
    return [row for row in few if row.release != OTHER and row.views]


def describe_chart(request: HttpRequest, project: Project, slice_: Slice, measure: Measure) -> dict[str, object]:
    """Returns the address of the chart's data, and the links that change the chart."""
    lines = read_choice(request.GET, "lines", ("release", "none"), "release")
    whole = replace(without_fine(slice_), as_stored=False)
    chart_params = {"measure": measure, "by": lines, "limit": str(DEFAULT_LINES)}
    narrowing = read_page_narrowing(request.GET)
    address = reverse("overview", args=[project.slug])

    def link(**changed: str) -> str:
        kept = keep_params(request, *CHART, "sort", **changed)
        more = {name: value for name, value in kept.items() if (name, value) not in DEFAULTS}
        query = make_query(slice_, narrowing, **more)
        return f"{address}?{query}" if query else address

    return {
        "trend_url": f"{reverse('api-trend', args=[project.slug])}?{make_query(whole, EVERY_FUNCTION, **chart_params)}",
        "lines": lines,
        "line_limit": DEFAULT_LINES,
        "measure_links": [(word, link(measure=name), name == measure) for name, word in MEASURE_TABS],
        "line_links": [(word, link(lines=name), name == lines) for name, word in LINE_TABS],
    }


def write_marks(slice_: Slice, releases: Sequence[ReleaseRow], changes: Sequence[Mark]) -> str:
    """Returns moments for the chart, as JSON: the first trace of each of the slice's newest releases, and changes."""
    marked = [row for row in releases if row.views and (not slice_.releases or row.release in slice_.releases)]
    marks = [(row.release, row.first_seen_at.isoformat()) for row in marked[: MAX_MARKS - len(changes)]]
    return json.dumps([*marks, *changes])


DEFAULTS: Final = (("measure", "self+hidden"), ("lines", "release"), ("sort", PAGE_SORTS[0]))
MEASURE_TABS: Final = (("self+hidden", "Script + hidden"), ("self", "Script"), ("hidden", "Hidden"))
LINE_TABS: Final = (("release", "By release"), ("none", "All releases"))


def describe_pages(request: HttpRequest, project: Project, slice_: Slice, measure: Measure) -> dict[str, object]:
    """Returns the slice's pages with the most time per view, or in all, each with its mean, its share and a link.

    Pages with too few views for an interval come after the others, unless they are sorted by their total.
    """
    narrowing = read_page_narrowing(request.GET)
    limit = read_count(request.GET, "limit", default=TOP_PAGES, high=MAX_TOP_PAGES)
    rows = select_overview(slice_, ["page"], limit=MAX_PAGES).rows
    sort = read_choice(request.GET, "sort", PAGE_SORTS, PAGE_SORTS[0])
    every = sorted((row for row in rows if row.views), key=lambda row: _order_of_page(row, measure, sort))
    listed = every[:limit]
    means: Sequence[BucketMean] = estimate_pages(slice_, listed, measure=measure) if listed else []
    whole_us = sum(_time_us(row, measure) for row in every)
    links = [
        f"{reverse('functions', args=[project.slug])}?{make_query(slice_, narrowing, page=row.page or '')}"
        for row in listed
    ]
    shares = [_time_us(row, measure) / whole_us if whole_us else None for row in listed]

    def link(**changed: str) -> str:
        return (
            f"{request.path}?{make_query(slice_, narrowing, **keep_params(request, *CHART, 'sort', **changed))}#pages"
        )

    return {
        "pages": list(zip(listed, means, shares, links, strict=True)),
        "page_count": len(every),
        "all_pages_link": link(limit=str(MAX_TOP_PAGES)),
        "page_sort": sort,
        "page_sort_links": {name: link(sort=name) for name in PAGE_SORTS},
    }


def _order_of_page(row: OverviewRow, measure: Measure, sort: str) -> tuple[bool, float]:
    us = _time_us(row, measure)
    return (False, -us) if sort == "total" else (row.views < MIN_VIEWS, -us / row.views)


def without_fine(slice_: Slice) -> Slice:
    """Returns the slice without its filters by view, trace, tag and function, which this page ignores."""
    return replace(slice_, views=(), traces=(), tags=(), func_over=())


def _time_us(row: OverviewRow, measure: Measure) -> int:
    return {"self": row.time.js_us, "hidden": row.time.hidden_us}.get(measure, row.time.js_us + row.time.hidden_us)
