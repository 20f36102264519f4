"""A project's pages and releases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from aggregate.records import select_records
from aggregate.selectors.functions.table import SUM_PARTS
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
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


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """One release: when its first trace arrived, and how many of its page views are folded, and truncated."""

    release: str
    first_seen_at: datetime
    views: int
    truncated_views: int


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


def select_releases(project_id: int, *, page: str | None = None) -> Sequence[ReleaseRow]:
    """Returns the releases of a project, or of one of its pages, the newest first. Some may have no views yet."""
    return select_records(
        ReleaseRow,
        """SELECT g.release, min(g.first_seen_at) AS first_seen_at, COALESCE(sum(c.views), 0)::bigint AS views,
                      COALESCE(sum(c.truncated_views), 0)::bigint AS truncated_views
               FROM ingest_group g LEFT JOIN aggregate_pageday c ON c.project_id = g.project_id AND c.group_id = g.id
               WHERE g.project_id = %(project_id)s AND (%(page)s::text IS NULL OR g.page = %(page)s::text)
               GROUP BY g.release ORDER BY min(g.first_seen_at) DESC, g.release DESC""",
        {"project_id": project_id, "page": page},
    )
