"""A project's pages and releases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from aggregate.selectors.functions import SUM_PARTS
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from profcore.weights import TimeParts

MAX_PAGES: Final = 10_000


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page's sums in a slice."""

    page: str
    views: int
    truncated_views: int
    traces: int
    time: TimeParts

    @property
    def js_ms_per_view(self) -> float | None:
        """JS time of a page view on average, in ms; None without views."""
        return self.time.js_us / 1000 / self.views if self.views else None


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """One release, when its first trace came, and how many page views of it are folded, and truncated."""

    release: str
    first_seen_at: datetime
    views: int
    truncated_views: int


def select_pages(slice_: Slice) -> Sequence[PageRow]:
    """Returns the pages that a slice holds, the one with the most JS time first."""
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.page, sum(c.views)::bigint, sum(c.truncated_views)::bigint, sum(c.traces)::bigint, {SUM_PARTS}
                {FROM_CELLS} WHERE {where} AND c.traces > 0
                GROUP BY g.page ORDER BY sum(c.js_us) DESC, g.page LIMIT {MAX_PAGES}""",
            params,
        )
        return [
            PageRow(page, views, truncated, traces, TimeParts(*parts))
            for page, views, truncated, traces, *parts in cursor.fetchall()
        ]


def select_releases(project_id: int, *, page: str | None = None) -> Sequence[ReleaseRow]:
    """Returns a project's releases, or those of one page of it, the newest first. Also those with no views yet."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT g.release, min(g.first_seen_at) AS first_seen_at, COALESCE(sum(c.views), 0)::bigint,
                      COALESCE(sum(c.truncated_views), 0)::bigint
               FROM ingest_group g LEFT JOIN aggregate_pageday c ON c.project_id = g.project_id AND c.group_id = g.id
               WHERE g.project_id = %(project_id)s AND (%(page)s::text IS NULL OR g.page = %(page)s::text)
               GROUP BY g.release ORDER BY min(g.first_seen_at) DESC, g.release DESC""",
            {"project_id": project_id, "page": page},
        )
        return [ReleaseRow(*row) for row in cursor.fetchall()]
