"""One page view: what it was, where its time went, its timeline, its functions beside those of a usual view.

The page comes at once. Its script draws the timeline, and the functions come by themselves; with `plain=1` they and the
marks come with the page, for whoever has no script.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors import Asked, FunctionRow, FunctionTable, Slice, SliceError, TraceRow, select_estimated
from aggregate.selectors.slices import AS_STORED, DISPLAY
from aggregate.selectors.view_facts import KnownView, select_view
from aggregate.selectors.view_timelines import select_named_timeline
from dashboard.access import get_visible_project, may_read_raw
from dashboard.display_line import build_display_line
from dashboard.export_menu import build_export_menu
from dashboard.params import read_choice, read_count, read_one
from dashboard.shell import Shell, build_tabs
from dashboard.unchanged import answer_unchanged
from dashboard.view_list import MAX_SKIP, link_to, one_view, read_listing
from dashboard.view_timeline import read_view_id
from dashboard.views import private_page, private_part, read_page_slice
from ingest.models import Project, Receipt
from ingest.project_limits import ProjectLimit, limit_of
from profcore.dimensions import BROWSERS, DEVICE_CLASSES, END_REASONS
from profcore.formats.slice import FUNC_CATEGORIES
from profcore.stats.summaries import MIN_VIEWS, FuncSummary

TOP_FUNCTIONS: Final = 25
MAX_PLAIN_MARKS: Final = 500
END_WORDS: Final = {
    "unknown": "not told",
    "stop": "the page stopped it",
    "timer": "the time set for it was over",
    "timeout": "the time set for it was over",
    "samplebufferfull": "the sample buffer was full",
    "pagehide": "the page was left or hidden",
    "other": "a reason of the client’s own",
}


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One trace in the page's table, with its words; `link` to its raw body where this reader may have it."""

    trace: TraceRow
    state: str
    end_reason: str
    link: str | None
    is_gone: bool
    gone_at: datetime | None  # since when it is gone by today's retention; None where that would have kept it


@dataclass(frozen=True, slots=True)
class FuncLine:
    """One function of the view beside the usual view: `usual` is None where nothing is known of it there."""

    row: FunctionRow
    usual: FuncSummary | None

    @property
    def times(self) -> float | None:
        """How many times the median its self time is; None where half of the views never ran it."""
        if self.usual is None or not self.usual.p50_ms.value:
            return None
        return self.row.self_us / 1000 / self.usual.p50_ms.value

    @property
    def is_beyond_p95(self) -> bool:
        """Tells whether at most one view in twenty took more."""
        return self.usual is not None and self.row.self_us / 1000 > self.usual.p95_ms.value


@private_page
@answer_unchanged
def show_view(request: HttpRequest, slug: str, view_id: str) -> HttpResponse:
    project, known, slice_ = _read(request, slug, view_id)
    own = _own_slice(project, known, slice_)
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    may_raw = may_read_raw(request.user, project)
    keep_raw = limit_of(project, "keep_raw_days")
    on_it = {"release": known.release, "page": known.page} | ({DISPLAY: AS_STORED} if slice_.as_stored else {})
    address = reverse("view", args=[slug, known.view_id])
    functions_address = reverse("view-functions", args=[slug, known.view_id])
    same = replace(_usual_slice(slice_, known), ranges=(), devices=(), browsers=())
    context: dict[str, Any] = {  # Any: what a template shows
        "project": project,
        "known": known,
        "view": known.view,
        "device": DEVICE_CLASSES[known.traces[0].device],
        "browser": BROWSERS[known.traces[0].browser],
        "facts": [known.facts[seq] for seq in sorted(known.facts)],
        "tags": sorted({tag for facts in known.facts.values() for tag in facts.tags}),
        "lines": [_line(project, trace, may_raw, keep_raw) for trace in known.traces],
        "may_raw": may_raw,
        "keep_raw": keep_raw,
        "keep_views": limit_of(project, "keep_views_days"),
        "is_gone": bool(known.gone),
        "is_pending": not known.folded,
        "shell": Shell(build_tabs(project, slice_, "views"), None),
        "display": build_display_line(request, project, slice_),
        "export": None if known.gone or not known.folded else build_export_menu(project, own),
        "timeline_url": f"{reverse('api-timeline', args=[slug, known.view_id])}?{urlencode(on_it, safe='/:')}",
        "function_url": f"{reverse('function', args=[slug, 'ID'])}?{_usual_slice(slice_, known).query()}",
        "functions_link": f"{functions_address}?{request.GET.urlencode()}",
        "plain_link": f"{address}?{_with_plain(request.GET)}",
        "tree_link": link_to("tree", project, own, []),
        "same_link": link_to("views", project, same, []),
        "other_links": [(release, page, f"{address}?{_on(release, page)}") for release, page in known.others],
        "categories": FUNC_CATEGORIES.items(),
        "is_plain": is_plain,
        **_place_in_list(request, project, slice_),
    }
    if is_plain:
        context |= _compare(project, known, slice_) | _plain_timeline(project, known, own)
    return render(request, "dashboard/view.html", context)


