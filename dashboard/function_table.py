"""The page "Functions": where the time of a slice went, and its functions or groups of them, by their sums."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors import (
    GROUPINGS,
    TABLE_SORTS,
    Asked,
    FunctionRow,
    FunctionTable,
    OverviewRow,
    Slice,
    select_arrivals,
    select_estimated,
    select_overview,
    select_releases,
    select_status,
)
from dashboard.access import get_visible_project
from dashboard.display_line import build_display_line
from dashboard.export_menu import build_export_menu
from dashboard.params import MAX_SEARCH, Narrowing, read_choice, read_count
from dashboard.shell import build_shell, join_pairs, read_page_narrowing
from dashboard.unchanged import answer_unchanged
from dashboard.views import private_page, private_part, read_page_slice
from ingest.models import Project
from profcore.categories import NO_GROUP
from profcore.display_rules import SUMMING
from profcore.stats.summaries import MIN_VIEWS, FuncSummary

TOP_FUNCTIONS: Final = 25  # what a phone shows in some screens; more is a link away
# All pages of more views come by themselves: at a million their functions take some 180 ms (docs/benchmarks.md).
INLINE_VIEWS: Final = 20_000
MORE_FUNCTIONS: Final = (100, 500, 2_000)
GROUP_WORDS: Final = {
    "function": "Function",
    "file": "File",
    "package": "Package",
    "origin": "Origin",
    "category": "Category",
    "party": "Party",
}
SORT_WORDS: Final = {
    "self_ms": "Self",
    "self_ms_per_view": "Per view",
    "p75_self_ms": "p75",
    "total_ms": "Total",
    "hidden_ms": "Hidden",
    "views": "Views",
}


# What the table says of itself to whoever hears it: "Functions by self time".
PLURALS: Final = {
    "function": "Functions",
    "file": "Files",
    "package": "Packages",
    "origin": "Origins",
    "category": "Categories",
    "party": "Parties",
}
SORT_PHRASES: Final = {
    "self_ms": "self time",
    "self_ms_per_view": "self time per view",
    "p75_self_ms": "the 75th percentile of self time",
    "total_ms": "total time",
    "hidden_ms": "hidden time",
    "views": "page views that ran them",
}


@dataclass(frozen=True, slots=True)
class TableLink:
    """One way to order or to group the table."""

    key: str
    word: str
    link: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row, what a sample says of it (None: too few views), and for a group where its functions are."""

    row: FunctionRow
    found: FuncSummary | None
    link: str | None


def read_asked(params: QueryDict) -> Asked:
    """Returns what is asked of the table, without what narrows it. Raises `ParamError`."""
    return Asked(
        read_choice(params, "group_by", ("function", *GROUPINGS), "function"),
        read_choice(params, "sort", TABLE_SORTS, "self_ms"),
        read_count(params, "limit", default=TOP_FUNCTIONS, high=MORE_FUNCTIONS[-1]),
    )


def kept_params(asked: Asked) -> list[tuple[str, str]]:
    """Returns what goes along in the address, but the number of rows: another slice begins at the top."""
    pairs = [("group_by", asked.group_by)] if asked.group_by != "function" else []
    return pairs + ([("sort", asked.sort)] if asked.sort != "self_ms" else [])


@dataclass(frozen=True, slots=True)
class Place:
    """Where the table stands: a page's path, its slice, and what is asked of the table."""

    path: str
    slice_: Slice
    asked: Asked

    def link(self, *more: tuple[str, str], path: str = "", group_by: str = "", sort: str = "") -> str:
        """Returns an address of the same functions, maybe ordered or grouped otherwise."""
        asked = self.asked
        narrowing = Narrowing(asked.categories, asked.search)
        kept = kept_params(replace(asked, group_by=group_by or asked.group_by, sort=sort or asked.sort))
        query = join_pairs([*self.slice_.params(), *narrowing.params(), *kept, *more])
        return f"{path or self.path}?{query}"


