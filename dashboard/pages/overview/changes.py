"""A part of the overview: the pages and functions that changed from one release to the next."""

from dataclasses import replace
from typing import Final, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from aggregate.selectors.project.last_release import compare_pages
from aggregate.selectors.project.trends import TREND_MEASURES
from aggregate.selectors.slice.sides import resolve_sides
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import SliceComparison, compare_slices
from dashboard.pages.compare.table import count_moved, find_moved, sureness_of
from dashboard.web.access import get_visible_project
from dashboard.web.etags import answer_unchanged
from dashboard.web.guards import private_part
from dashboard.web.measures import TIME_WORDS
from dashboard.web.params import read_choice, read_side
from dashboard.web.queries import read_page_slice, write_query
from ingest.models import Project
from profcore.stats.comparison import MIN_COMPARED_VIEWS
from profcore.stats.views import Measure

SHOWN_PAGES: Final = 5
SHOWN_RISES: Final = 6
SHOWN_FALLS: Final = 4


@private_part
@answer_unchanged
def show_changes(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    measure = read_measure(request)
    sides = resolve_sides(slice_, read_side(request.GET, "base"), read_side(request.GET, "head"))
    base, head = (" ".join(side.releases) for side in sides)
    context = {
        "project": project,
        "slice": slice_,
        "measure_word": TIME_WORDS[measure],
        "min_views": MIN_COMPARED_VIEWS,
        "base": base,
        "head": head,
        **describe_changes(project, slice_, sides, measure),
    }
    return render(request, "dashboard/overview/_changes.html", context)


def describe_changes(
    project: Project, slice_: Slice, sides: tuple[Slice, Slice], measure: Measure
) -> dict[str, object]:
    """Returns the pages and functions that changed.

    If no function changed over all pages, they are those of the page that changed most: the views of the other pages
    can hide them.
    """
    base, head = (" ".join(side.releases) for side in sides)
    pages = describe_page_changes(project, slice_, base, head, measure)
    functions = describe_function_changes(compare_slices(*sides, measure=measure))
    top_page = pages["top_page"]
    functions_of = slice_
    if isinstance(top_page, str) and not functions["sure_count"]:
        within = [replace(side, pages=(top_page,)) for side in sides]
        functions = describe_function_changes(compare_slices(within[0], within[1], measure=measure))
        functions["functions_of"] = top_page
        functions_of = replace(slice_, pages=(top_page,))
    link = describe_comparison(project, functions_of, base, head, measure)["compare_link"]
    return {**pages, **functions, "functions_link": link}


def read_measure(request: HttpRequest) -> Measure:
    """Returns the measure in the address. Raises `ParamError`."""
    return cast("Measure", read_choice(request.GET, "measure", TREND_MEASURES, "self"))  # checked against its words


def describe_page_changes(project: Project, slice_: Slice, base: str, head: str, measure: Measure) -> dict[str, object]:
    """Returns the pages with significant changes, the largest first, with links to their comparisons."""
    changes = compare_pages(slice_, base, head, measure=measure)
    sure = [change for change in changes if change.difference.is_significant]
    query = make_comparison_query(slice_, base, head, measure, without=("page",))
    address = f"{reverse('compare', args=[project.slug])}?{query}"
    return {
        "pages": [(page, f"{address}&{write_query({'page': page.page})}") for page in sure[:SHOWN_PAGES]],
        "top_page": sure[0].page if sure and len(changes) > 1 else None,
        "compared_pages": len(changes),
        "sure_page_count": len(sure),
    }


def describe_function_changes(answer: SliceComparison) -> dict[str, object]:
    """Returns the functions with significant changes; if there are none, those that changed most.

    New or gone functions that may only have moved do not count as significant, as on the page "Compare".
    """
    found = answer.comparison
    moved = find_moved(answer)
    may_have_moved = {
        each.func_id for each in found.functions if sureness_of(each, may_have_moved=each.func_id in moved) == "moved"
    }
    sure = [each for each in found.functions if each.is_significant and each.func_id not in may_have_moved]
    rises = [each for each in sure if each.delta_ms > 0][:SHOWN_RISES]
    falls = sorted((each for each in sure if each.delta_ms < 0), key=lambda each: each.delta_ms)[:SHOWN_FALLS]
    others = [each for each in found.functions if not each.is_significant or each.func_id in may_have_moved]
    unsure = sorted(others, key=lambda each: -abs(each.delta_ms))
    shown = [*rises, *falls] or unsure[:SHOWN_FALLS]
    return {
        "found": found,
        "rows": [(each, answer.funcs[each.func_id], each.func_id in may_have_moved) for each in shown],
        "sure_count": len(sure),
        "unsure_count": len(unsure) - len(may_have_moved),
        "moved": count_moved(moved),
    }


def describe_comparison(project: Project, slice_: Slice, base: str, head: str, measure: Measure) -> dict[str, object]:
    """Returns the addresses of a comparison of two releases: the part of the overview, the page, the flame graph."""
    query = make_comparison_query(slice_, base, head, measure)
    names = {"changes_link": "changes", "compare_link": "compare", "tree_link": "tree"}
    return {key: f"{reverse(name, args=[project.slug])}?{query}" for key, name in names.items()}


def make_comparison_query(
    slice_: Slice, base: str, head: str, measure: Measure, *, without: tuple[str, ...] = ()
) -> str:
    """Returns the query string that compares two releases of a slice; the slice's own releases are ignored."""
    shared = [pair for pair in slice_.params() if pair[0] not in ("release", *without)]
    sides = [("base_release", base), ("head_release", head), ("measure", measure)]
    return write_query([*sides, *shared])