@private_part
@answer_unchanged
def show_view_functions(request: HttpRequest, slug: str, view_id: str) -> HttpResponse:
    project, known, slice_ = _read(request, slug, view_id)
    return render(request, "dashboard/_view_functions.html", _compare(project, known, slice_))


def _read(request: HttpRequest, slug: str, view_id: str) -> tuple[Project, KnownView, Slice]:
    """Returns the project, the view, and the slice that it was looked for in. Raises Http404."""
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
    return urlencode({"on_release": release, "on_page": page}, safe="/:")


def _line(project: Project, trace: TraceRow, may_raw: bool, keep_raw: ProjectLimit) -> TraceLine:
    is_kept = trace.trace_id is not None
    kept_until = trace.received_at + timedelta(days=keep_raw.effective)
    return TraceLine(
        trace,
        Receipt.State(trace.state).name.lower(),
        END_WORDS.get(END_REASONS[trace.end_reason], END_REASONS[trace.end_reason]),
        reverse("api-raw-trace", args=[project.slug, trace.ref]) if is_kept and may_raw else None,
        not is_kept and trace.state == Receipt.State.FOLDED,
        None if is_kept or kept_until > timezone.now() else kept_until,
    )


def _place_in_list(request: HttpRequest, project: Project, slice_: Slice) -> dict[str, Any]:  # Any: as above
    """Returns the links to the list that led here, and to the views before and after in it, where one did."""
    listing = read_listing(request.GET, project)
    links = {"list_link": link_to("views", project, slice_, listing.pairs(skip=None))}
    if "at" not in request.GET:
        return links
    at = read_count(request.GET, "at", default=1, high=MAX_SKIP + 1)

    def go(place: int) -> str | None:
        pairs = [*listing.pairs(skip=None), ("go", str(place))]
        return link_to("views", project, slice_, pairs) if 1 <= place <= MAX_SKIP else None

    return links | {"at": at, "order": listing.query.order, "before_link": go(at - 1), "next_link": go(at + 1)}


def _own_slice(project: Project, known: KnownView, slice_: Slice) -> Slice:
    """Returns the slice of the view alone, shown as the slice that it was looked for in."""
    return replace(one_view(project, known.view_id, known.release, known.page), as_stored=slice_.as_stored)


def _usual_slice(slice_: Slice, known: KnownView) -> Slice:
    """Returns the views to hold a view against: those of its page and release, in the time and place looked at."""
    return Slice(
        slice_.project_id,
        releases=(known.release,),
        pages=(known.page,),
        ranges=slice_.ranges,
        devices=slice_.devices,
        browsers=slice_.browsers,
        as_stored=slice_.as_stored,
    )


def _compare(project: Project, known: KnownView, slice_: Slice) -> dict[str, Any]:  # Any: as above
    """Returns the view's functions beside the usual view's."""
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
    own = _own_slice(project, known, slice_)
    table = select_estimated(own, Asked(limit=TOP_FUNCTIONS))
    beside: FunctionTable = select_estimated(usual, Asked())
    return context | {
        "table": table,
        "beside": beside,
        "all_link": link_to("page", project, own, []),
        "usual_link": link_to("page", project, usual, []),
        "funcs": [FuncLine(row, beside.self_estimates.get(row.id)) for row in table.functions],
    }


def _plain_timeline(project: Project, known: KnownView, own: Slice) -> dict[str, Any]:  # Any: as above
    if known.gone or not known.folded:
        return {}
    try:
        named = select_named_timeline(own, project=project.name)
    except SliceError as error:
        return {"timeline_problem": error}
    marks: Sequence[Any] = named.view.marks
    return {"timeline": named.view, "marks": marks[:MAX_PLAIN_MARKS], "mark_count": len(marks)}
