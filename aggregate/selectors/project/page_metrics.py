"""The page metrics of a project: time per view by page and release over the last hours, in a bounded number of series.

Strangers with the public key choose pages and releases. So only the pages with the most views and the newest releases
that are in use have series of their own. All else is "(other)".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings

from aggregate.selectors.page_views.samples import select_sampled
from aggregate.selectors.project.overview import OverviewRow, select_overview
from aggregate.selectors.slice.slices import Slice, format_instant, resolve_slice
from ingest.storage.groups import OTHER
from profcore.alerts.usage import LEAST_SHARE
from profcore.times import HOUR, start_of_hour
from profcore.trace.weights import TimeParts

# Upper bounds of the histogram, ms of script and hidden time: from a page that does nothing to one that hangs.
BOUNDS_MS: Final = (50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800)

Key = tuple[str, str]  # page and release, as the series have them


@dataclass(frozen=True, slots=True)
class Example:
    """A view of a bucket of the histogram, and its script and hidden time."""

    view_id: UUID
    took_us: int


@dataclass(slots=True)
class Bucket:
    """The sampled views between two bounds of the histogram, and the slowest of them."""

    views: int = 0
    example: Example | None = None

    def add(self, view_id: UUID, took_us: int) -> None:
        """Adds a view."""
        self.views += 1
        if self.example is None or took_us > self.example.took_us:
            self.example = Example(view_id, took_us)


@dataclass(slots=True)
class PageSeries:
    """One page in one release: exact sums of all its views, and the sampled views by bucket, the last without bound."""

    views: int = 0
    time: TimeParts = field(default_factory=TimeParts)
    buckets: list[Bucket] = field(default_factory=lambda: [Bucket() for _ in (*BOUNDS_MS, None)])

    @property
    def sampled_views(self) -> int:
        """The number of views in its buckets."""
        return sum(bucket.views for bucket in self.buckets)

    def views_up_to(self) -> list[int]:
        """Returns the number of all its views up to each bound, estimated by the sample; the last is exact."""
        sampled, counts, so_far = self.sampled_views, [], 0
        for bucket in self.buckets:
            so_far += bucket.views
            counts.append(round(self.views * so_far / sampled) if sampled else 0)
        return counts


@dataclass(frozen=True, slots=True)
class PageMetrics:
    """The series of a project by page and release, of the views that began in `[from_at, to_at)`."""

    from_at: datetime
    to_at: datetime
    series: Mapping[Key, PageSeries]


def last_hours(project_id: int, hours: int, now: datetime) -> Slice:
    """Returns the slice of the last hours of a project, the current one included. It may be longer if days are merged.

    One statement.
    """
    to_at = start_of_hour(now) + HOUR
    return resolve_slice(project_id, {"from": [format_instant(to_at - hours * HOUR)], "to": [format_instant(to_at)]})


def select_page_metrics(slice_: Slice) -> PageMetrics:
    """Returns the page metrics of a slice of `last_hours`. Two statements, or one if it has no views."""
    from_at, to_at = slice_.ranges[0]
    assert from_at is not None
    assert to_at is not None
    overview = select_overview(slice_, ["release", "page"], limit=settings.INGEST_MAX_GROUPS)
    rows = [row for row in overview.rows if row.views]
    pages = pick_pages(rows, settings.METRICS_PAGES)
    releases = pick_releases(rows, settings.METRICS_RELEASES)
    series: dict[Key, PageSeries] = {}

    def series_of(page: str | None, release: str | None) -> PageSeries:
        key = page if page in pages else OTHER, release if release in releases else OTHER
        return series.setdefault((str(key[0]), str(key[1])), PageSeries())

    for row in rows:
        page_series = series_of(row.page, row.release)
        page_series.views += row.views
        page_series.time.add(row.time)
    whole = sum(page_series.views for page_series in series.values())
    if whole:
        most = settings.METRICS_MAX_VIEWS
        columns = "v.view_id, v.js_us + v.hidden_us, c.page, c.release"
        _, views = select_sampled(slice_, columns, most=most, population=whole)
        for view_id, took_us, page, release, _ in views:
            bucket = next((at for at, bound in enumerate(BOUNDS_MS) if took_us <= bound * 1000), len(BOUNDS_MS))
            series_of(page, release).buckets[bucket].add(view_id, took_us)
    # A view that was folded between both statements has no sums yet.
    return PageMetrics(
        from_at, to_at, {key: page_series for key, page_series in sorted(series.items()) if page_series.views}
    )


def pick_pages(rows: Sequence[OverviewRow], most: int) -> frozenset[str]:
    """Returns the pages with the most views, without "(other)"."""
    views = _count_by(rows, "page")
    return frozenset(sorted(views, key=lambda page: (-views[page], page))[:most])


def pick_releases(rows: Sequence[OverviewRow], most: int) -> frozenset[str]:
    """Returns the newest releases that at least `LEAST_SHARE` of the views used. `rows` have the newest first."""
    views = _count_by(rows, "release")
    least = LEAST_SHARE * sum(row.views for row in rows)
    return frozenset([release for release in views if views[release] >= least][:most])


def _count_by(rows: Sequence[OverviewRow], column: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        value = getattr(row, column)
        if value != OTHER:
            counts[value] = counts.get(value, 0) + row.views
    return counts
