"""The page of one function. Its head and source come with the page, the slower parts are fetched."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, cast

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.display_rows import is_made_id
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.slice.slices import SliceError, read_func_id
from dashboard.api.slices.source import owners_of_func
from dashboard.layout.shell import Shell, build_shell, build_tabs
from dashboard.pages.function.costs import Context, build_cost, build_days, build_dimension, build_pages
from dashboard.pages.function.drill import build_calls, build_views
from dashboard.pages.function.grouped import show_grouped_row
from dashboard.pages.function.query import MEASURES, FunctionQuery, read_function_query
from dashboard.pages.function.savings import build_savings
from dashboard.pages.function.source import describe_source
from dashboard.pages.function.trend import build_relatives, build_step, build_trend
from dashboard.web.access import Guest
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import read_choice
from dashboard.web.queries import read_page_narrowing
from profcore.code.issue_links import make_issue_link
from profcore.stats.summaries import MIN_RAN, MIN_VIEWS
from profcore.trace.dimensions import DIMENSIONS

Build = Callable[[FunctionQuery, QueryDict], Context]
# name in the address → builder of its context, and its template
PARTS: Final[Mapping[str, tuple[Build, str]]] = {
    "cost": (build_cost, "cost"),
    "savings": (build_savings, "savings"),
    "trend": (build_trend, "trend"),
    "step": (build_step, "step"),
    "relatives": (build_relatives, "relatives"),
    "pages": (build_pages, "pages"),
    "calls": (build_calls, "calls"),
    **{dimension.plural: (partial(build_dimension, dimension), "breakdown") for dimension in DIMENSIONS},
    "days": (build_days, "days"),
    "views": (build_views, "views"),
}
DIMENSION_PARTS: Final = tuple(dimension.plural for dimension in DIMENSIONS)
ON_PAGE: Final = ("cost", "calls", "trend", "savings", "pages", *DIMENSION_PARTS, "days", "views")

MEMBERS_ONLY: Final = frozenset({"views", "savings"})
NESTED: Final = (("step", "step_links"), ("relatives", "relative_links"))  # parts of the trend


@project_page(
    name="function",
    path="functions/<str:func_id>/",
    heavy="plain",
    on_replica=True,
    for_guests="open",
    is_saveable=True,
)
@answer_unchanged
def show_function(request: HttpRequest, slug: str, func_id: str) -> HttpResponse:
    row_id = read_func_id(func_id)
    if row_id is not None and is_made_id(row_id):
        return show_grouped_row(request, slug, func_id)
    query = read_function_query(request, slug, func_id)
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    # Guests see no single page views, nothing that is read from raw traces, and no text of a source.
    visible_parts = (
        [part for part in ON_PAGE if part not in MEMBERS_ONLY] if isinstance(request.user, Guest) else ON_PAGE
    )
    links = {part: query.part_link(part) for part in visible_parts}
    parts = {part: _render(part, query, QueryDict(), request) for part in visible_parts} if is_plain else {}
    context = {
        **_common(query),
        **({} if isinstance(request.user, Guest) else describe_source(query, request.GET)),
        **_describe_code(query),
        "issue_link": _link_issue(query, request),
        "arrivals": select_arrivals(query.slice_),
        "measures": [(name, word, meaning, _measure_link(query, name)) for name, word, meaning in MEASURES],
        "links": links,
        "parts": parts,
        "by_dimension": [(dimension, parts.get(dimension.plural), links[dimension.plural]) for dimension in DIMENSIONS],
        "plain_link": query.link(plain="1"),
        "shell": _build_shell(request, query, is_plain=is_plain),
    }
    return render(request, "dashboard/function/page.html", context)


def _link_issue(query: FunctionQuery, request: HttpRequest) -> str | None:
    """Returns the form for an issue about the function, with its place, owners and this page in it."""
    func, project = query.func, query.project
    owners = ", ".join(owners_of_func(project, func))
    lines = [
        f"`{func.label}` costs page views time, as Fieldflame measured it.",
        f"- Defined at: `{func.place}`" if func.place else "",
        f"- Owners: {owners}" if owners else "",
        f"- Cost, callers and trend: {request.build_absolute_uri(query.link())}",
    ]
    title = f"{func.label} takes time"
    return make_issue_link(project.issue_link_template, title, "\n".join(filter(None, lines)))


def _describe_code(query: FunctionQuery) -> dict[str, object]:
    """Returns whose code the function is: its package and party, and who owns its source."""
    func = query.func
    code = load_symbols(query.project.pk)
    return {
        "package": code.package_of(func.key, func.mapped),
        "party": code.party_of(func.key, func.mapped),
        "owners": owners_of_func(query.project, func),
    }


def _build_shell(request: HttpRequest, query: FunctionQuery, *, is_plain: bool) -> Shell:
    """Returns the tabs and the bar. The bar has no category or search, but the tab is "Functions"."""
    project, slice_ = query.project, query.slice_
    kept = [*query.kept, *([("plain", "1")] if is_plain else [])]
    releases = select_releases(project.pk)
    shell = build_shell(request, project, slice_, "function", releases=releases, now=timezone.now(), kept=kept)
    return replace(shell, tabs=build_tabs(project, slice_, "functions", read_page_narrowing(request.GET)))


@project_page(
    kind="part",
    name="function-part",
    path="functions/<str:func_id>/parts/<str:part>/",
    heavy="yes",
    on_replica=True,
    for_guests="fetch",
)
@answer_unchanged
def show_function_part(request: HttpRequest, slug: str, func_id: str, part: str) -> HttpResponse:
    if part not in PARTS:
        raise Http404("There is no such part.")
    query = read_function_query(request, slug, func_id)
    build, template = PARTS[part]
    return render(request, _template(template), {**_common(query), **build(query, request.GET)})


def _render(part: str, query: FunctionQuery, params: QueryDict, request: HttpRequest) -> SafeString:
    """Returns a part with the parts that it would fetch; if it refuses the slice, the reason."""
    build, template = PARTS[part]
    try:
        context = build(query, params)
    except SliceError as error:
        return render_to_string("dashboard/layout/_bad_part.html", {"error": error}, request)
    nested = [
        _render(inner, query, QueryDict(link.partition("?")[2]), request)
        for inner, name in NESTED
        for link in cast("Sequence[str]", context.get(name, ()))  # as the part's builder has them
    ]
    context = {**_common(query), **context, "nested": nested, "is_plain": True}
    return render_to_string(_template(template), context, request)


def _template(name: str) -> str:
    return f"dashboard/function/_{name}.html"


def _common(query: FunctionQuery) -> dict[str, object]:
    return {
        "project": query.project,
        "slice": query.slice_,
        "func": query.func,
        "measure": query.measure,
        "word": query.word,
        "min_views": MIN_VIEWS,
        "min_ran": MIN_RAN,
    }


def _measure_link(query: FunctionQuery, measure: str) -> str:
    """Returns the address of this page by another measure."""
    link = query.link(measure=measure)
    return f"{link}#trend-title"
