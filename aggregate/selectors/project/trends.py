"""Time per page view over time, by release or for all, each point with its interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.models import Cell
from aggregate.selectors.page_views.view_times import Stratum, ViewTimes, select_view_times
from aggregate.selectors.project.overview import OverviewRow
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, SliceError, where_slice
from profcore.stats.trends import BucketMean, BucketSums, estimate_buckets
from profcore.stats.views import IntColumn, ViewColumns
from profcore.times import DAY, HOUR, WEEK, start_of_day, start_of_hour, start_of_week

SIZES: Final = {"hour": HOUR, "day": DAY, "week": WEEK}
TREND_LINES: Final = ("release", "none")
DEFAULT_LINES: Final = 6  # more cannot be told apart in one chart
# By parts of a view's own time, in the words of `compare`.
TREND_MEASURES: Final = ("self", "hidden", "self+hidden")
# Buckets are hours up to two days (older hours are merged into days), and days up to four months.
LONGEST: Final = {"hour": 48 * HOUR, "day": 120 * DAY}
# With fewer views, intervals around exact means of skewed times cover less than 93 % (docs/statistics.md); with half as
# many, 90 %.
POINT_VIEWS: Final = 400
LEAST_POINT_VIEWS: Final = 200


@dataclass(frozen=True, slots=True)
class TrendSums:
    """The exact sums of a slice by release and bucket, over all its views. A trend changes only with them.

    `points` are (release or None, start of the bucket): (views, JS µs, hidden µs), line by line, the newest release
    first, each in the order of time. `line_count` includes releases beyond the limit.
    """

    slice_: Slice
    bucket: str
    points: Mapping[tuple[str | None, datetime], tuple[int, int, int]]
    line_count: int


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One bucket of a line, by its start."""

    at: datetime
    mean: BucketMean


@dataclass(frozen=True, slots=True)
class TrendLine:
    """The points of one release, or of all together (None), in the order of time. Empty buckets have no point."""

    release: str | None
    points: Sequence[TrendPoint]


@dataclass(frozen=True, slots=True)
class Trend:
    """The lines of a slice, the newest release first. `bucket` is `hour`, `day` or `week`, of UTC."""

    bucket: str
    line_count: int
    lines: Sequence[TrendLine]


