"""The page "Quality": how far the numbers of all other pages can be believed, and what to do where they cannot.

What came in and what was measured is read from counts and cells with the page; what a sample of receipts says comes by
itself, since each of its views is looked up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors import (
    Slice,
    select_arrivals,
    select_measured,
    select_overview,
    select_receipts,
    select_releases,
    select_set_aside,
    select_status,
)
from aggregate.selectors.quality import SET_ASIDE_READ, WRONG_FROM, IntakeDay, SampledReceipts, select_intake_days
from dashboard.access import get_visible_project
from dashboard.params import read_choice
from dashboard.reasons import explain_reason
from dashboard.shell import build_shell, join_pairs
from dashboard.unchanged import answer_unchanged
from dashboard.views import private_page, private_part, read_page_slice
from ingest.snippet_views import SNIPPET_PATH, read_fixed_file
from profcore.stats.summaries import MIN_VIEWS

SHOWN_DAYS: Final = 60
MAX_DAYS: Final = 10_000  # 27 years
MAX_ROWS: Final = 40  # of browsers × device classes, and of their intervals: there are 10 × 7
BAR_WIDTH: Final = 10
CHART_HEIGHT: Final = 100
LEAST_DAYS: Final = 14  # a chart of one day is no wall of colour
STATES: Final = (("folded", "Folded"), ("pending", "Waiting"), ("set_aside", "Set aside"), ("refused", "Refused"))


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of a day's bar, in units of the chart."""

    state: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class Bar:
    """What arrived on one day, drawn from the bottom up."""

    day: IntakeDay
    x: int
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar for each day at its date: a day on which nothing came is a gap. `highest` is what a full bar counts."""

    bars: Sequence[Bar]
    width: int
    highest: int
    last: date | None  # the day at the right end, where the bars reach it


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """One reason for which traces are missing, with its meaning and what to do."""

    reason: str
    count: int
    meaning: str
    advice: str


@private_page
@answer_unchanged
def show_quality(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    shell = build_shell(
        request,
        project,
        slice_,
        "quality",
        releases=select_releases(project.pk),
        now=timezone.now(),
        kept=[("plain", "1")] if is_plain else [],
    )
    whole, rows = select_measured(slice_)
    context = read_intake(slice_) | {
        "project": project,
        "slice": slice_,
        "shell": shell,
        "is_plain": is_plain,
        "whole": whole,
        "rows": rows[:MAX_ROWS],
        "row_count": len(rows),
        "by_day": select_overview(slice_, ["day"], limit=MAX_DAYS).rows[-SHOWN_DAYS:],
        "min_views": MIN_VIEWS,
        "snippet_bytes": measure_snippet(),
        "sampled_link": f"{reverse('quality-sampled', args=[slug])}?{slice_.query()}",
        "plain_link": f"{reverse('quality', args=[slug])}?{join_pairs([*slice_.params(), ('plain', '1')])}",
    }
    if is_plain:
        context |= read_sampled(slice_, whole.views)
    return render(request, "dashboard/quality.html", context)


def read_intake(slice_: Slice) -> dict[str, object]:
    """Returns what the page shows of what came in."""
    arrivals, set_aside, status = select_arrivals(slice_), select_set_aside(slice_), select_status(slice_.project_id)
    days = select_intake_days(slice_, limit=MAX_DAYS)
    shown, waits_s = days[-SHOWN_DAYS:], status.oldest_pending_s
    return {
        "status": status,
        "oldest_pending_at": None if waits_s is None else timezone.now() - timedelta(seconds=waits_s),
        "arrivals": arrivals,
        "refused": explain_reasons(arrivals.refused_by_reason),
        "set_aside": explain_reasons(set_aside.by_reason),
        "set_aside_read": set_aside.read,
        "is_set_aside_cut": set_aside.read >= SET_ASIDE_READ,
        "days": shown,
        "totals": {state: sum(getattr(day, state) for day in days) for state, _ in STATES},
        "states": STATES,
        "chart": draw_days(shown),
    }


@private_part
@answer_unchanged
def show_sampled(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    whole, _ = select_measured(slice_)
    return render(request, "dashboard/_quality_sampled.html", read_sampled(slice_, whole.views))


def read_sampled(slice_: Slice, views: int) -> dict[str, object]:
    """Returns what the part shows that comes by itself."""
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
    """Returns how many traces came from cross-origin isolated pages, in words."""
    words = ((True, "isolated"), (False, "not isolated"), (None, "not told"))
    return [(word, receipts.isolated[key]) for key, word in words if receipts.isolated.get(key)]


def explain_reasons(by_reason: Mapping[str, int]) -> list[ReasonRow]:
    """Returns a row for each reason, the most first."""
    ordered = sorted(by_reason.items(), key=lambda pair: (-pair[1], pair[0]))
    return [ReasonRow(reason, count, *explain_reason(reason)) for reason, count in ordered]


def draw_days(days: Sequence[IntakeDay]) -> Chart:
    """Returns the chart of what arrived by day."""
    totals = [sum(getattr(day, state) for state, _ in STATES) for day in days]
    highest = max(totals, default=0)
    bars = []
    for day in days:
        top, pieces = float(CHART_HEIGHT), []
        for state, _ in STATES:
            height = CHART_HEIGHT * getattr(day, state) / (highest or 1)
            top -= height
            if height:
                pieces.append(Piece(state, f"{top:.1f}", f"{height:.1f}"))
        bars.append(Bar(day, BAR_WIDTH * (day.day - days[0].day).days, pieces))
    span = bars[-1].x // BAR_WIDTH + 1 if bars else 1
    last = days[-1].day if span >= LEAST_DAYS else None
    return Chart(bars, BAR_WIDTH * max(span, LEAST_DAYS), highest, last)


@cache
def measure_snippet() -> int:
    """Returns the bytes that a visitor fetches of the snippet, gzipped."""
    return len(read_fixed_file(SNIPPET_PATH).zipped)