@private_page
@answer_unchanged
def show_page(request: HttpRequest, slug: str) -> HttpResponse:
    """The page. Its table comes by itself where it may take long: what needs call trees, and many views."""
    project = get_visible_project(request.user, slug)
    place = read_place(request, project)
    slice_, asked = place.slice_, place.asked
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    sums_up = not slice_.as_stored and any(rule["action"] in SUMMING for rule in project.display_rules)
    whole = None if is_plain else select_whole(place, sums_up=sums_up)
    context: dict[str, object] = {
        "project": project,
        "slice": slice_,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(slice_),
        "export": build_export_menu(project, slice_),
        "back_link": f"{reverse('project', args=[slug])}?{replace(slice_, pages=()).query()}",
        "shell": build_shell(
            request,
            project,
            slice_,
            "page",
            releases=select_releases(project.pk),
            now=timezone.now(),
            kept=[*kept_params(asked), *([("plain", "1")] if is_plain else [])],
        ),
        "asked": asked,
        "row_word": GROUP_WORDS[asked.group_by],
        "groups": _links(GROUP_WORDS, asked.group_by, lambda key: place.link(group_by=key)),
        "sorts": _links(SORT_WORDS, asked.sort, lambda key: place.link(sort=key)),
    }
    table = None
    if whole is not None:
        limit = ("limit", str(asked.limit))
        context["whole"] = whole
        context["part_link"] = place.link(limit, path=reverse("page-table", args=[slug]))
        context["plain_link"] = place.link(("plain", "1"))
    else:
        table = select_estimated(slice_, asked)
        context |= show_rows(place, table)
    if asked.group_by == "function":
        context["display"] = build_display_line(request, project, slice_, table)
    return render(request, "dashboard/page.html", context)


@private_part
@answer_unchanged
def show_table(request: HttpRequest, slug: str) -> HttpResponse:
    """The table alone."""
    project = get_visible_project(request.user, slug)
    place = read_place(request, project)
    return render(
        request,
        "dashboard/_function_rows.html",
        {"project": project, **show_rows(place, select_estimated(place.slice_, place.asked))},
    )


def select_whole(place: Place, *, sums_up: bool) -> OverviewRow | None:
    """Returns the slice's own sums where its table comes by itself; None where it comes with the page.

    What groups take, display rules that show several functions as one (`sums_up`) may take as well.
    """
    is_grouped = place.asked.group_by != "function"
    if place.slice_.is_fine or (place.slice_.pages and not is_grouped and not sums_up):
        return None
    whole = select_overview(place.slice_, [], limit=1).whole
    return whole if is_grouped or whole.views > INLINE_VIEWS else None


def read_place(request: HttpRequest, project: Project) -> Place:
    """Returns what a page's address asks of the table. Raises `ParamError` and `SliceError`."""
    narrowing = read_page_narrowing(request.GET)
    asked = replace(read_asked(request.GET), categories=narrowing.categories, search=narrowing.search)
    return Place(reverse("page", args=[project.slug]), read_page_slice(request, project), asked)


def show_rows(place: Place, table: FunctionTable) -> dict[str, object]:
    """Returns what the template shows of the table."""
    asked = place.asked
    next_limit = next((size for size in MORE_FUNCTIONS if size > asked.limit), None)
    return {
        "whole": table,
        "table": table,
        "rows": [
            ShownRow(row, table.self_estimates.get(row.id), _link_of_group(row, place)) for row in table.functions
        ],
        "asked": asked,
        "min_views": MIN_VIEWS,
        "caption": f"{PLURALS[asked.group_by]} by {SORT_PHRASES[asked.sort]}",
        "row_word": GROUP_WORDS[asked.group_by],
        "sorts": _links(SORT_WORDS, asked.sort, lambda key: place.link(sort=key)),
        "more_link": place.link(("limit", str(next_limit))) if next_limit else None,
    }


def _links(words: dict[str, str], here: str, link: Callable[[str], str]) -> Sequence[TableLink]:
    return [TableLink(key, word, link(key), key == here) for key, word in words.items()]


def _link_of_group(row: FunctionRow, place: Place) -> str | None:
    """Returns where a group's functions are listed; None where no category or search names them alone."""
    name, by = str(row.id), place.asked.group_by
    if by in ("function", "party") or name == NO_GROUP or len(name) > MAX_SEARCH:
        return None
    narrowing = Narrowing((name,)) if by == "category" else Narrowing(search=name)
    return f"{place.path}?{join_pairs([*place.slice_.params(), *narrowing.params()])}"
