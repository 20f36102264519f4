"""The page "Functions": the parts of time of a slice, and its functions or groups of functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.overview import OverviewRow, select_overview
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.estimates import COST_SORT, PAGE_SORTS, TableQuery
from dashboard.layout.display_line import build_display_line
from dashboard.layout.export_menu import build_export_menu
from dashboard.layout.shell import build_shell
from dashboard.web.access import get_visible_project
from dashboard.web.cache import answer_table
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import MAX_SEARCH, Narrowing, read_choice, read_count
from dashboard.web.project_pages import Tab
from dashboard.web.queries import read_page_narrowing, read_page_slice, write_query
from profcore.code.categories import NO_GROUP
from profcore.code.display_rules import SUMMING
from profcore.stats.summaries import MIN_VIEWS, FuncSummary
from projects.models import Project

TOP_FUNCTIONS: Final = 25  # some screens of a phone; a link shows more
# With more views the table is fetched: of a million views it takes about 180 ms (docs/benchmarks.md).
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
# The columns, by the sort that their heads lead to.
SORT_WORDS: Final = {
    COST_SORT: "Self + hidden",
    "self_ms_per_view": "Self",
    "hidden_ms": "Hidden",
    "total_ms": "Total",
    "p75_self_ms": "p75 of self",
    "views": "Views",
}
SORT_TITLES: Final = {
    COST_SORT: "Per view: time in the function itself, and hidden time attributed to it, with the 95 % interval",
    "self_ms_per_view": "Per view: time in the function itself",
    "hidden_ms": "Per view: time without a stack that was attributed to it; not in self or total",
    "total_ms": "Per view: time in the function and in its callees",
    "p75_self_ms": "Three of four page views have at most this self time, including those that never ran it",
    "views": "Page views that ran it",
}

# The table's caption for screen readers: "Functions by self time".
PLURALS: Final = {
    "function": "Functions",
    "file": "Files",
    "package": "Packages",
    "origin": "Origins",
    "category": "Categories",
    "party": "Parties",
}
SORT_PHRASES: Final = {
    COST_SORT: "self and hidden time per view",
    "self_ms": "self time",
    "self_ms_per_view": "self time per view",
    "p75_self_ms": "the 75th percentile of self time",
    "total_ms": "total time",
    "hidden_ms": "hidden time",
    "views": "page views that ran them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLink:
    """A link that sorts or groups the table."""

    key: str
    word: str
    link: str
    is_here: bool
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row, its estimates (None: too few views), and for a group the link to its functions.

    `cost` and `self_summary` are the estimates of self and hidden time together, and of self time. Times are per view.
    """

    row: FunctionRow
    cost: FuncSummary | None
    self_summary: FuncSummary | None
    link: str | None
    share: float | None
    cost_ms: float | None
    self_ms: float | None
    hidden_ms: float | None
    total_ms: float

    @property
    def p75_ms(self) -> float | None:
        return self.self_summary.p75_ms.value if self.self_summary else None


def read_table_query(params: QueryDict) -> TableQuery:
    """Returns how the table is grouped, sorted and limited. Raises `ParamError`."""
    return TableQuery(
        group_by=read_choice(params, "group_by", ("function", *GROUPINGS), "function"),
        sort=read_choice(params, "sort", PAGE_SORTS, COST_SORT),
        measure="self+hidden",
        limit=read_count(params, "limit", default=TOP_FUNCTIONS, high=MORE_FUNCTIONS[-1]),
    )


def kept_params(query: TableQuery) -> list[tuple[str, str]]:
    """Returns the parameters that links keep, except the number of rows: another slice starts at the top."""
    pairs = [("group_by", query.group_by)] if query.group_by != "function" else []
    return pairs + ([("sort", query.sort)] if query.sort != COST_SORT else [])


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The page of the table: its path, its slice, and the table's query."""

    path: str
    slice_: Slice
    query: TableQuery

    def link(self, *more: tuple[str, str], path: str = "", group_by: str = "", sort: str = "") -> str:
        """Returns the address of the same functions, with another sort or grouping if given."""
        query = self.query
        narrowing = Narrowing(query.categories, query.search)
        kept = kept_params(replace(query, group_by=group_by or query.group_by, sort=sort or query.sort))
        params = write_query([*self.slice_.params(), *narrowing.params(), *kept, *more])
        return f"{path or self.path}?{params}"


