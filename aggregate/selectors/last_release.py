"""Did the last release make page views dearer? By their own times, without contributions: quick enough for a page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import connection

from aggregate.selectors.overview import OverviewRow
from aggregate.selectors.pages import ReleaseRow
from aggregate.selectors.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.viewtimes import Stratum, select_view_times
from profcore.stats.comparison import Comparison, KnownClasses, compare
from profcore.stats.standardised import ClassSums
from profcore.stats.views import Measure, ViewSample, sample_of_times


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """Two releases compared by the whole time of their views. `comparison.overall` is None where views are too few."""

    base: str
    head: str
    comparison: Comparison


def pick_last_releases(
    slice_: Slice, in_slice: Sequence[OverviewRow], known: Sequence[ReleaseRow]
) -> tuple[str, str] | None:
    """Returns (base, head): the newest release of a slice and the one before it, None where there are no two.

    `in_slice` are the slice's own, and `known` those of the project, both the newest first. Of a slice of one
    release the base is the one that came before it.
    """
    shown = [row.release for row in in_slice if row.release is not None and row.views]
    if len(shown) >= 2:
        return shown[1], shown[0]
    if len(shown) == 1 and len(slice_.releases) == 1:
        with_views = [row.release for row in known if row.views]
        older = with_views[with_views.index(shown[0]) + 1 :] if shown[0] in with_views else []
        return (older[0], shown[0]) if older else None
    return None


def compare_releases(slice_: Slice, base: str, head: str, *, measure: Measure = "self") -> ReleaseChange:
    """Compares two releases of a slice, stratified by device class as `compare` is. Two statements.

    Up to `CHANGE_MAX_VIEWS` views a side are looked at, else a uniform sample of some as many.
    """
    both = replace(slice_, releases=(base, head))
    most = settings.CHANGE_MAX_VIEWS
    sums = _sum_classes(both, measure)
    strata = [Stratum(_count_views(sums.get(release, {})), release=release) for release in (base, head)]
    times = select_view_times(both, strata, most=most)
    samples = [sample_of_times(times.facts(side), population=each.views) for side, each in enumerate(strata)]
    is_whole = all(_is_complete(sample, most) for sample in samples)
    known = (sums.get(base, {}), sums.get(head, {})) if is_whole else None
    return ReleaseChange(base, head, compare(*samples, measure=measure, known=known))


def _sum_classes(slice_: Slice, measure: Measure) -> dict[str, dict[int, ClassSums]]:
    """Returns what is known of all views of a slice, by release and device class."""
    where, params = where_slice(slice_)
    time_us = {"self": "c.js_us", "hidden": "c.hidden_us"}.get(measure, "c.js_us + c.hidden_us")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT g.release, c.device_class, sum(c.views)::bigint, sum({time_us})::bigint
                {FROM_CELLS} WHERE {where} AND c.views > 0 GROUP BY 1, 2""",
            params,
        )
        found: dict[str, dict[int, ClassSums]] = {}
        for release, device_class, views, us in cursor:
            found.setdefault(release, {})[device_class] = ClassSums(views, us)
        return found


def _count_views(classes: KnownClasses) -> int:
    return sum(each.views for each in classes.values())


def _is_complete(sample: ViewSample, most: int) -> bool:
    """Tells whether so many views were found as there should be; of expired views fewer are left, or none."""
    return sample.views >= (sample.population if sample.population <= most else most // 2)
