"""What changed from one release to the next: pages and functions of the overview, with links to more."""

from dataclasses import replace
from typing import Final, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from aggregate.selectors.project.trends import TREND_MEASURES
from aggregate.selectors.slice.sides import resolve_sides
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.comparisons import SliceComparison
from aggregate.selectors.statistics.moved import find_moved
from aggregate.selectors.verdict.page_changes import VERDICT_MEASURE
from aggregate.selectors.verdict.verdict import Verdict, narrow_to
from dashboard.layout.measures import TIME_WORDS
from dashboard.pages.compare.table import count_moved, sureness_of
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import ParamError, read_choice, read_side
from dashboard.web.queries import read_page_slice, write_query
from dashboard.web.verdicts import answer_breakdown, answer_forced_change, answer_verdict, compare_cached
from profcore.stats.joining import MIN_COMPARED_VIEWS
from profcore.stats.views import Measure
from projects.models import Project

SHOWN_PAGES: Final = 8
SHOWN_FUNCTIONS: Final = 3  # as many as a clear verdict names


@project_page(
    kind="part",
    name="changes",
    path="changes/",
    heavy="yes",
    on_replica=True,
    for_guests="fetch",
)
@answer_unchanged
def show_changes(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the functions that changed for certain although the verdict is not clear: a part of the overview."""
    project = get_visible_project(request.user, slug)
    slice_, sides = _read_releases(request, project)
    base, head = (side.releases[0] for side in sides)
    context = {
        "project": project,
        "slice": replace(slice_, releases=(head,)),
        "measure_word": TIME_WORDS[VERDICT_MEASURE],
        "min_compared": MIN_COMPARED_VIEWS,
        "base": base,
        "head": head,
        **describe_changes(project, slice_, sides),
    }
    return render(request, "dashboard/overview/_changes.html", context)


@project_page(
    kind="part",
    name="change-parts",
    path="change-parts/",
    heavy="yes",
    on_replica=True,
    for_guests="fetch",
)
@answer_unchanged
def show_change_parts(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the change by dimension: a part of the overview."""
    project = get_visible_project(request.user, slug)
    slice_, (base, head) = _read_releases(request, project)
    names = [" ".join(side.releases) for side in (base, head)]
    address = reverse("overview", args=[project.slug])
    groups = [
        (name.capitalize(), [(part, f"{address}?{_link_part(slice_, name, part.value)}") for part in parts])
        for name, parts in answer_breakdown(base, head).parts.items()
    ]
    context = {
        "groups": [group for group in groups if group[1]],
        "base": names[0],
        "head": names[1],
        "where": " ".join(slice_.pages),
    }
    return render(request, "dashboard/overview/_change_parts.html", context)


@project_page(kind="part", name="change-forced", path="change-forced/", heavy="yes", on_replica=True)
@answer_unchanged
def show_forced_change(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows whether the first function of the verdict takes longer mostly by forced layout: a part of the overview.

    It reads raw traces, so guests do not see it, and the verdict does not wait for it.
    """
    project = get_visible_project(request.user, slug)
    _, (base, head) = _read_releases(request, project)
    return render(request, "dashboard/overview/_change_forced.html", {"forced": answer_forced_change(base, head)})


def _link_part(slice_: Slice, field: str, value: str) -> str:
    """Returns the query string of the slice with only one value of a dimension."""
    return write_query([*(pair for pair in slice_.params() if pair[0] != field), (field, value)])


def _read_releases(request: HttpRequest, project: Project) -> tuple[Slice, tuple[Slice, Slice]]:
    """Returns the slice in the address and two releases of it. Raises `ParamError` and `SliceError`."""
    slice_ = read_page_slice(request, project)
    sides = resolve_sides(slice_, read_side(request.GET, "base"), read_side(request.GET, "head"))
    if any(len(side.releases) != 1 for side in sides):
        raise ParamError("base_release", "base_release and head_release must each name one release.")
    return slice_, sides


def describe_changes(project: Project, slice_: Slice, sides: tuple[Slice, Slice]) -> dict[str, object]:
    """Returns the functions that changed.

    They are those of the page that the verdict leads with, or of all pages: the views of other pages can hide what
    changed on one.
    """
    base, head = (" ".join(side.releases) for side in sides)
    verdict = answer_verdict(*sides)
    leading = verdict.leading
    is_part = leading.page is not None and len(verdict.judgement.pages) > 1
    functions_of = replace(slice_, pages=(leading.page,)) if is_part and leading.page else slice_
    return {
        **describe_function_changes(compare_cached(*narrow_to(leading, *sides))),
        "functions_of": leading.page if is_part else None,
        "functions_link": link_comparison("compare", project, functions_of, base, head),
    }


def read_measure(request: HttpRequest) -> Measure:
    """Returns the measure in the address. Raises `ParamError`."""
    name = read_choice(request.GET, "measure", TREND_MEASURES, VERDICT_MEASURE)
    return cast("Measure", name)  # checked against its words


def describe_page_changes(project: Project, slice_: Slice, verdict: Verdict, base: str, head: str) -> dict[str, object]:
    """Returns all compared pages with their own state, those that got slower first, with links to their comparisons."""
    query = make_comparison_query(slice_, base, head, without=("page",))
    address = f"{reverse('compare', args=[project.slug])}?{query}"
    pages = verdict.judgement.pages
    return {
        "changed_pages": [
            (page, f"{address}&{write_query({'page': page.page or ''})}") for page in pages[:SHOWN_PAGES]
        ],
        "compared_pages": len(pages),
        "all_page_count": verdict.page_count,
        "sure_page_count": sum(page.has_changed for page in pages),
        "change_word": TIME_WORDS[VERDICT_MEASURE],
        # A clear verdict names its functions, and one of too few page views has no functions.
        "has_late_functions": not verdict.culprits and verdict.leading.state != "too_few",
    }


def describe_function_changes(answer: SliceComparison) -> dict[str, object]:
    """Returns the functions whose change is clear or likely, those that rose first; not those that may have moved."""
    comparison = answer.comparison
    moved = find_moved(answer)
    sure = [
        difference
        for difference in comparison.functions
        if sureness_of(difference, may_have_moved=difference.func_id in moved) in ("clear", "likely")
    ]
    falls = sorted(
        (difference for difference in sure if difference.delta_ms < 0), key=lambda difference: difference.delta_ms
    )
    largest = [*(difference for difference in sure if difference.delta_ms > 0), *falls][:SHOWN_FUNCTIONS]
    return {
        "comparison": comparison,
        "rows": [(difference, answer.funcs[difference.func_id]) for difference in largest],
        "sure_count": len(sure),
        "unsure_count": sum(not difference.is_significant for difference in comparison.functions),
        "moved": count_moved(moved),
    }


def link_comparison(name: str, project: Project, slice_: Slice, base: str, head: str) -> str:
    """Returns the address of a page or part, by the name of its route, that compares two releases of a slice."""
    return f"{reverse(name, args=[project.slug])}?{make_comparison_query(slice_, base, head)}"


def make_comparison_query(slice_: Slice, base: str, head: str, *, without: tuple[str, ...] = ()) -> str:
    """Returns the query string that compares two releases of a slice; the slice's own releases are ignored."""
    shared = [pair for pair in slice_.params() if pair[0] not in ("release", *without)]
    sides = [("base_release", base), ("head_release", head), ("measure", VERDICT_MEASURE)]
    return write_query([*sides, *shared])
