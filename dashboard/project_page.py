"""The overview of a project: its trend, what the last release changed, its worst pages, and how fresh all of it is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors import (
    TREND_MEASURES,
    Overview,
    PageRow,
    ReleaseRow,
    Slice,
    compare_releases,
    estimate_pages,
    pick_last_releases,
    select_arrivals,
    select_overview,
    select_pages,
    select_releases,
    select_status,
)
from aggregate.selectors.sides import resolve_sides
from aggregate.selectors.statistics import compare_slices
from dashboard.access import get_visible_project, may_administer
from dashboard.export_menu import build_export_menu
from dashboard.first_visit import answer_first_visit
from dashboard.params import read_choice, read_count, read_side
from dashboard.quality import explain_reasons
from dashboard.shell import EVERY_FUNCTION, build_shell, read_page_narrowing
from dashboard.trends import DEFAULT_LINES
from dashboard.unchanged import answer_unchanged
from dashboard.verdicts import WORDS, Verdict, judge, make_comparison_query
from dashboard.views import make_query, private_page, private_part, read_page_slice
from ingest.models import Project
from profcore.stats.comparison import MIN_COMPARED_VIEWS
from profcore.stats.trends import BucketMean
from profcore.stats.views import Measure

MAX_RELEASES: Final = 20  # rows of the table; the picker has them all
MAX_DAYS: Final = 10_000
SHOWN_DAYS: Final = 60
TOP_PAGES: Final = 15  # with intervals: some 400 views of each are looked at
MAX_TOP_PAGES: Final = 500
SHOWN_RISES: Final = 6
SHOWN_FALLS: Final = 4


@private_page
@answer_unchanged
def show_project(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    status = select_status(project.pk)
    if not status.folded:
        return answer_first_visit(request, project, status)
    slice_ = read_page_slice(request, project)
    measure = read_measure(request)
    releases = select_releases(project.pk)
    by_release = select_overview(slice_, ["release"], limit=MAX_RELEASES)
    verdict = judge_last_release(slice_, by_release, releases, measure)
    kept = [(name, request.GET[name]) for name in ("measure", "lines", "limit") if request.GET.get(name)]
    context = {
        "project": project,
        "status": status,
        "slice": slice_,
        "may_import": may_administer(request.user, project),
        "shell": build_shell(request, project, slice_, "project", releases=releases, now=timezone.now(), kept=kept),
        "arrivals": select_arrivals(slice_),
        "refused": explain_reasons(status.refused_by_reason),
        "measure": measure,
        "measure_word": WORDS[measure],
        "by_release": by_release,
        "by_day": select_overview(slice_, ["day"], limit=MAX_DAYS).rows[-SHOWN_DAYS:],
        "verdict": verdict,
        "functions_link": f"{reverse('page', args=[slug])}?{make_query(slice_, read_page_narrowing(request.GET))}",
        "export": build_export_menu(project, slice_),
        **describe_chart(request, project, slice_, measure),
        **describe_pages(request, project, slice_, measure),
    }
    if verdict is not None:
        context |= describe_comparison(project, slice_, verdict.base, verdict.head, measure)
    return render(request, "dashboard/project.html", context)


@private_part
@answer_unchanged
def show_changes(request: HttpRequest, slug: str) -> HttpResponse:
    """The functions that two releases differ by, the significant ones first: a part of the overview."""
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    measure = read_measure(request)
    sides = resolve_sides(slice_, read_side(request.GET, "base"), read_side(request.GET, "head"))
    base, head = (" ".join(side.releases) for side in sides)
    answer = compare_slices(*sides, measure=cast("Measure", measure))
    found = answer.comparison
    sure = [each for each in found.functions if each.is_significant]
    rises = [each for each in sure if each.delta_ms > 0][:SHOWN_RISES]
    falls = sorted((each for each in sure if each.delta_ms < 0), key=lambda each: each.delta_ms)[:SHOWN_FALLS]
    unsure = sorted((each for each in found.functions if not each.is_significant), key=lambda each: -abs(each.delta_ms))
    shown = [*rises, *falls] or unsure[:SHOWN_FALLS]
    context = {
        "project": project,
        "slice": slice_,
        "found": found,
        "rows": [(each, answer.funcs[each.func_id]) for each in shown],
        "sure_count": len(sure),
        "unsure_count": len(unsure),
        "measure_word": WORDS[measure],
        "min_views": MIN_COMPARED_VIEWS,
        "base": base,
        "head": head,
        **describe_comparison(project, slice_, base, head, measure),
    }
    return render(request, "dashboard/_changes.html", context)


def read_measure(request: HttpRequest) -> str:
    """Returns the part of time that a page is about. Raises `ParamError`."""
    return read_choice(request.GET, "measure", TREND_MEASURES, "self")


def judge_last_release(
    slice_: Slice, by_release: Overview, releases: Sequence[ReleaseRow], measure: str
) -> Verdict | None:
    """Returns what the slice's last release changed, None where there is no other release before it."""
    picked = pick_last_releases(slice_, by_release.rows, releases)
    if picked is None:
        return None
    return judge(compare_releases(slice_, *picked, measure=cast("Measure", measure)))