@project_page(
    name="functions",
    path="functions/",
    tab=Tab(label="Functions", key="f"),
    heavy="plain",
    on_replica=True,
    for_guests="open",
    is_saveable=True,
    narrows="bar",
)
@answer_unchanged
def show_functions(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    place = read_place(request, project)
    slice_, query = place.slice_, place.query
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    kept = [*kept_params(query), *([("plain", "1")] if is_plain else [])]
    releases = select_releases(project.pk)
    context: dict[str, object] = {
        "project": project,
        "slice": slice_,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(slice_),
        "export": build_export_menu(project, slice_),
        "savings_link": f"{reverse('savings', args=[slug])}?{write_query(slice_.params())}",
        "back_link": f"{reverse('overview', args=[slug])}?{replace(slice_, pages=()).query()}",
        "shell": build_shell(request, project, slice_, "functions", releases=releases, now=timezone.now(), kept=kept),
        "table_query": query,
        "row_word": GROUP_WORDS[query.group_by],
        "groups": _links(GROUP_WORDS, query.group_by, lambda key: place.link(group_by=key)),
        "sorts": link_sorts(place),
        **describe_table(request, project, place, is_plain=is_plain),
    }
    return render(request, "dashboard/functions/page.html", context)


def describe_table(request: HttpRequest, project: Project, place: TablePlace, *, is_plain: bool) -> dict[str, object]:
    """Returns the table, or the links to fetch it: a table that needs call trees, or many views, may take long."""
    table, query = None, place.query
    sums_up = not place.slice_.as_stored and any(rule["action"] in SUMMING for rule in project.display_rules)
    whole = None if is_plain else select_whole(place, sums_up=sums_up)
    if whole is None:
        table = answer_table(place.slice_, query)
        context = show_rows(place, table)
    else:
        limit = ("limit", str(query.limit))
        context = {
            "whole": whole,
            "part_link": place.link(limit, path=reverse("functions-table", args=[project.slug])),
            "plain_link": place.link(("plain", "1")),
        }
    if query.group_by == "function":
        context["display"] = build_display_line(request, project, place.slice_, table)
    return context


@project_page(
    kind="part", name="functions-table", path="functions/table/", heavy="yes", on_replica=True, for_guests="fetch"
)
@answer_unchanged
def show_table(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows only the table."""
    project = get_visible_project(request.user, slug)
    place = read_place(request, project)
    return render(
        request,
        "dashboard/functions/_rows.html",
        {"project": project, **show_rows(place, answer_table(place.slice_, place.query))},
    )


def select_whole(place: TablePlace, *, sums_up: bool) -> OverviewRow | None:
    """Returns the slice's sums if its table is fetched; None if the page has the table.

    Groups take longer, and so may display rules that group functions (`sums_up`).
    """
    is_grouped = place.query.group_by != "function"
    if place.slice_.is_fine or (place.slice_.pages and not is_grouped and not sums_up):
        return None
    whole = select_overview(place.slice_, [], limit=1).whole
    return whole if is_grouped or whole.views > INLINE_VIEWS else None


def read_place(request: HttpRequest, project: Project) -> TablePlace:
    """Returns the slice and the table's query in the address. Raises `ParamError` and `SliceError`."""
    narrowing = read_page_narrowing(request.GET)
    query = replace(read_table_query(request.GET), categories=narrowing.categories, search=narrowing.search)
    return TablePlace(reverse("functions", args=[project.slug]), read_page_slice(request, project), query)


def show_rows(place: TablePlace, table: FunctionTable) -> dict[str, object]:
    """Returns the context of the table."""
    query = place.query
    next_limit = next((size for size in MORE_FUNCTIONS if size > query.limit), None)
    rows = [show_row(row, table, place) for row in table.functions]
    return {
        "whole": table,
        "table": table,
        "rows": rows,
        "most_share": max((row.share or 0.0 for row in rows), default=0.0),
        "table_query": query,
        "min_views": MIN_VIEWS,
        "caption": f"{PLURALS[query.group_by]} by {SORT_PHRASES[query.sort]}",
        "row_word": GROUP_WORDS[query.group_by],
        "sorts": link_sorts(place),
        "more_link": place.link(("limit", str(next_limit))) if next_limit else None,
    }


def show_row(row: FunctionRow, table: FunctionTable, place: TablePlace) -> TableRow:
    """Returns a row with its times per view."""
    cost_ms, self_ms = table.cost_ms_per_view(row), table.self_ms_per_view(row)
    return TableRow(
        row=row,
        cost=table.estimates.get(row.id),
        self_summary=table.self_estimates.get(row.id),
        link=_link_of_group(row, place),
        share=table.cost_share(row),
        cost_ms=cost_ms,
        self_ms=self_ms,
        hidden_ms=None if cost_ms is None or self_ms is None else cost_ms - self_ms,
        total_ms=row.total_us / 1000 / table.views,
    )


def link_sorts(place: TablePlace) -> Sequence[TableLink]:
    """Returns the heads of the columns. Self time per view has the order of self time, unless sample rates differ."""
    here = "self_ms_per_view" if place.query.sort == "self_ms" else place.query.sort
    links = _links(SORT_WORDS, here, lambda key: place.link(sort=key))
    return [replace(link, title=SORT_TITLES[link.key]) for link in links]


def _links(labels: dict[str, str], here: str, link: Callable[[str], str]) -> Sequence[TableLink]:
    return [TableLink(key=key, word=word, link=link(key), is_here=key == here) for key, word in labels.items()]


def _link_of_group(row: FunctionRow, place: TablePlace) -> str | None:
    """Returns the address of a group's functions; None if no category or search selects only them."""
    name, by = str(row.id), place.query.group_by
    if by in ("function", "party") or name == NO_GROUP or len(name) > MAX_SEARCH:
        return None
    narrowing = Narrowing((name,)) if by == "category" else Narrowing(search=name)
    return f"{place.path}?{write_query([*place.slice_.params(), *narrowing.params()])}"
