"""The page "Quality": how complete the data of all other pages is, and what to do about missing data.

Counts and cells come with the page. The part about a sample of receipts is fetched, because it reads single views.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.project.absences import select_absences
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.header_costs import select_header_costs
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.project.quality import (
    REJECTED_READ,
    WRONG_FROM,
    IntakeDay,
    SampledReceipts,
    select_funcs_beyond,
    select_intake_days,
    select_measured,
    select_overflow,
    select_receipts,
    select_rejections,
)
from aggregate.selectors.project.refolds import select_refold
from aggregate.selectors.project.reused_releases import select_reused_release
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.shell import build_shell
from dashboard.pages.quality.absence_reasons import explain_absence
from dashboard.pages.quality.header_costs import explain_header_costs
from dashboard.pages.quality.headline import Quality, write_headline
from dashboard.pages.quality.reasons import explain_reason
from dashboard.pages.quality.sdk_losses import explain_sdks
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.own_address import server_origin
from dashboard.web.params import read_choice
from dashboard.web.project_pages import Tab
from dashboard.web.queries import read_page_slice, write_query
from ingest.snippet.files import read_fixed_file
from ingest.snippet.views import SNIPPET_PATH
from profcore.stats.summaries import MIN_VIEWS

SHOWN_DAYS: Final = 60
MAX_DAYS: Final = 10_000  # 27 years
MAX_ROWS: Final = 40  # of browsers × device classes, and of their intervals: there are 10 × 7
MAX_ABSENT_PAGES: Final = 10  # pages whose views could not be recorded; the API lists more
BAR_WIDTH: Final = 10
CHART_HEIGHT: Final = 100
LEAST_DAYS: Final = 14  # so that the bar of a single day is narrow
STATES: Final = (("folded", "Folded"), ("pending", "Pending"), ("rejected", "Rejected"), ("refused", "Refused"))


@dataclass(frozen=True, slots=True)
class IntakePiece:
    """One part of a day's bar, in units of the chart."""

    state: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class IntakeBar:
    """The traces of one day, drawn from the bottom up."""

    day: IntakeDay
    x: int
    pieces: Sequence[IntakePiece]


@dataclass(frozen=True, slots=True)
class IntakeChart:
    """A bar for each day at its date; a day without traces is a gap. `highest` is the count of a full bar."""

    bars: Sequence[IntakeBar]
    width: int
    highest: int
    last: date | None  # the day at the right end, if the bars reach it


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """One reason for missing traces, with its meaning and what to do."""

    reason: str
    count: int
    meaning: str
    advice: str


