"""The mean per page view in each of many buckets of time, with its uncertainty, from the views' own times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profcore.stats.estimates import Figure, Floats, Rows, as_interval, clip_weights, estimate_ratios, has_rates
from profcore.stats.summaries import MIN_RAN, MIN_VIEWS, US_PER_MS, bound_means
from profcore.stats.views import FloatColumn, IntColumn


@dataclass(frozen=True, slots=True)
class BucketSums:
    """The sums of all views of a bucket: how many there are, and their time by some measure, in µs."""

    views: int
    us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketMean:
    """Time per view in one bucket, ms. `sampled_views` were read; `is_complete` is false if views have expired.

    The mean is that of all views, and exact, unless sample rates differ (`is_weighted`): then it is that of the
    weighted sample. There is no interval with `is_too_few` (as in `Summary`), nor if views have expired.
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

    `bucket` (an index of `sums`), `us` and `weight` are of the sampled views: a uniform sample per bucket of about
    `wanted` views (exactly as many if these are all views). Fewer than half of that means that views have expired.
    """
    count = len(sums)
    weight, _ = clip_weights(weight)
    rows = Rows(view=np.arange(us.size), func=np.zeros_like(bucket), value=us / US_PER_MS, func_count=1, weight=weight)
    ratios = estimate_ratios(rows, denominator=np.ones_like(weight), stratum=bucket, stratum_count=count)
    looked = np.bincount(bucket, minlength=count)
    ran = np.bincount(bucket[us > 0], minlength=count)
    effective = _effective(weight, bucket, count)
    is_weighted = _differ(weight, bucket, count)
    views = np.maximum(np.array([total.views for total in sums], dtype=np.int64), looked)
    least = np.minimum(np.asarray(wanted), views)
    is_complete = np.where(least >= views, looked >= views, 2 * looked >= least)
    exact = np.array([total.us for total in sums], dtype=np.float64) / US_PER_MS / [total.views for total in sums]
    estimate = np.where(is_weighted, ratios.value[0], exact)
    stands_for = np.where(is_weighted | ~is_complete, 1.0, views / np.maximum(looked, 1))
    low, high = bound_means(estimate[None, :], ratios, np.maximum(effective, 1.0), stands_for, ~is_weighted)
    is_too_few = np.where(is_complete, effective < MIN_VIEWS, views < MIN_VIEWS) | ~has_rates(weight, bucket, count)
    has_bounds = is_complete & ~is_too_few & (ran >= MIN_RAN)
    return [
        BucketMean(
            ms_per_view=Figure(float(estimate[at]), as_interval(low[0, at], high[0, at]) if has_bounds[at] else None),
            views=sums[at].views,
            sampled_views=int(looked[at]),
            effective_views=float(effective[at]),
            is_weighted=bool(is_weighted[at]),
            is_complete=bool(is_complete[at]),
            is_too_few=bool(is_too_few[at]),
        )
        for at in range(count)
    ]


def _effective(weight: FloatColumn, bucket: IntColumn, count: int) -> Floats:
    """Returns the effective number of views by bucket, as if all had one weight (Kish); 0 if none was sampled."""
    total = np.bincount(bucket, weight, minlength=count)
    squares = np.bincount(bucket, weight * weight, minlength=count)
    return np.asarray(np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0))


def _differ(weight: FloatColumn, bucket: IntColumn, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Returns by bucket whether its weights differ."""
    least, most = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, bucket, weight)
    np.maximum.at(most, bucket, weight)
    return np.asarray(least < most)
