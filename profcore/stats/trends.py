"""A mean a page view in each of many buckets of time, with its uncertainty, from views' own times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profcore.stats.estimates import Figure, Floats, Rows, as_interval, clip_weights, estimate_ratios
from profcore.stats.summaries import MIN_RAN, MIN_VIEWS, US_PER_MS, bound_means
from profcore.stats.views import FloatColumn, IntColumn


@dataclass(frozen=True, slots=True)
class BucketSums:
    """What is known of all views of a bucket: how many there are, and their time by some measure, in µs."""

    views: int
    us: int


@dataclass(frozen=True, slots=True)
class BucketMean:
    """Time a view in one bucket, ms. `sampled_views` were looked at; not `is_complete` where views have expired.

    The mean is that of all views, and exact, but where sample rates differ (`is_weighted`): there it is the weighted
    sample's. There is no interval with `is_too_few` (fewer than `MIN_VIEWS` effective views), nor of what is left of
    expired ones.
    """

    ms_per_view: Figure
    views: int
    sampled_views: int
    effective_views: float
    is_weighted: bool
    is_complete: bool
    is_too_few: bool


def estimate_buckets(
    sums: Sequence[BucketSums], *, bucket: IntColumn, us: IntColumn, weight: FloatColumn, wanted: Sequence[int]
) -> list[BucketMean]:
    """Returns the mean of each bucket, in the order of `sums`; a bucket has at least one view.

    `bucket` (an index of `sums`), `us` and `weight` are of the views looked at: uniform samples of each bucket's, of
    some `wanted` views (where that is all of them, exactly so many). Fewer than half of these are what is left of
    expired ones.
    """
    count = len(sums)
    weight, _ = clip_weights(weight)
    rows = Rows(np.arange(us.size), np.zeros_like(bucket), us / US_PER_MS, 1, weight)
    ratios = estimate_ratios(rows, denominator=np.ones_like(weight), stratum=bucket, stratum_count=count)
    looked = np.bincount(bucket, minlength=count)
    ran = np.bincount(bucket[us > 0], minlength=count)
    effective = _effective(weight, bucket, count)
    is_weighted = _differ(weight, bucket, count)
    views = np.maximum(np.array([each.views for each in sums], dtype=np.int64), looked)
    least = np.minimum(np.asarray(wanted), views)
    is_complete = np.where(least >= views, looked >= views, 2 * looked >= least)
    exact = np.array([each.us for each in sums], dtype=np.float64) / US_PER_MS / [each.views for each in sums]
    estimate = np.where(is_weighted, ratios.value[0], exact)
    stands_for = np.where(is_weighted | ~is_complete, 1.0, views / np.maximum(looked, 1))
    low, high = bound_means(estimate[None, :], ratios, np.maximum(effective, 1.0), stands_for)
    is_too_few = np.where(is_complete, effective < MIN_VIEWS, views < MIN_VIEWS)
    has_bounds = is_complete & ~is_too_few & (ran >= MIN_RAN)
    return [
        BucketMean(
            Figure(float(estimate[at]), as_interval(low[0, at], high[0, at]) if has_bounds[at] else None),
            sums[at].views,
            int(looked[at]),
            float(effective[at]),
            bool(is_weighted[at]),
            bool(is_complete[at]),
            bool(is_too_few[at]),
        )
        for at in range(count)
    ]


def _effective(weight: FloatColumn, bucket: IntColumn, count: int) -> Floats:
    """Returns by bucket how many views of one weight are worth as much (Kish); 0 where none was looked at."""
    total = np.bincount(bucket, weight, minlength=count)
    squares = np.bincount(bucket, weight * weight, minlength=count)
    return np.asarray(np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0))


def _differ(weight: FloatColumn, bucket: IntColumn, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tells by bucket whether its weights differ."""
    least, most = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, bucket, weight)
    np.maximum.at(most, bucket, weight)
    return np.asarray(least < most)
