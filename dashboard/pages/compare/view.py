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
from dashboard.layout.verdict_words import describe_changed_releases
from dashboard.pages.compare.chooser import build_chooser
from dashboard.pages.compare.comparison import AskedComparison
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
    question = CompareQuery.read(request, project, needs_releases=True)
    if not question.releases:
        return redirect("overview", slug)  # there are the first steps
    context = _describe_question(request, question)
    if question.sides is not None and not question.sides.are_equal:
        context |= _write_links(question, question.sides)
        if question.options.is_plain:
            may_change = may_administer(request.user, question.project)
            context |= build_content(AskedComparison.of(question), may_change=may_change)
            context |= describe_changed_releases(question.sides.base, question.sides.head, request.user)
    return render(request, "dashboard/compare/page.html", context, status=400 if question.problem else 200)


@project_page(
    kind="part", name="compare-table", path="compare/table/", heavy="yes", on_replica=True, for_guests="fetch"
)
def show_compared(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    asked = AskedComparison.of(CompareQuery.read(request, project))
    may_change = may_administer(request.user, project)
    query = asked.query(asked.options)
    told = describe_changed_releases(asked.sides.base, asked.sides.head, request.user)
    response = answer_if_changed(
        request,
        make_etag(query, may_change, fingerprint_server(), told, *asked.facts),
        lambda: render(request, PART, build_content(asked, may_change=may_change) | told),
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
    asked = AskedComparison.of(CompareQuery.read(request, project))
    response = HttpResponse(b"".join(write_csv(asked)), content_type="text/csv; charset=utf-8")
    name = "-".join(name_file(project, side) for side in (asked.sides.base, asked.sides.head))
    response["Content-Disposition"] = f'attachment; filename="compare-{name}.csv"'
    response["X-Content-Type-Options"] = "nosniff"  # names are hostile
    return response


def _describe_question(request: HttpRequest, question: CompareQuery) -> Json:
    """Returns the page around the comparison: the slice bar, the chooser, and how fresh the data is."""
    project, sides, options, now = question.project, question.sides, question.options, timezone.now()
    kept = [*(sides.pairs() if sides else []), *options.own_params()]
    shell = build_shell(request, project, question.common, "compare", releases=question.releases, now=now, kept=kept)
    assert shell.bar is not None
    address = reverse("compare", args=[project.slug])
    shared = question.slice_.params()
    return {
        "project": project,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(question.common),
        "chooser": build_chooser(address, shell.bar, question, kept=options.with_changes().params(), now=now),
        "shell": trim_bar(shell, sides.own_fields if sides else frozenset(), has_tags=False),
        "sides": sides,
        "problem": question.problem,
        "left_out": [pair for pair in question.whole.params() if pair not in shared],
        "before": name_side(sides, sides.base) if sides else None,
        "after": name_side(sides, sides.head) if sides else None,
        "is_plain": options.is_plain,
        "is_compared": sides is not None and not sides.are_equal,
        "display": build_display_line(request, project, question.common) if options.by == "function" else None,
    }


def _write_links(question: CompareQuery, sides: Sides) -> Json:
    project, options = question.project, question.options
    query = write_query([*sides.params(), *options.params()])
    plain = write_query([*sides.params(), *replace(options, is_plain=True).params()])
    return {
        "export": build_export_menu(project, sides.common, sides=sides.pairs()),
        "part_link": f"{reverse('compare-table', args=[project.slug])}?{query}",
        "plain_link": f"{reverse('compare', args=[project.slug])}?{plain}",
    }