def describe_comparison(project: Project, slice_: Slice, base: str, head: str, measure: str) -> dict[str, object]:
    """Returns the addresses of two releases' comparison: its part of this page, its page, its flame graph."""
    query = make_comparison_query(slice_, base, head, measure)
    return {
        "changes_link": f"{reverse('changes', args=[project.slug])}?{query}",
        "compare_link": f"{reverse('compare', args=[project.slug])}?{query}",
        "tree_link": f"{reverse('tree', args=[project.slug])}?{query}",
    }


def describe_chart(request: HttpRequest, project: Project, slice_: Slice, measure: str) -> dict[str, object]:
    """Returns what the chart fetches, and the links to its other views."""
    lines = read_choice(request.GET, "lines", ("release", "none"), "release")
    whole = replace(slice_, views=(), traces=(), tags=(), func_over=(), as_stored=False)
    asked = {"measure": measure, "by": lines, "limit": str(DEFAULT_LINES)}
    narrowing = read_page_narrowing(request.GET)
    address = reverse("project", args=[project.slug])

    def link(**changed: str) -> str:
        kept = {"measure": measure, "lines": lines, **changed}
        more = {name: value for name, value in kept.items() if (name, value) not in DEFAULTS}
        query = make_query(slice_, narrowing, **more)
        return f"{address}?{query}" if query else address

    return {
        "trend_url": f"{reverse('api-trend', args=[project.slug])}?{make_query(whole, EVERY_FUNCTION, **asked)}",
        "lines": lines,
        "line_limit": DEFAULT_LINES,
        "measure_links": [(word, link(measure=name), name == measure) for name, word in MEASURE_TABS],
        "line_links": [(word, link(lines=name), name == lines) for name, word in LINE_TABS],
    }


DEFAULTS: Final = (("measure", "self"), ("lines", "release"))
MEASURE_TABS: Final = (("self", "JS"), ("hidden", "Hidden"), ("self+hidden", "JS + hidden"))
LINE_TABS: Final = (("release", "By release"), ("none", "All together"))


def describe_pages(request: HttpRequest, project: Project, slice_: Slice, measure: str) -> dict[str, object]:
    """Returns the slice's pages with the most time, each with its mean, its share of all time and a link."""
    narrowing = read_page_narrowing(request.GET)
    limit = read_count(request.GET, "limit", default=TOP_PAGES, high=MAX_TOP_PAGES)
    every = sorted((row for row in select_pages(slice_) if row.views), key=lambda row: -_time_us(row, measure))
    shown = every[:limit]
    means: Sequence[BucketMean] = estimate_pages(slice_, shown, measure=measure) if shown else []
    whole_us = sum(_time_us(row, measure) for row in every)
    links = [f"{reverse('page', args=[project.slug])}?{make_query(slice_, narrowing, page=row.page)}" for row in shown]
    shares = [_time_us(row, measure) / whole_us if whole_us else None for row in shown]
    more = {name: request.GET[name] for name in ("measure", "lines") if name in request.GET}
    return {
        "pages": list(zip(shown, means, shares, links, strict=True)),
        "page_count": len(every),
        "all_pages_link": f"{request.path}?{make_query(slice_, narrowing, limit=str(MAX_TOP_PAGES), **more)}#pages",
    }


def _time_us(row: PageRow, measure: str) -> int:
    return {"self": row.time.js_us, "hidden": row.time.hidden_us}.get(measure, row.time.js_us + row.time.hidden_us)
