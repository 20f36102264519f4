"""Which watched releases are in use: alarms of one that was rolled back end, and open again if it comes back.

If a person said that it was rolled back, nothing is counted. Otherwise page views decide, after a day.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from aggregate.selectors.project.pages import ReleaseRow
from aggregate.selectors.slice.slices import FROM_CELLS, FROM_DAYS, Slice, where_days, where_slice
from alerts.changes import Cause, end_of, finding_of, select_states, subject_of, write_standing
from alerts.models import AlertRule, AlertState, StateChange
from ingest.storage.groups import OTHER
from profcore.alerts.states import Standing, State
from profcore.alerts.usage import (
    MIN_BACK_VIEWS,
    MIN_OLDER_VIEWS,
    USAGE_HOURS,
    BestDay,
    DayViews,
    find_best,
    is_back,
    is_gone,
)
from profcore.times import start_of_day, start_of_hour

# Releases with open states, or ended ones, that are looked at in one evaluation, the newest: two statements for each,
# 0.12 s with 10,000 groups on 28 days (measured 2026-11-23). Of those that were said to be rolled back, as many are
# looked at in addition; the next evaluations find the others, whose states are still open.
MAX_FOLLOWED: Final = 20
# A release whose best day is longer ago is not known by it any more.
BEST_DAYS: Final = 28
ENDINGS: Final = (Cause.GONE, Cause.ROLLED_BACK)


@dataclass(frozen=True, slots=True)
class Ended:
    """What a state was before it ended, and whether its release was said to be rolled back."""

    was: State
    was_said: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """How a release is used on pages, and on all of them together (None)."""

    now: Mapping[str | None, DayViews]
    best: Mapping[str | None, BestDay]

    def is_gone(self, page: str | None) -> bool:
        """Returns whether a page's users have older releases again. A page with few views follows the whole project."""
        now, best = self.now.get(page, DayViews()), self.best.get(page, BestDay())
        return is_gone(now, best) or (now.own == 0 and is_gone(self.now[None], self.best[None]))

    def is_back(self, page: str | None) -> bool:
        """Returns whether a release that was gone is in use again on a page. With few views it follows as above."""
        now, best = self.now.get(page, DayViews()), self.best.get(page, BestDay())
        return is_back(now, best) or (self._is_rare(page) and is_back(self.now[None], self.best[None]))

    def is_still_used(self, page: str | None) -> bool:
        """Returns whether a release is in use that was only said to be rolled back: less than before is enough."""
        seen = self.now[None] if self._is_rare(page) else self.now.get(page, DayViews())
        return seen.own >= MIN_BACK_VIEWS and not self.is_gone(page)

    def _is_rare(self, page: str | None) -> bool:
        now = self.now.get(page, DayViews())
        return now.own + now.others < MIN_OLDER_VIEWS


def follow_usage(
    alert: AlertRule, releases: Sequence[ReleaseRow], said: Collection[str], now: datetime
) -> Collection[bytes]:
    """Ends what is open of releases that are gone, and opens it again for those that are back. In a transaction.

    `said` are the releases that were said to be rolled back: what is open of them ends at once. Returns the keys of
    states that stay ended: what is left of such a release is not judged by looks. Views are counted once an hour, since
    the window has whole hours.
    """
    ended = select_ended(alert, now)
    is_counted = alert.evaluated_at is None or start_of_hour(alert.evaluated_at) != start_of_hour(now)
    if not is_counted and not said:
        return ended.keys()
    rows = [row for row in select_states(alert).values() if State(row.state).is_open or bytes(row.subject_key) in ended]
    marked = [row for row in rows if row.release in said and bytes(row.subject_key) not in ended]
    for head, older, states in _list_followed(releases, marked):
        usage = measure_usage(alert.project_id, head, older, _pages_of(states), now)
        ended |= _end(alert, states, usage, older, now, cause=Cause.ROLLED_BACK)
    counted = [row for row in rows if row.release not in said] if is_counted else []
    for head, older, states in _list_followed(releases, counted):
        usage = measure_usage(alert.project_id, head, older, _pages_of(states), now)
        gone = [row for row in states if bytes(row.subject_key) not in ended and usage.is_gone(row.page)]
        for row in states:
            end = ended.get(bytes(row.subject_key))
            if end and (usage.is_back(row.page) or (end.was_said and usage.is_still_used(row.page))):
                _open_again(alert, row, end.was, usage, now)
                del ended[bytes(row.subject_key)]
        ended |= _end(alert, gone, usage, older, now, cause=Cause.GONE)
    return ended.keys()


def _list_followed(
    releases: Sequence[ReleaseRow], rows: Sequence[AlertState]
) -> Iterator[tuple[ReleaseRow, Sequence[str], Sequence[AlertState]]]:
    """Yields the newest releases of some states, with the names of older ones and with its own states."""
    concerned = {row.release for row in rows}
    for head in [row for row in releases if row.release in concerned][:MAX_FOLLOWED]:
        older = [row.release for row in releases if is_older(row, head)]
        yield head, older, [row for row in rows if row.release == head.release]


def _pages_of(rows: Sequence[AlertState]) -> list[str]:
    return [row.page for row in rows if row.page is not None]


def is_older(release: ReleaseRow, head: ReleaseRow) -> bool:
    """Returns whether a release was there before another."""
    return release.first_seen_at < head.first_seen_at and release.release not in (head.release, OTHER)


