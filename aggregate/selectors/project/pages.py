"""A project's pages and releases."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any, Final

from django.db import connection

from aggregate.selectors.functions.table import SUM_PARTS
from aggregate.selectors.slice.read_context import once_a_read
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.sql import select_rows
from ingest.storage.groups import OTHER
from profcore.alerts.usage import is_used
from profcore.times import DAY, start_of_day
from profcore.trace.weights import TimeParts

MAX_PAGES: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One page's sums in a slice."""

    page: str
    views: int
    truncated_views: int
    traces: int
    time: TimeParts

    @property
    def js_ms_per_view(self) -> float | None:
        """The mean JS time of a page view, ms; None without views."""
        return self.time.js_us / 1000 / self.views if self.views else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAnnouncement:
    """What was said about a release; None for what was not. The times are aware."""

    release: str
    announced_at: datetime
    commit: str | None
    base_commit: str | None
    released_at: datetime | None
    author: str | None
    link: str | None
    range_link: str | None
    rolled_back_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """One release: when its first trace arrived, and how many of its page views are folded, and truncated.

    `project_views` are those of all releases since the day before it came. `is_announced` says that a holder of a token
    announced it, and that it is not said to be rolled back: that may be said of a made-up release.
    """

    release: str
    first_seen_at: datetime
    views: int
    truncated_views: int
    project_views: int = 0
    is_announced: bool = False
    announcement: ReleaseAnnouncement | None = None

    @property
    def is_comparable(self) -> bool:
        """Returns whether the release counts where no release is named: for alerts, and as the last release or its
        base.

        It has enough page views for a comparison. If no holder of a token announced it, it also has a part of those of
        all releases (`is_used`): less is a preview, or made up. "(other)" is no release.
        """
        return self.release != OTHER and is_used(self.views, 0 if self.is_announced else self.project_views)

    @property
    def is_comparable_still(self) -> bool:
        """Returns whether a release that counted counts on: with half of the share, so that it does not come and go."""
        return self.release != OTHER and is_used(self.views, self.project_views // 2)


def select_pages(slice_: Slice) -> Sequence[PageRow]:
    """Returns the pages of a slice, the one with the most JS time first."""
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.page, sum(c.views)::bigint, sum(c.truncated_views)::bigint, sum(c.traces)::bigint, {SUM_PARTS}
                {FROM_CELLS} WHERE {where} AND c.traces > 0
                GROUP BY g.page ORDER BY sum(c.js_us) DESC, g.page LIMIT {MAX_PAGES}""",
            params,
        )
        return [
            PageRow(page=page, views=views, truncated_views=truncated, traces=traces, time=TimeParts(*parts))
            for page, views, truncated, traces, *parts in cursor.fetchall()
        ]


def select_page_views(project_id: int, *, most: int) -> Sequence[tuple[str, int]]:
    """Returns the pages of a project with their page views, the one with the most JS time first. From the roll-up."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT g.page, sum(c.views)::bigint
               FROM aggregate_pageday c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id
               WHERE c.project_id = %s AND c.traces > 0 GROUP BY 1 ORDER BY sum(c.js_us) DESC, 1 LIMIT %s""",
            [project_id, most],
        )
        return list(cursor.fetchall())


@once_a_read
def select_releases(project_id: int, *, page: str | None = None, since: datetime | None = None) -> Sequence[ReleaseRow]:
    """Returns the releases of a project, or of one of its pages, the newest first. Some may have no views yet.

    With `since`, a midnight in UTC, only page views from then on are counted. One statement: it sums the roll-up once,
    by release and by day.
    """
    rows = select_rows(
        """WITH sums AS MATERIALIZED (
               SELECT g.release, c.day_at, grouping(c.day_at) = 1 AS is_release, min(g.first_seen_at) AS first_seen_at,
                      COALESCE(sum(c.views), 0)::bigint AS views,
                      COALESCE(sum(c.truncated_views), 0)::bigint AS truncated_views
               FROM ingest_group g LEFT JOIN aggregate_pageday c
                    ON c.project_id = g.project_id AND c.group_id = g.id
                       AND (%(since)s::timestamptz IS NULL OR c.day_at >= %(since)s::timestamptz)
               WHERE g.project_id = %(project_id)s AND (%(page)s::text IS NULL OR g.page = %(page)s::text)
               GROUP BY GROUPING SETS ((g.release), (c.day_at)))
           SELECT s.is_release, s.release, s.day_at, s.first_seen_at, s.views, s.truncated_views,
                  a.announced_at, a.commit, a.base_commit, a.released_at, a.author, a.link, a.range_link,
                  a.rolled_back_at
           FROM sums s LEFT JOIN projects_announcedrelease a
                ON a.project_id = %(project_id)s AND a.release = s.release
           ORDER BY s.first_seen_at DESC, s.release DESC""",
        {"project_id": project_id, "page": page, "since": since},
    )
    days = sorted((day, views) for is_release, _, day, _, views, *_ in rows if not is_release and day is not None)
    starts = [day for day, _ in days]
    left = list(accumulate((views for _, views in reversed(days)), initial=0))  # of the last days, by their number
    return [
        ReleaseRow(
            release=release,
            first_seen_at=seen_at,
            views=views,
            truncated_views=truncated,
            project_views=left[len(days) - bisect_left(starts, start_of_day(seen_at) - DAY)],
            is_announced=announced[0] is not None and announced[-1] is None,
            announcement=_read_announcement(release, announced),
        )
        for is_release, release, _, seen_at, views, truncated, *announced in rows
        if is_release
    ]


def _read_announcement(release: str, row: Sequence[Any]) -> ReleaseAnnouncement | None:  # Any: as the driver types it
    if row[0] is None:
        return None
    return ReleaseAnnouncement(**dict(zip(ReleaseAnnouncement.__slots__, (release, *row), strict=True)))
