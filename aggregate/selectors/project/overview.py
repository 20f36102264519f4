"""The overview of a project: views, traces and the parts of time by release, page, day, and combinations of them.

It is read from the roll-up (release × page × day), or from cells if the slice names a device class, browser or hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.db import connection

from aggregate.selectors.slice.slices import FROM_CELLS, FROM_DAYS, Slice, where_days, where_slice
from profcore.trace.weights import TIME_PART_NAMES, TimeParts

OVERVIEW_DIMENSIONS: Final = ("release", "page", "day")
# The order of each dimension's values: the newest release first, the page with the most JS time first, the days.
ORDERS: Final = {"release": "release_at DESC, release DESC", "page": "page_js_us DESC, page", "day": "day"}
SUMS: Final = ("views", "truncated_views", "traces", *TIME_PART_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewRow:
    """Exact sums of one release, page or day (UTC), or of a combination; None for a dimension that was not wanted."""

    release: str | None
    page: str | None
    day: date | None
    views: int
    truncated_views: int
    traces: int
    time: TimeParts


@dataclass(frozen=True, slots=True)
class Overview:
    """The rows of a slice, and their sum. `row_count` and `whole` include the rows beyond the limit."""

    source: str  # "rollup" or "cells"
    whole: OverviewRow
    row_count: int
    rows: Sequence[OverviewRow]


def select_overview(slice_: Slice, by: Sequence[str], *, limit: int) -> Overview:
    """Returns a slice's sums by the dimensions in `by`, some of `OVERVIEW_DIMENSIONS`, ordered by them.

    The newest release comes first, the page with the most JS time first, and days in their order. The slice must not be
    finer than cells. One statement.
    """
    rolled = where_days(slice_)
    where, params = rolled or where_slice(slice_)
    day = "c.day_at" if rolled else "date_trunc('day', c.starts_at, 'UTC')"
    keys = {"release": "g.release", "page": "g.page", "day": f"({day} AT TIME ZONE 'UTC')::date"}
    columns = [f"{keys[name] if name in by else 'NULL'} AS {name}" for name in OVERVIEW_DIMENSIONS]
    order = ", ".join(ORDERS[name] for name in by) or "1"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH grouped AS MATERIALIZED (
                SELECT {", ".join(columns)}, min(g.first_seen_at) AS first_seen_at,
                       {", ".join(f"sum(c.{name})::bigint AS {name}" for name in SUMS)}
                {FROM_DAYS if rolled else FROM_CELLS} WHERE {where} AND c.traces > 0 GROUP BY 1, 2, 3),
            whole AS (SELECT {", ".join(f"COALESCE(sum({name}), 0)::bigint" for name in SUMS)}, count(*) FROM grouped),
            ranked AS (SELECT *, min(first_seen_at) OVER (PARTITION BY release) AS release_at,
                              sum(js_us) OVER (PARTITION BY page) AS page_js_us FROM grouped),
            top AS (SELECT * FROM ranked ORDER BY {order} LIMIT %(limit)s)
            SELECT whole.*, release, page, day, {", ".join(f"top.{name}" for name in SUMS)}
            FROM whole LEFT JOIN top ON true ORDER BY {order}""",
            {**params, "limit": limit},
        )
        records = cursor.fetchall()
    first = records[0]  # `whole` is always one row
    sums = len(SUMS)
    whole = _read_row([None] * len(OVERVIEW_DIMENSIONS) + list(first[:sums]))
    rows = [_read_row(row[sums + 1 :]) for row in records] if first[sums] else []
    return Overview("rollup" if rolled else "cells", whole, first[sums], rows)


def _read_row(row: Sequence[Any]) -> OverviewRow:  # Any: a row as the driver types it
    release, page, day, views, truncated_views, traces, *parts = row
    return OverviewRow(
        release=release,
        page=page,
        day=day,
        views=views,
        truncated_views=truncated_views,
        traces=traces,
        time=TimeParts(*parts),
    )
