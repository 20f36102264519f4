"""The page "Views": the page views of a slice as a list, and the distribution of their times.

The list is fetched as a part of the page; with `plain=1` it is in the page, for clients without JavaScript. `go=N`
redirects to the N-th view of the list: a view's page links to the next view without reading the list.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.functions.calls import select_func
from aggregate.selectors.functions.display_rows import is_made_id
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.page_views.view_facts import ListedView, select_listed
from aggregate.selectors.page_views.view_lists import (
    LIST_MEASURES,
    LIST_ORDERS,
    ListQuery,
    ViewPage,
    select_view_page,
)
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import Slice, read_func_id
from dashboard.layout.export_menu import build_export_menu, make_profile_url, name_view
from dashboard.layout.histogram import SCALES, build_histogram
from dashboard.layout.shell import build_shell
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import ParamError, read_choice, read_count, read_one
from dashboard.web.project_pages import Tab
from dashboard.web.queries import read_page_slice, write_query
from profcore.stats.summaries import MIN_VIEWS
from projects.limits import limit_of
from projects.models import Project

PER_PAGE: Final = 25
MAX_SKIP: Final = 10_000  # no one pages further than this: a narrower slice is better
MARKED: Final = (("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99))
US_PER_MS: Final = 1_000
MAX_MS: Final = 10**9
MEASURE_WORDS: Final = {"js": "Script", "hidden": "Hidden", "self": "Self", "total": "Total"}
# (order, label, meaning)
ORDER_WORDS: Final = (
    ("typical", "Typical", "Nearest to the median first."),
    ("worst", "Worst", "Most time first."),
    ("newest", "Newest", "Latest start first."),
    ("random", "Random", "A random order that stays the same."),
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The list's parameters in the address: everything except the slice."""

    query: ListQuery
    func: FunctionRow | None
    scale: str

    def pairs(self, **changes: object) -> list[tuple[str, str]]:
        """Returns the query parameters. `changes` replace some of them; None removes one."""
        low, high = self.query.low_us, self.query.high_us
        pairs: dict[str, object] = {
            "func": None if self.func is None else self.func.id,
            "by": self.query.by,
            "order": self.query.order,
            "low": None if low is None else _as_ms(low),
            "high": None if high is None else _as_ms(high),
            "scale": None if self.scale == "log" else self.scale,
            "skip": self.query.offset or None,
        }
        return [(name, str(value)) for name, value in (pairs | changes).items() if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRow:
    """One view of the list, with its labels and links. `at` is its place, from 1."""

    listed: ListedView
    at: int
    beside_us: int  # the second time column: hidden time next to script time, else script time
    link: str
    profile_url: str
    profile_name: str
    has_raw: bool


def _as_ms(us: int) -> str:
    """Returns µs as ms with all digits, so that a bar's link lists exactly its views."""
    return f"{us / US_PER_MS:.15g}"


def read_listing(params: QueryDict, project: Project) -> Listing:
    """Reads the list's own parameters. Raises `ParamError`."""
    func = _read_func(params, project)
    by = read_choice(params, "by", LIST_MEASURES, "self" if func else "js")
    if func is None and by in ("self", "total"):
        raise ParamError("by", f"by={by} is the time of a function: it needs func, a function's id.")
    if func is not None and by in ("js", "hidden"):
        raise ParamError("by", f"by={by} is the time of the whole view: it goes without func.")
    order = read_choice(params, "order", LIST_ORDERS, "typical")
    skip = 0 if read_one(params, "skip", "0") == "0" else read_count(params, "skip", default=1, high=MAX_SKIP)
    query = ListQuery(
        by=by,  # type: ignore[arg-type]  # checked above, as the order is
        order=order,  # type: ignore[arg-type]
        func_id=None if func is None else func.id,
        low_us=_read_us(params, "low"),
        high_us=_read_us(params, "high"),
        offset=skip,
        limit=PER_PAGE,
    )
    return Listing(query, func, read_choice(params, "scale", SCALES, "log"))


def _read_func(params: QueryDict, project: Project) -> FunctionRow | None:
    text = read_one(params, "func", "")
    if not text:
        return None
    func_id = read_func_id(text)
    if func_id is not None and is_made_id(func_id):
        raise ParamError("func", f"func must be the id of one function, not of a group; not {text[:80]!r}.")
    func = None if func_id is None else select_func(project.pk, func_id)
    if func is None:
        raise ParamError("func", f"func must be a function's id; not {text[:80]!r}.")
    return func


def _read_us(params: QueryDict, name: str) -> int | None:
    text = read_one(params, name, "")
    if not text:
        return None
    try:
        ms = float(text)
    except ValueError:
        ms = -1.0
    if not 0 <= ms <= MAX_MS:
        raise ParamError(name, f"{name} must be a number of ms from 0 to {MAX_MS}; not {text[:80]!r}.")
    return round(ms * US_PER_MS)


@project_page(
    name="views", path="views/", tab=Tab(label="Views", key="v"), heavy="plain", on_replica=True, is_saveable=True
)
@answer_unchanged
def show_views(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    listing = read_listing(request.GET, project)
    if "go" in request.GET:
        return _redirect_to_view(project, slice_, listing, read_count(request.GET, "go", default=1, high=MAX_SKIP))
    releases = select_releases(project.pk)
    if not releases:
        return redirect("overview", slug)  # it shows the first steps
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    kept = listing.pairs(skip=None) + ([("plain", "1")] if is_plain else [])
    context: dict[str, Any] = {  # Any: what a template shows
        "project": project,
        "slice": slice_,
        "listing": listing,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(slice_),
        "shell": build_shell(request, project, slice_, "views", releases=releases, now=timezone.now(), kept=kept),
        "export": build_export_menu(project, slice_),
        "part_link": link_to("views-list", project, slice_, listing.pairs()),
        "plain_link": link_to("views", project, slice_, [*listing.pairs(), ("plain", "1")]),
        "is_plain": is_plain,
        **(build_list(project, slice_, listing) if is_plain else {}),
    }
    return render(request, "dashboard/views/list.html", context)


@project_page(
    kind="part",
    name="views-list",
    path="views/list/",
    heavy="yes",
    on_replica=True,
)
@answer_unchanged
def show_view_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    context = build_list(project, slice_, read_listing(request.GET, project))
    return render(request, "dashboard/views/_list.html", context)


def _redirect_to_view(project: Project, slice_: Slice, listing: Listing, at: int) -> HttpResponse:
    """Redirects to the view at a place of the list, or to the list if there is none."""
    listed = select_listed(project.pk, select_view_page(slice_, replace(listing.query, offset=at - 1, limit=1)))
    if not listed:
        return redirect(link_to("views", project, slice_, listing.pairs(skip=None)))
    return redirect(_link_to_view(project, slice_, listing, listed[0], at))


def link_to(name: str, project: Project, slice_: Slice, pairs: Sequence[tuple[str, str]]) -> str:
    """Returns the address of a page of a project with a slice and more parameters."""
    query = write_query([*slice_.params(), *pairs])
    return reverse(name, args=[project.slug]) + (f"?{query}" if query else "")


def _link_to_view(project: Project, slice_: Slice, listing: Listing, listed: ListedView, at: int) -> str:
    """Returns the address of one view, with the slice, its place in the list, and which of its pages it is."""
    pairs = [*slice_.params(), *listing.pairs(skip=None), ("at", str(at))]
    pairs += [("on_release", listed.view.release), ("on_page", listed.view.page)]
    return f"{reverse('view', args=[project.slug, listed.view.view_id])}?{write_query(pairs)}"


def one_view(project: Project, view_id: UUID, release: str, page: str) -> Slice:
    """Returns the slice of one view with one release and page."""
    return Slice(project_id=project.pk, releases=(release,), pages=(page,), views=(view_id,))


def build_list(project: Project, slice_: Slice, listing: Listing) -> dict[str, Any]:  # Any: as above
    """Returns the distribution and one page of the list. Raises `SliceError`."""
    page = select_view_page(slice_, listing.query)
    spread = page.distribution
    is_too_few = len(spread.values_us) < MIN_VIEWS
    marks = [] if is_too_few else [(word, spread.percentile_us(part) or 0) for word, part in MARKED]
    histogram = build_histogram(spread.values_us, listing.scale, marks)  # type: ignore[arg-type]  # checked when read

    def link(**changes: object) -> str:
        return link_to("views", project, slice_, listing.pairs(**{"skip": None, **changes}))

    query = listing.query
    rows = list(_rows(project, slice_, listing, page))
    end = query.offset + PER_PAGE
    return {
        "project": project,
        "listing": listing,
        "measure": MEASURE_WORDS[query.by],
        "beside": "Hidden" if query.by == "js" else "Script",
        "page": page,
        "spread": spread,
        "histogram": histogram,
        "bars": [
            (bar, link(low=_as_ms(bar.low_us), high=_as_ms(bar.high_us)))
            for bar in (histogram.bars if histogram else ())
        ],
        "is_too_few": is_too_few,
        "min_views": MIN_VIEWS,
        "rows": rows,
        "has_vitals": any(row.listed.lcp_us is not None or row.listed.inp_us is not None for row in rows),
        "first": query.offset + 1,
        "last": query.offset + len(page.keys),
        "orders": [(word, link(order=order), order == query.order, why) for order, word, why in ORDER_WORDS],
        "why": next(why for order, _, why in ORDER_WORDS if order == query.order),
        "measures": _measures(listing, link),
        "scales": [(scale, link(scale=scale), scale == listing.scale) for scale in SCALES],
        "all_link": link(low=None, high=None),
        "no_func_link": link(func=None, by=None, low=None, high=None),
        "before_link": link(skip=max(query.offset - PER_PAGE, 0) or None) if query.offset else None,
        "next_link": link(skip=end) if end < page.view_count and end <= MAX_SKIP else None,
        "is_ranked_sample": page.ranked < spread.population and query.func_id is None,
        "keep_raw": limit_of(project, "keep_raw_days"),
        "viewer_origin": settings.VIEWER_ORIGIN,
    }


def _measures(listing: Listing, link: Any) -> list[tuple[str, str, bool]]:  # Any: makes a link of changes
    measures = ("self", "total") if listing.func else ("js", "hidden")
    return [(MEASURE_WORDS[by], link(by=by, low=None, high=None), by == listing.query.by) for by in measures]


def _rows(project: Project, slice_: Slice, listing: Listing, page: ViewPage) -> Iterator[ListedRow]:
    for at, listed in enumerate(select_listed(project.pk, page), listing.query.offset + 1):
        view = listed.view
        yield ListedRow(
            listed=listed,
            at=at,
            beside_us=view.time.hidden_us if listing.query.by == "js" else view.time.js_us,
            link=_link_to_view(project, slice_, listing, listed, at),
            profile_url=make_profile_url(project, one_view(project, view.view_id, view.release, view.page)),
            profile_name=f"{project.slug} {view.release} {view.page} {name_view(listed.started_at, view.view_id)}",
            has_raw=bool(listed.traces) and all(trace.trace_id is not None for trace in listed.traces),
        )
