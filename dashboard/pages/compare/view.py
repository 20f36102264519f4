"""The page "Compare": two slices, function by function, and how sure each difference is.

The page comes at once and fetches the comparison as a part; with `plain=1` the comparison comes with the page.
"""

from dataclasses import replace
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.summaries import select_status
from dashboard.layout.display_line import build_display_line
from dashboard.layout.export_menu import build_export_menu
from dashboard.layout.shell import build_shell
from dashboard.layout.sides import Sides, name_side, trim_bar
from dashboard.layout.verdict_text import describe_changed_releases
from dashboard.pages.compare.chooser import build_chooser
from dashboard.pages.compare.comparison import ComparisonRequest
from dashboard.pages.compare.content import build_content
from dashboard.pages.compare.csv_file import write_csv
from dashboard.pages.compare.query import CompareQuery
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.answers import Json
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_if_changed, answer_unchanged, fingerprint_server, make_etag
from dashboard.web.exports import name_file
from dashboard.web.project_pages import Tab
from dashboard.web.queries import write_query

PART: Final = "dashboard/compare/_comparison.html"


@project_page(
    name="compare",
    path="compare/",
    tab=Tab(label="Compare", key="c"),
    heavy="plain",
    on_replica=True,
    for_guests="open",
    is_saveable=True,
    narrows="page",
)
@answer_unchanged
def show_compare(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    query = CompareQuery.read(request, project, needs_releases=True)
    if not query.releases:
        return redirect("overview", slug)  # there are the first steps
    context = _describe_query(request, query)
    if query.sides is not None and not query.sides.are_equal:
        context |= _write_links(query, query.sides)
        if query.options.is_plain:
            may_change = may_administer(request.user, query.project)
            context |= build_content(ComparisonRequest.of(query), may_change=may_change)
            context |= describe_changed_releases(query.sides.base, query.sides.head, request.user)
    return render(request, "dashboard/compare/page.html", context, status=400 if query.problem else 200)


@project_page(
    kind="part", name="compare-table", path="compare/table/", heavy="yes", on_replica=True, for_guests="fetch"
)
def show_compared(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    comparison = ComparisonRequest.of(CompareQuery.read(request, project))
    may_change = may_administer(request.user, project)
    query = comparison.query(comparison.options)
    releases = describe_changed_releases(comparison.sides.base, comparison.sides.head, request.user)
    response = answer_if_changed(
        request,
        make_etag(query, may_change, fingerprint_server(), releases, project.issue_link_template, *comparison.key),
        lambda: render(request, PART, build_content(comparison, may_change=may_change) | releases),
    )
    response["HX-Replace-Url"] = f"{reverse('compare', args=[slug])}?{query}"  # the address says what is shown
    return response


@project_page(
    name="compare-csv",
    path="compare/csv/",
    heavy="yes",
    on_replica=True,
    for_guests="fetch",
)
def download_compared(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    comparison = ComparisonRequest.of(CompareQuery.read(request, project))
    response = HttpResponse(b"".join(write_csv(comparison)), content_type="text/csv; charset=utf-8")
    name = "-".join(name_file(project, side) for side in (comparison.sides.base, comparison.sides.head))
    response["Content-Disposition"] = f'attachment; filename="compare-{name}.csv"'
    response["X-Content-Type-Options"] = "nosniff"  # names are hostile
    return response


def _describe_query(request: HttpRequest, query: CompareQuery) -> Json:
    """Returns the page around the comparison: the slice bar, the chooser, and how fresh the data is."""
    project, sides, options, now = query.project, query.sides, query.options, timezone.now()
    kept = [*(sides.pairs() if sides else []), *options.table_params()]
    shell = build_shell(request, project, query.common, "compare", releases=query.releases, now=now, kept=kept)
    assert shell.bar is not None
    address = reverse("compare", args=[project.slug])
    shared = query.slice_.params()
    return {
        "project": project,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(query.common),
        "chooser": build_chooser(address, shell.bar, query, kept=options.with_changes().params(), now=now),
        "shell": trim_bar(shell, sides.side_fields if sides else frozenset(), has_tags=False),
        "sides": sides,
        "problem": query.problem,
        "left_out": [pair for pair in query.whole.params() if pair not in shared],
        "before": name_side(sides, sides.base) if sides else None,
        "after": name_side(sides, sides.head) if sides else None,
        "is_plain": options.is_plain,
        "is_compared": sides is not None and not sides.are_equal,
        "display": build_display_line(request, project, query.common) if options.by == "function" else None,
    }


def _write_links(query: CompareQuery, sides: Sides) -> Json:
    project, options = query.project, query.options
    address_query = write_query([*sides.params(), *options.params()])
    plain = write_query([*sides.params(), *replace(options, is_plain=True).params()])
    return {
        "export": build_export_menu(project, sides.common, sides=sides.pairs()),
        "part_link": f"{reverse('compare-table', args=[project.slug])}?{address_query}",
        "plain_link": f"{reverse('compare', args=[project.slug])}?{plain}",
    }