def sum_trend(slice_: Slice, *, by: str = "release", limit: int) -> TrendSums:
    """Returns a slice's sums by bucket and, if `by` is "release", by the newest `limit` releases. One statement.

    Buckets are hours, days or weeks: the finest that the time from the first view to the last allows and that cells
    have. Raises `SliceError` for a slice that is finer than cells.
    """
    if slice_.is_fine:
        raise SliceError("tag", "A trend is of releases, pages, times, devices and browsers; nothing finer.")
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.release, c.starts_at, c.grain, min(g.first_seen_at), sum(c.views)::bigint,
                       sum(c.js_us)::bigint, sum(c.hidden_us)::bigint
                {FROM_CELLS} WHERE {where} AND c.views > 0 GROUP BY 1, 2, 3""",
            params,
        )
        rows: list[tuple[str, datetime, int, datetime, int, int, int]] = cursor.fetchall()
    first_seen: dict[str, datetime] = {}
    for release, _, _, seen_at, *_ in rows:
        first_seen[release] = min(seen_at, first_seen.get(release, seen_at))
    newest = sorted(first_seen, key=lambda release: (first_seen[release], release), reverse=True)
    lines: list[str | None] = [*newest[:limit]] if by == "release" else [None]
    bucket = _choose_bucket([(at, grain) for _, at, grain, *_ in rows])
    sums: dict[tuple[str | None, datetime], tuple[int, int, int]] = {}
    for release, at, _, _, *figures in rows:
        key = (release if by == "release" else None, _floor(at, bucket))
        sums[key] = tuple(a + b for a, b in zip(sums.get(key, (0, 0, 0)), figures, strict=True))  # type: ignore[assignment]
    order = {line: number for number, line in enumerate(lines)}
    keys = sorted((key for key in sums if key[0] in order), key=lambda key: (order[key[0]], key[1]))
    return TrendSums(slice_, bucket, {key: sums[key] for key in keys}, len(newest) if by == "release" else 1)


def estimate_trend(sums: TrendSums, *, measure: str = "self") -> Trend:
    """Returns the lines of some sums, with intervals from a uniform sample of each point's views. One statement.

    The unit is the page view. Up to `POINT_VIEWS` views of a point are looked at, fewer if there are many points.
    """
    keys = list(sums.points)
    most = _views_of_each(len(keys))
    strata = [Stratum(views=views, release=release, at=at) for (release, at), (views, _, _) in sums.points.items()]
    releases = tuple(dict.fromkeys(release for release, _ in keys if release is not None))
    slice_ = replace(sums.slice_, releases=releases) if releases else sums.slice_
    times = select_view_times(slice_, strata, most=most, bucket=sums.bucket)
    means = estimate_times(strata, list(sums.points.values()), times, measure=measure, most=most)
    points: dict[str | None, list[TrendPoint]] = {}
    for (release, at), mean in zip(keys, means, strict=True):
        points.setdefault(release, []).append(TrendPoint(at, mean))
    return Trend(
        sums.bucket, sums.line_count, [TrendLine(release, line_points) for release, line_points in points.items()]
    )


def estimate_pages(slice_: Slice, pages: Sequence[OverviewRow], *, measure: str = "self") -> list[BucketMean]:
    """Returns the mean of each page of a slice, in their order, estimated as for points of a trend. One statement."""
    pages_alone = replace(slice_, pages=tuple(row.page for row in pages if row.page is not None))
    strata = [Stratum(views=row.views, page=row.page) for row in pages]
    most = _views_of_each(len(pages))
    times = select_view_times(pages_alone, strata, most=most)
    sums = [(row.views, row.time.js_us, row.time.hidden_us) for row in pages]
    return estimate_times(strata, sums, times, measure=measure, most=most)


def _views_of_each(count: int) -> int:
    """Returns how many views of each point or page are looked at, by the number of points or pages."""
    return max(LEAST_POINT_VIEWS, min(POINT_VIEWS, settings.TREND_MAX_VIEWS // max(count, 1)))


def estimate_times(
    strata: Sequence[Stratum], sums: Sequence[tuple[int, int, int]], times: ViewTimes, *, measure: str, most: int
) -> list[BucketMean]:
    """Returns the mean of each stratum. `sums` are exact (views, JS µs, hidden µs), samples have about `most` views."""
    us_of, view_us = MEASURED[measure]
    return estimate_buckets(
        [BucketSums(views, us_of(js_us, hidden_us)) for views, js_us, hidden_us in sums],
        bucket=times.stratum,
        us=view_us(times.columns),
        weight=1.0 / times.columns.sample_rate,
        wanted=[min(most, stratum.views) for stratum in strata],
    )


MEASURED: Final[Mapping[str, tuple[Callable[[int, int], int], Callable[[ViewColumns], IntColumn]]]] = {
    "self": (lambda js, _: js, lambda columns: columns.js_us),
    "hidden": (lambda _, hidden: hidden, lambda columns: columns.hidden_us),
    "self+hidden": (lambda js, hidden: js + hidden, lambda columns: columns.js_us + columns.hidden_us),
}


def _choose_bucket(cells: Sequence[tuple[datetime, int]]) -> str:
    """Returns the finest bucket for cells, given by start and grain. Days cannot be split into hours."""
    if not cells:
        return "day"
    span = max(at for at, _ in cells) - min(at for at, _ in cells)
    if span < LONGEST["hour"] and all(grain == Cell.Grain.HOUR for _, grain in cells):
        return "hour"
    return "day" if span < LONGEST["day"] else "week"


def _floor(at: datetime, bucket: str) -> datetime:
    """Returns the start of the bucket that a moment lies in."""
    return {"hour": start_of_hour, "day": start_of_day, "week": start_of_week}[bucket](at)
