"""Page views that recorded nothing: how many there are, why, in which browsers and on which pages.

The endpoint counts them by UTC day, page and browser family. A slice's release and device class are not known of them,
and its time is widened to whole days.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Any, Final

from django.db import connection

from aggregate.selectors.project.quality import select_measured, select_receipts
from aggregate.selectors.slice.days import where_utc_days, widen_to_days
from aggregate.selectors.slice.slices import Slice, TimeRange
from profcore.times import DAY, start_of_day
from profcore.trace.absence import ABSENCE_REASONS
from profcore.trace.dimensions import BROWSERS

MAX_PAGES: Final = 50  # of the list; the number of all is not bounded by it


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsenceReason:
    """Views that recorded nothing for one reason. `status` is that of the reason `status`, if it was a known one."""

    reason: str
    status: int | None
    reports: int
    views: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsencePart:
    """Views of one browser family, or of one page, that recorded nothing."""

    name: str
    reports: int
    views: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Absences:
    """Views of a slice that recorded nothing, by three divisions, each with the most views first.

    `views` are estimated from `reports`, since only a share of views reports. `recorded` estimates the views that the
    recorded ones of the same days, pages and browsers stand for, None if it is not known. `page_count` counts
    all pages, also those not listed.
    """

    reports: int = 0
    views: int = 0
    recorded: int | None = None
    first_on: date | None = None
    by_reason: Sequence[AbsenceReason] = field(default_factory=list)
    by_browser: Sequence[AbsencePart] = field(default_factory=list)
    by_page: Sequence[AbsencePart] = field(default_factory=list)
    page_count: int = 0

    @property
    def loaded(self) -> int | None:
        """The estimated number of all views that loaded the snippet; None if it is not known."""
        return None if self.recorded is None else self.views + self.recorded

    @property
    def share(self) -> float | None:
        """The share among all views that loaded the snippet, 0 to 1; None if it is not known."""
        return self.views / self.loaded if self.loaded else None


def select_absences(slice_: Slice) -> Absences:
    """Returns the views of a slice that recorded nothing. One statement; a few more if there are any."""
    days = replace(slice_.with_values("device"), releases=(), ranges=widen_to_days(slice_.ranges))
    where, params = _conditions(days)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT grouping(a.reason), grouping(a.browser), grouping(a.page), a.reason, a.status, a.browser, a.page,
                       coalesce(sum(a.reports), 0)::bigint, coalesce(sum(a.views), 0)::bigint, min(a.day_on)
                FROM ingest_absentcount a WHERE {where}
                GROUP BY GROUPING SETS ((), (a.reason, a.status), (a.browser), (a.page))
                ORDER BY 9 DESC, 4, 5, 6, 7""",
            params,
        )
        rows = cursor.fetchall()
    *_, reports, views, first_on = next(row for row in rows if row[0] and row[1] and row[2])
    if not reports:
        return Absences()
    pages = [AbsencePart(name=row[6], reports=row[7], views=row[8]) for row in rows if not row[2]]
    return Absences(
        reports=reports,
        views=views,
        recorded=estimate_recorded(days, first_on),
        first_on=first_on,
        by_reason=[
            AbsenceReason(reason=ABSENCE_REASONS[row[3]], status=row[4] or None, reports=row[7], views=row[8])
            for row in rows
            if not row[0]
        ],
        by_browser=[AbsencePart(name=BROWSERS[row[5]], reports=row[7], views=row[8]) for row in rows if not row[1]],
        by_page=pages[:MAX_PAGES],
        page_count=len(pages),
    )


def select_recent_reasons(project_id: int, now: datetime) -> list[AbsenceReason]:
    """Returns why views of a project recorded nothing today and yesterday (UTC), the most first. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT reason, status, sum(reports)::bigint, sum(views)::bigint FROM ingest_absentcount
               WHERE project_id = %s AND day_on >= %s GROUP BY 1, 2 ORDER BY 4 DESC, 1, 2""",
            [project_id, (start_of_day(now) - DAY).date()],
        )
        return [
            AbsenceReason(reason=ABSENCE_REASONS[reason], status=status or None, reports=reports, views=views)
            for reason, status, reports, views in cursor
        ]


def estimate_recorded(days: Slice, first_on: date) -> int | None:
    """Returns the number of views that the recorded ones since a day stand for; None if no receipt says so any more.

    Counts of reports are younger than those of views: what was before their first day is left out.
    """
    first_at = datetime.combine(first_on, time(), UTC)
    ranges: Sequence[TimeRange] = days.ranges or ((None, None),)
    kept = tuple((max(start or first_at, first_at), end) for start, end in ranges if end is None or end > first_at)
    since = replace(days, ranges=kept, views=(), traces=(), tags=(), func_over=())
    whole = select_measured(since).whole
    if not whole.views:
        return 0
    rates = select_receipts(since, whole.views).sample_rates
    traces = sum(rates.values())
    return round(whole.views * sum(count / rate for rate, count in rates.items()) / traces) if traces else None


def _conditions(days: Slice) -> tuple[str, dict[str, Any]]:  # Any: parameters of a statement
    conditions = ["a.project_id = %(project_id)s"]
    params: dict[str, Any] = {"project_id": days.project_id}
    if days.pages:
        conditions.append("a.page = ANY(%(pages)s::text[])")
        params["pages"] = list(days.pages)
    if browsers := days.values("browser"):
        conditions.append("a.browser = ANY(%(browsers)s::smallint[])")
        params["browsers"] = [BROWSERS.index(word) for word in browsers]
    in_time, bounds = where_utc_days(days.ranges, "a.day_on")
    return " AND ".join([*conditions, in_time]), params | bounds
