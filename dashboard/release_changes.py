"""What changed from one release to the next, page by page and function by function: a part of the overview."""

from dataclasses import replace
from typing import Final, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from aggregate.selectors import TREND_MEASURES, Slice, compare_pages
from aggregate.selectors.sides import resolve_sides
from aggregate.selectors.statistics import SliceComparison, compare_slices
from dashboard.access import get_visible_project
from dashboard.compared import count_moved, find_moved, sureness_of
from dashboard.params import read_choice, read_side
from dashboard.unchanged import answer_unchanged
from dashboard.verdicts import WORDS
from dashboard.views import private_part, read_page_slice
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
    pages = describe_page_changes(project, slice_, base, head, measure)
    functions = describe_function_changes(compare_slices(*sides, measure=measure))
    top_page = pages["top_page"]
    functions_of = slice_
    if isinstance(top_page, str) and not functions["sure_count"]:
        # What one page alone has lost drowns in the views of all others: there it may be found.
        within = [replace(side, pages=(top_page,)) for side in sides]
        functions = describe_function_changes(compare_slices(within[0], within[1], measure=measure))
        functions["functions_of"] = top_page
        functions_of = replace(slice_, pages=(top_page,))
    context = {
        "project": project,
        "slice": slice_,
        "measure_word": WORDS[measure],
        "min_views": MIN_COMPARED_VIEWS,
        "base": base,
        "head": head,
        **pages,
        **functions,
        "functions_link": describe_comparison(project, functions_of, base, head, measure)["compare_link"],
    }
    return render(request, "dashboard/_changes.html", context)


def read_measure(request: HttpRequest) -> Measure:
    """Returns the part of time that a page is about. Raises `ParamError`."""
    return cast("Measure", read_choice(request.GET, "measure", TREND_MEASURES, "self"))  # one of its words


def describe_page_changes(project: Project, slice_: Slice, base: str, head: str, measure: Measure) -> dict[str, object]:
    """Returns the pages that changed beyond chance, the largest change first, with links to their comparisons."""
    changes = compare_pages(slice_, base, head, measure=measure)
    sure = [change for change in changes if change.difference.is_significant]
    query = make_comparison_query(slice_, base, head, measure, without=("page",))
    address = f"{reverse('compare', args=[project.slug])}?{query}"
    return {
        "pages": [(page, f"{address}&{urlencode({'page': page.page}, safe='/:')}") for page in sure[:SHOWN_PAGES]],
        "top_page": sure[0].page if sure and len(changes) > 1 else None,
        "compared_pages": len(changes),
        "sure_page_count": len(sure),
    }


def describe_function_changes(answer: SliceComparison) -> dict[str, object]:
    """Returns the functions that rose and fell beyond chance; where there are none, those that changed most.

    What came or went and may only have moved is not among the first, as on the page of the comparison.
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
    """Returns the addresses of two releases' comparison: its part of the overview, its page, its flame graph."""
    query = make_comparison_query(slice_, base, head, measure)
    names = {"changes_link": "changes", "compare_link": "compare", "tree_link": "tree"}
    return {key: f"{reverse(name, args=[project.slug])}?{query}" for key, name in names.items()}


def make_comparison_query(
    slice_: Slice, base: str, head: str, measure: Measure, *, without: tuple[str, ...] = ()
) -> str:
    """Returns the query of a comparison of two releases of a slice, whatever releases it was of."""
    shared = [pair for pair in slice_.params() if pair[0] not in ("release", *without)]
    sides = [("base_release", base), ("head_release", head), ("measure", measure)]
    return urlencode([*sides, *shared], safe="/:")