@project_page(
    name="quality",
    path="quality/",
    tab=Tab(label="Quality", key="q"),
    heavy="plain",
    on_replica=True,
    for_guests="open",
    is_saveable=True,
)
@answer_unchanged
def show_quality(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    kept = [("plain", "1")] if is_plain else []
    releases = select_releases(project.pk)
    measured = select_measured(slice_)
    whole, rows = measured.whole, measured.by_browser
    intake, absences, overflow = read_intake(slice_), read_absences(request, slice_), select_overflow(slice_)
    context = (
        intake
        | absences
        | {
            "headline": write_headline(
                Quality(
                    arrivals=intake["arrivals"],
                    totals=intake["totals"],
                    rejected_for=intake["rejected"][0].reason if intake["rejected"] else "",
                    oldest_pending_s=intake["status"].oldest_pending_s,
                    absences=absences["absences"],
                    whole=whole,
                    overflow=overflow,
                    reused=select_reused_release(slice_, whole.views),
                )
            ),
            "project": project,
            "slice": slice_,
            "shell": build_shell(request, project, slice_, "quality", releases=releases, now=timezone.now(), kept=kept),
            "is_plain": is_plain,
            "whole": whole,
            "rows": rows[:MAX_ROWS],
            "row_count": len(rows),
            "navigations": measured.by_navigation,
            "sdks": explain_sdks(slice_, measured.by_sdk),
            "overflow": overflow,
            "header_costs": explain_header_costs(select_header_costs(slice_)),
            "refold": select_refold(project.pk),
            "funcs_beyond": select_funcs_beyond(slice_),
            "max_new_funcs": settings.FOLD_MAX_NEW_FUNCS,
            "max_groups": settings.INGEST_MAX_GROUPS,
            "max_new_groups": settings.INGEST_MAX_NEW_GROUPS,
            "by_day": select_overview(slice_, ["day"], limit=MAX_DAYS).rows[-SHOWN_DAYS:],
            "min_views": MIN_VIEWS,
            "snippet_bytes": measure_snippet(),
            "sampled_link": f"{reverse('quality-sampled', args=[slug])}?{slice_.query()}",
            "plain_link": f"{reverse('quality', args=[slug])}?{write_query([*slice_.params(), ('plain', '1')])}",
            **(read_sampled(slice_, whole.views) if is_plain else {}),
        }
    )
    return render(request, "dashboard/quality/page.html", context)


def read_intake(slice_: Slice) -> dict[str, Any]:  # Any: a template's values
    """Returns the received and refused traces, with their reasons and days."""
    arrivals, rejected, status = select_arrivals(slice_), select_rejections(slice_), select_status(slice_.project_id)
    days = select_intake_days(slice_, limit=MAX_DAYS)
    last_days, waits_s = days[-SHOWN_DAYS:], status.oldest_pending_s
    return {
        "status": status,
        "oldest_pending_at": None if waits_s is None else timezone.now() - timedelta(seconds=waits_s),
        "arrivals": arrivals,
        "refused": explain_reasons(arrivals.refused_by_reason),
        "rejected": explain_reasons(rejected.by_reason),
        "rejected_read": rejected.read,
        "is_rejected_cut": rejected.read >= REJECTED_READ,
        "days": last_days,
        "totals": {state: sum(getattr(day, state) for day in days) for state, _ in STATES},
        "states": STATES,
        "chart": draw_days(last_days),
    }


def read_absences(request: HttpRequest, slice_: Slice) -> dict[str, Any]:  # Any: as above
    """Returns the page views that could not be recorded, with their reasons in words."""
    absences = select_absences(slice_)
    origin = server_origin(request)
    return {
        "absences": absences,
        "absent_rows": [explain_absence(row, origin) for row in absences.by_reason],
        "absent_pages": absences.by_page[:MAX_ABSENT_PAGES],
    }


@project_page(
    kind="part", name="quality-sampled", path="quality/sampled/", heavy="yes", on_replica=True, for_guests="fetch"
)
@answer_unchanged
def show_sampled(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    views = select_measured(slice_).whole.views
    return render(request, "dashboard/quality/_sampled.html", read_sampled(slice_, views))


def read_sampled(slice_: Slice, views: int) -> dict[str, object]:
    """Returns the context of the part about a sample of receipts."""
    receipts = select_receipts(slice_, views)
    return {
        "receipts": receipts,
        "min_views": MIN_VIEWS,
        "intervals": receipts.intervals[:MAX_ROWS],
        "wrong_from": f"{WRONG_FROM:g}",
        "measured": sum(row.measured for row in receipts.intervals),
        "wrong": sum(row.wrong for row in receipts.intervals),
        "isolated": name_isolation(receipts),
    }


def name_isolation(receipts: SampledReceipts) -> list[tuple[str, int]]:
    """Returns how many traces are from cross-origin isolated pages, with labels."""
    labels = ((True, "isolated"), (False, "not isolated"), (None, "not known"))
    return [(word, receipts.isolated[key]) for key, word in labels if receipts.isolated.get(key)]


def explain_reasons(by_reason: Mapping[str, int]) -> list[ReasonRow]:
    """Returns a row for each reason, the most first."""
    ordered = sorted(by_reason.items(), key=lambda pair: (-pair[1], pair[0]))
    return [ReasonRow(reason, count, *explain_reason(reason)) for reason, count in ordered]


def draw_days(days: Sequence[IntakeDay]) -> IntakeChart:
    """Returns the chart of the traces by day."""
    totals = [sum(getattr(day, state) for state, _ in STATES) for day in days]
    highest = max(totals, default=0)
    bars = []
    for day in days:
        top, pieces = float(CHART_HEIGHT), []
        for state, _ in STATES:
            height = CHART_HEIGHT * getattr(day, state) / (highest or 1)
            top -= height
            if height:
                pieces.append(IntakePiece(state, f"{top:.1f}", f"{height:.1f}"))
        bars.append(IntakeBar(day, BAR_WIDTH * (day.day - days[0].day).days, pieces))
    span = bars[-1].x // BAR_WIDTH + 1 if bars else 1
    last = days[-1].day if span >= LEAST_DAYS else None
    return IntakeChart(bars, BAR_WIDTH * max(span, LEAST_DAYS), highest, last)


@cache
def measure_snippet() -> int:
    """Returns the size of the gzipped snippet in bytes."""
    return len(read_fixed_file(SNIPPET_PATH).bodies["gzip"])
