"""The page of one page view: its parts of time, its timeline, and its functions compared with those of other views.

The page's script draws the timeline and fetches the functions. With `plain=1` the page has the functions and the marks,
for clients without JavaScript.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.exports.view_timelines import select_named_timeline
from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.page_views.traces import TraceRow
from aggregate.selectors.page_views.view_facts import ViewDetails, select_view
from aggregate.selectors.slice.slices import AS_STORED, DISPLAY, Slice, SliceError
from aggregate.selectors.statistics.estimates import COST_SORT, TableQuery, select_estimated
from dashboard.api.slices.timeline import read_view_id
from dashboard.layout.display_line import build_display_line
from dashboard.layout.export_menu import ExportMenu, build_export_menu, name_view
from dashboard.layout.shell import Shell, build_tabs
from dashboard.pages.page_views.list_page import MAX_SKIP, link_to, one_view, read_listing
from dashboard.web.access import get_visible_project, may_read_raw
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import read_choice, read_count, read_one
from dashboard.web.queries import read_page_slice, write_query
from ingest.models import Receipt
from profcore.code.categories import FUNC_CATEGORIES
from profcore.code.source_links import make_trace_link
from profcore.stats.summaries import MIN_VIEWS, FuncSummary
from profcore.trace.dimensions import END_REASONS, EXPORTED_DIMENSIONS
from projects.limits import ProjectLimit, limit_of
from projects.models import Project

TOP_FUNCTIONS: Final = 25
MAX_PLAIN_MARKS: Final = 500
END_WORDS: Final = {
    "unknown": "not known",
    "stop": "the page stopped it",
    "timer": "the time limit was reached",
    "timeout": "the time limit was reached",
    "samplebufferfull": "the sample buffer was full",
    "pagehide": "the page was left or hidden",
    "hidden": "the page was hidden",
    "freeze": "the browser froze the page",
    "beforeunload": "the page was about to be left",
    "route": "the page changed its address without a load",
    "prerender": "a page that was rendered ahead was shown",
    "other": "another reason of the client",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """One trace in the table, with its labels. `link` leads to its raw body, if this user may read it."""

    trace: TraceRow
    state: str
    end_reason: str
    link: str | None
    is_gone: bool
    gone_at: datetime | None  # when today's retention deleted it; None if that would have kept it


@dataclass(frozen=True, slots=True)
class FuncLine:
    """One function of the view, compared with other views: `usual` is None if it is not known there."""

    row: FunctionRow
    usual: FuncSummary | None

    @property
    def times(self) -> float | None:
        """Its self and hidden time divided by the median; None if half of the views never ran it."""
        if self.usual is None or not self.usual.p50_ms.value:
            return None
        return self.row.cost_us / 1000 / self.usual.p50_ms.value

    @property
    def is_beyond_p95(self) -> bool:
        """Returns whether at most one view in twenty took more."""
        return self.usual is not None and self.row.cost_us / 1000 > self.usual.p95_ms.value


def _build_export(project: Project, known: ViewDetails, view_slice: Slice) -> ExportMenu | None:
    """Returns the exports, None if raw traces have expired or none is folded yet."""
    if known.gone or not known.folded:
        return None
    return build_export_menu(project, view_slice, view=name_view(known.started_at, known.view_id))


@project_page(
    name="view",
    path="views/<str:view_id>/",
    heavy="plain",
    on_replica=True,
    is_saveable=True,
)
@answer_unchanged
def show_view(request: HttpRequest, slug: str, view_id: str) -> HttpResponse:
    project, known, slice_ = _read(request, slug, view_id)
    view_slice = _own_slice(project, known, slice_)
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    context: dict[str, Any] = {  # Any: what a template shows
        "project": project,
        "known": known,
        "view": known.view,
        "is_gone": bool(known.gone),
        "is_pending": not known.folded,
        "is_plain": is_plain,
        "shell": Shell(build_tabs(project, slice_, "views"), None),
        "display": build_display_line(request, project, slice_),
        "export": _build_export(project, known, view_slice),
        "categories": FUNC_CATEGORIES.items(),
        **_describe_view(project, known),
        **_describe_traces(request, project, known),
        **_link_view(request, project, known, slice_),
        **_place_in_list(request, project, slice_),
    }
    if is_plain:
        context |= _compare(project, known, slice_) | _plain_timeline(project, known, view_slice)
    return render(request, "dashboard/views/view.html", context)


def _describe_view(project: Project, known: ViewDetails) -> dict[str, object]:
    """Returns the facts about the view: its dimensions, its envelopes and tags."""
    values = known.traces[0].dimensions
    return {
        "values": values,
        "dimensions": [(dimension, values[dimension.name]) for dimension in EXPORTED_DIMENSIONS],
        "request_traces": [
            (trace, make_trace_link(project.trace_link_template, trace)) for trace in known.request_traces
        ],
        "facts": [known.facts[seq] for seq in sorted(known.facts)],
        "tags": sorted({tag for facts in known.facts.values() for tag in facts.tags}),
    }


def _describe_traces(request: HttpRequest, project: Project, known: ViewDetails) -> dict[str, object]:
    """Returns the table of traces, and the retention that decides how long they are kept."""
    may_raw = may_read_raw(request.user, project)
    keep_raw = limit_of(project, "keep_raw_days")
    return {
        "lines": [_line(project, trace, may_raw, keep_raw) for trace in known.traces],
        "may_raw": may_raw,
        "keep_raw": keep_raw,
        "keep_views": limit_of(project, "keep_views_days"),
    }


def _link_view(request: HttpRequest, project: Project, known: ViewDetails, slice_: Slice) -> dict[str, object]:
    """Returns the addresses that the page and its script use."""
    slug, usual = project.slug, _usual_slice(slice_, known)
    on_it = {"release": known.release, "page": known.page} | ({DISPLAY: AS_STORED} if slice_.as_stored else {})
    address = reverse("view", args=[slug, known.view_id])
    functions_address = reverse("view-functions", args=[slug, known.view_id])
    same = replace(usual, ranges=(), dimensions=())
    return {
        "timeline_url": f"{reverse('api-timeline', args=[slug, known.view_id])}?{write_query(on_it)}",
        "function_url": f"{reverse('function', args=[slug, 'ID'])}?{usual.query()}",
        "functions_link": f"{functions_address}?{request.GET.urlencode()}",
        "plain_link": f"{address}?{_with_plain(request.GET)}",
        "tree_link": link_to("flame-graph", project, _own_slice(project, known, slice_), []),
        "same_link": link_to("views", project, same, []),
        "other_links": [(release, page, f"{address}?{_on(release, page)}") for release, page in known.others],
    }


@project_page(
    kind="part",
    name="view-functions",
    path="views/<str:view_id>/functions/",
    heavy="yes",
    on_replica=True,
)
@answer_unchanged
def show_view_functions(request: HttpRequest, slug: str, view_id: str) -> HttpResponse:
    project, known, slice_ = _read(request, slug, view_id)
    return render(request, "dashboard/views/_functions.html", _compare(project, known, slice_))


def _read(request: HttpRequest, slug: str, view_id: str) -> tuple[Project, ViewDetails, Slice]:
    """Returns the project, the view, and the slice in the address. Raises Http404."""
    project = get_visible_project(request.user, slug)
    release, page = (read_one(request.GET, name, "") or None for name in ("on_release", "on_page"))
    known = select_view(project.pk, read_view_id(view_id), release=release, page=page)
    if known is None:
        raise Http404("There is no such view.")
    return project, known, read_page_slice(request, project)


def _with_plain(params: QueryDict) -> str:
    plain = params.copy()
    plain["plain"] = "1"
    return plain.urlencode(safe="/:")


def _on(release: str, page: str) -> str:
    return write_query({"on_release": release, "on_page": page})


def _line(project: Project, trace: TraceRow, may_raw: bool, keep_raw: ProjectLimit) -> TraceLine:
    is_kept = trace.trace_id is not None
    kept_until = trace.received_at + timedelta(days=keep_raw.effective)
    return TraceLine(
        trace=trace,
        state=Receipt.State(trace.state).name.capitalize(),
        end_reason=END_WORDS.get(END_REASONS[trace.end_reason], END_REASONS[trace.end_reason]),
        link=reverse("api-raw-trace", args=[project.slug, trace.ref]) if is_kept and may_raw else None,
        is_gone=not is_kept and trace.state == Receipt.State.FOLDED,
        gone_at=None if is_kept or kept_until > timezone.now() else kept_until,
    )


def _place_in_list(request: HttpRequest, project: Project, slice_: Slice) -> dict[str, Any]:  # Any: as above
    """Returns the link to the list, and to the views before and after in it if the address has a place."""
    listing = read_listing(request.GET, project)
    links = {"list_link": link_to("views", project, slice_, listing.pairs(skip=None))}
    if "at" not in request.GET:
        return links
    at = read_count(request.GET, "at", default=1, high=MAX_SKIP + 1)

    def go(place: int) -> str | None:
        pairs = [*listing.pairs(skip=None), ("go", str(place))]
        return link_to("views", project, slice_, pairs) if 1 <= place <= MAX_SKIP else None

    return links | {"at": at, "order": listing.query.order, "before_link": go(at - 1), "next_link": go(at + 1)}


def _own_slice(project: Project, known: ViewDetails, slice_: Slice) -> Slice:
    """Returns the slice of only this view, with the display rules of the slice in the address."""
    return replace(one_view(project, known.view_id, known.release, known.page), as_stored=slice_.as_stored)


def _usual_slice(slice_: Slice, known: ViewDetails) -> Slice:
    """Returns the views to compare with: those of the same page and release, within the slice in the address."""
    return Slice(
        project_id=slice_.project_id,
        releases=(known.release,),
        pages=(known.page,),
        ranges=slice_.ranges,
        dimensions=slice_.dimensions,
        as_stored=slice_.as_stored,
    )


def _compare(project: Project, known: ViewDetails, slice_: Slice) -> dict[str, Any]:  # Any: as above
    """Returns the view's functions, compared with those of other views."""
    usual = _usual_slice(slice_, known)
    context: dict[str, Any] = {
        "project": project,
        "slice": usual,  # what the links of functions keep
        "known": known,
        "view": known.view,
        "min_views": MIN_VIEWS,
    }
    if known.view is None:
        return context | {"funcs": []}
    view_slice = _own_slice(project, known, slice_)
    table = select_estimated(view_slice, TableQuery(limit=TOP_FUNCTIONS, sort=COST_SORT, measure="self+hidden"))
    beside: FunctionTable = select_estimated(usual, TableQuery(measure="self+hidden"))
    return context | {
        "table": table,
        "beside": beside,
        "all_link": link_to("functions", project, view_slice, []),
        "whole_us": table.time.js_us + table.time.hidden_us,
        "usual_link": link_to("functions", project, usual, []),
        "funcs": [FuncLine(row, beside.estimates.get(row.id)) for row in table.functions],
    }


def _plain_timeline(project: Project, known: ViewDetails, view_slice: Slice) -> dict[str, Any]:  # Any: as above
    if known.gone or not known.folded:
        return {}
    try:
        named = select_named_timeline(view_slice, project=project.name)
    except SliceError as error:
        return {"timeline_problem": error}
    marks: Sequence[Any] = named.view.marks
    return {"timeline": named.view, "marks": marks[:MAX_PLAIN_MARKS], "mark_count": len(marks)}