def select_ended(alert: AlertRule, now: datetime) -> dict[bytes, Ended]:
    """Returns how states ended because their release was rolled back, by key."""
    rows = select_states(alert, state__in=(State.OK, State.RESOLVED))
    changes = StateChange.objects.filter(project_id=alert.project_id, alert_id=alert.id, cause__in=ENDINGS)
    changes_of_month = changes.filter(at__gte=now - timedelta(days=BEST_DAYS)).order_by("id")
    return {
        bytes(change.subject_key): Ended(State(change.was), change.cause == Cause.ROLLED_BACK)
        for change in changes_of_month
        if (row := rows.get(bytes(change.subject_key))) is not None and row.since_at == change.at
    }


def measure_usage(
    project_id: int, head: ReleaseRow, older: Sequence[str], pages: Sequence[str], now: datetime
) -> Usage:
    """Returns how a release is used on some pages: in the last `USAGE_HOURS`, and on its best day before these.

    Only whole days before the window count: a release that just came to all users had few in most of the window.
    Two statements.
    """
    return Usage(
        now=measure_span(project_id, head, older, pages, window_of(now)),
        best=measure_best(project_id, head, older, pages, window_of(now)[0]),
    )


def measure_span(
    project_id: int, head: ReleaseRow, older: Sequence[str], pages: Sequence[str], span: tuple[datetime, datetime]
) -> Mapping[str | None, DayViews]:
    """Returns the views of a stretch of time on some pages, and on all together (None). One statement."""
    slice_ = Slice(project_id=project_id, ranges=(span,))
    days_of_page = _sum_views(slice_, "'-infinity'::timestamptz", head, older, pages)
    return {None: DayViews(), **{page: days[0] for page, days in days_of_page.items()}}


def measure_best(
    project_id: int, head: ReleaseRow, older: Sequence[str], pages: Sequence[str], before: datetime
) -> Mapping[str | None, BestDay]:
    """Returns the best of the last `BEST_DAYS` whole days before a moment, likewise. Up to one statement."""
    until = start_of_day(before)
    since = start_of_day(max(head.first_seen_at, before - timedelta(days=BEST_DAYS)))
    past = Slice(project_id=project_id, ranges=((since, until),))
    days_of_page = _sum_views(past, "c.day_at", head, older, pages) if since < until else {}
    return {None: BestDay(), **{page: find_best(days) for page, days in days_of_page.items()}}


def window_of(now: datetime) -> tuple[datetime, datetime]:
    """Returns the last `USAGE_HOURS` hours, with the present one."""
    until = start_of_hour(now) + timedelta(hours=1)
    return until - timedelta(hours=USAGE_HOURS), until


def _sum_views(
    slice_: Slice, day: str, head: ReleaseRow, older: Sequence[str], pages: Sequence[str]
) -> dict[str | None, list[DayViews]]:
    """Returns the views of each day by page, and of all pages together (None)."""
    rolled = where_days(slice_)
    where, params = rolled or where_slice(slice_)
    source = FROM_DAYS if rolled else FROM_CELLS
    more: dict[str, Any] = {"head": head.release, "older": list(older), "wanted": list(pages)}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT x.page, coalesce(sum(x.views) FILTER (WHERE x.release = %(head)s::text), 0)::bigint,
                       coalesce(sum(x.views) FILTER (WHERE x.release = ANY(%(older)s::text[])), 0)::bigint,
                       sum(x.views)::bigint
                FROM (SELECT {day} AS day, g.release,
                             CASE WHEN g.page = ANY(%(wanted)s::text[]) THEN g.page END AS page, c.views
                      {source} WHERE {where} AND c.views > 0) AS x
                GROUP BY GROUPING SETS ((x.day, x.page), (x.day))
                HAVING grouping(x.page) = 1 OR x.page IS NOT NULL""",
            {**params, **more},
        )
        days_of_page: dict[str | None, list[DayViews]] = {}
        for page, views, of_older, whole in cursor:
            days_of_page.setdefault(page, []).append(
                DayViews(own=views, older=of_older, newer=whole - views - of_older)
            )
    return days_of_page


def _end(
    alert: AlertRule,
    rows: Sequence[AlertState],
    usage: Usage,
    older: Sequence[str],
    now: datetime,
    *,
    cause: StateChange.Cause,
) -> dict[bytes, Ended]:
    """Ends some open states of one release. Returns how, by key."""
    about = _find_most_used(alert.project_id, older, now) if rows else ""
    for row in rows:
        _write(alert, row, end_of(row), usage, now, cause=cause, about=about)
    return {bytes(row.subject_key): Ended(State(row.state), cause is Cause.ROLLED_BACK) for row in rows}


def _open_again(alert: AlertRule, row: AlertState, was: State, usage: Usage, now: datetime) -> None:
    _write(alert, row, Standing(was, bad=1), usage, now, cause=Cause.BACK)


def _write(
    alert: AlertRule,
    row: AlertState,
    standing: Standing,
    usage: Usage,
    now: datetime,
    *,
    cause: StateChange.Cause,
    about: str = "",
) -> None:
    """Writes a change of a release's use. It tells the views of the window; the state keeps those of its figures."""
    seen, kept = usage.now.get(row.page) or usage.now[None], finding_of(row)
    seen_views = replace(kept, views=seen.own, base_views=seen.others)
    write_standing(
        alert, subject_of(row), row, standing, kept, at=now, cause=cause, about_release=about, change_finding=seen_views
    )


def _find_most_used(project_id: int, older: Sequence[str], now: datetime) -> str:
    """Returns the older release with the most page views in the window; an empty text without one."""
    if not older:  # a slice of no releases has all of them
        return ""
    recent = Slice(project_id=project_id, releases=tuple(older), ranges=(window_of(now),))
    where, params = where_slice(recent)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.release {FROM_CELLS} WHERE {where} AND c.views > 0
                GROUP BY g.release ORDER BY sum(c.views) DESC, g.release LIMIT 1""",
            params,
        )
        row = cursor.fetchone()
    return str(row[0]) if row else ""
