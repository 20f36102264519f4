"""The last release compared with the one before it, by the views' own times: quick enough for a page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.selectors.project.overview import OverviewRow, select_overview
from aggregate.selectors.project.pages import ReleaseRow
from aggregate.selectors.project.trends import POINT_VIEWS
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.views.view_times import Stratum, ViewTimes, select_view_times
from ingest.door.groups import OTHER
from profcore.stats.comparison import (
    MIN_COMPARED_VIEWS,
    Comparison,
    Difference,
    compare,
    control_discoveries,
)
from profcore.stats.standardised import ClassSums
from profcore.stats.strata import Kind, KnownKinds
from profcore.stats.views import Measure, ViewSample, sample_of_times

COMPARED_PAGES: Final = 20  # those with the most time; about 400 views per side of each are looked at


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """Two releases compared by the whole time of their views. `comparison.overall` is None if views are too few."""

    base: str
    head: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class PageComparison:
    """One page in two releases. `difference` is that of its views' whole time, with a q over all compared pages."""

    page: str
    comparison: Comparison
    difference: Difference


def pick_last_releases(
    slice_: Slice, in_slice: Sequence[OverviewRow], known: Sequence[ReleaseRow]
) -> tuple[str, str] | None:
    """Returns (base, head): the newest release of a slice and the one before it, None if there are not two.

    `in_slice` are the releases of the slice, and `known` those of the project, both the newest first. If the slice
    names no release, releases with too few views are skipped, provided that two others are left: a release that one
    person has tried must not hide what all others use. If the slice has one release, the base is the one before it.
    "(other)" is no release.
    """
    rows = [row for row in in_slice if row.release not in (None, OTHER) and row.views]
    shown = [row.release or "" for row in rows]
    comparable = [row.release or "" for row in rows if row.views >= MIN_COMPARED_VIEWS]
    if len(comparable) >= 2 and not slice_.releases:
        return comparable[1], comparable[0]
    if len(shown) >= 2:
        return shown[1], shown[0]
    if len(shown) == 1 and len(slice_.releases) == 1:
        with_views = [row.release for row in known if row.views and row.release != OTHER]
        older = with_views[with_views.index(shown[0]) + 1 :] if shown[0] in with_views else []
        return (older[0], shown[0]) if older else None
    return None


def compare_releases(slice_: Slice, base: str, head: str, *, measure: Measure = "self") -> ReleaseChange:
    """Returns the comparison of two releases of a slice, stratified by device class and navigation. Two statements.

    It looks at up to `CHANGE_MAX_VIEWS` views per side. If there are more, it takes a uniform sample of about as many.
    """
    both = replace(slice_, releases=(base, head))
    most = settings.CHANGE_MAX_VIEWS
    sums = _sum_kinds(both, measure)
    sides = [sums.get((release, None), {}) for release in (base, head)]
    strata = [Stratum(_count_views(side), release=name) for side, name in zip(sides, (base, head), strict=True)]
    times = select_view_times(both, strata, most=most)
    return ReleaseChange(base, head, _compare(times, (0, 1), (sides[0], sides[1]), measure=measure, most=most))


def compare_pages(slice_: Slice, base: str, head: str, *, measure: Measure = "self") -> list[PageComparison]:
    """Returns the comparison of two releases for each of the pages with the most time. Three statements.

    The largest change comes first. Pages with too few views on a side are left out; `q` is over the other pages.
    """
    both = replace(slice_, releases=(base, head))
    pages = [row.page or "" for row in select_overview(both, ["page"], limit=COMPARED_PAGES).rows]
    both = replace(both, pages=tuple(pages))
    sums = _sum_kinds(both, measure, by_page=True)
    keys = [(release, page) for page in pages for release in (base, head)]
    strata = [Stratum(_count_views(sums.get(key, {})), release=key[0], page=key[1]) for key in keys]
    times = select_view_times(both, strata, most=POINT_VIEWS)
    found = []
    for at, page in enumerate(pages):
        known = (sums.get((base, page), {}), sums.get((head, page), {}))
        own = _compare(times, (2 * at, 2 * at + 1), known, measure=measure, most=POINT_VIEWS)
        if own.overall is not None:
            found.append((page, own))
    controlled = control_discoveries([own.overall for _, own in found if own.overall])
    changes = [PageComparison(page, own, each) for (page, own), each in zip(found, controlled, strict=True)]
    return sorted(changes, key=lambda change: -abs(change.difference.delta_ms))


def _compare(
    times: ViewTimes, sides: tuple[int, int], known: tuple[KnownKinds, KnownKinds], *, measure: Measure, most: int
) -> Comparison:
    """Returns the comparison of two strata, with the exact sums of all their views if none have expired."""
    samples = [
        sample_of_times(times.facts(side), population=_count_views(sums))
        for side, sums in zip(sides, known, strict=True)
    ]
    base, head = (replace(sample, is_complete=_is_complete(sample, most)) for sample in samples)
    is_whole = base.is_complete and head.is_complete
    return compare(base, head, measure=measure, known=known if is_whole else None)


def _sum_kinds(
    slice_: Slice, measure: Measure, *, by_page: bool = False
) -> dict[tuple[str, str | None], dict[Kind, ClassSums]]:
    """Returns the exact sums of all views of a slice, by (release, page or None), device class and navigation."""
    where, params = where_slice(slice_)
    time_us = {"self": "c.js_us", "hidden": "c.hidden_us"}.get(measure, "c.js_us + c.hidden_us")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.release, {"g.page" if by_page else "NULL"}, c.device_class, c.navigation,
                       sum(c.views)::bigint, sum({time_us})::bigint
                {FROM_CELLS} WHERE {where} AND c.views > 0 GROUP BY 1, 2, 3, 4""",
            params,
        )
        found: dict[tuple[str, str | None], dict[Kind, ClassSums]] = {}
        for release, page, device, navigation, views, us in cursor:
            found.setdefault((release, page), {})[device, navigation] = ClassSums(views, us)
        return found


def _count_views(kinds: KnownKinds) -> int:
    return sum(each.views for each in kinds.values())


def _is_complete(sample: ViewSample, most: int) -> bool:
    """Tells whether as many views were found as there should be. If views have expired, fewer or none are left."""
    return sample.views >= (sample.population if sample.population <= most else most // 2)
