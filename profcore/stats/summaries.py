"""One sample of views summarised: what each func costs a page view, with its uncertainty; zeros included."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import stats

from profcore.stats.estimates import (
    CONFIDENCE,
    Figure,
    Floats,
    Ratios,
    Rows,
    as_interval,
    clip_weights,
    effective_views,
    estimate_ratios,
    skewed_interval,
    wilson_interval,
)
from profcore.stats.views import FloatColumn, IntColumn, Measure, ViewSample, order_rows

# Below this no number is given: in simulations of skewed, zero-heavy time the 95 % intervals of fewer views cover
# less than 93 %. Docs: statistics.md.
MIN_VIEWS: Final = 25
# A func that fewer views ran gets its mean without an interval: what so few views show has not shown its tail yet.
MIN_RAN: Final = 5
PERCENTILES: Final = (0.50, 0.75, 0.95)
US_PER_MS: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class FuncSummary:
    """One func (or group) over all views, those that never ran it included.

    `share` is its time over the views' time of the measure (a ratio of sums, 0 to 1), None where there is none or the
    measure is `total` with no JS time. `ran` is the share of views that ran it.
    """

    func_id: int
    views_ran: int
    ms_per_view: Figure
    share: Figure | None
    p50_ms: Figure
    p75_ms: Figure
    p95_ms: Figure
    ran: Figure


@dataclass(frozen=True, slots=True)
class Summary:
    """A sample's funcs by ms a view, most first; none with `is_too_few`: fewer than `MIN_VIEWS` effective views.

    `views` of `population` were looked at. `effective_views` is how many views of one weight are worth as much;
    `clipped_views` had their weight cut; `is_weighted` where sample rates differ, not `is_complete` where they
    are of what has not expired alone.
    """

    measure: Measure
    views: int
    population: int
    effective_views: float
    clipped_views: int
    is_weighted: bool
    is_complete: bool
    is_too_few: bool
    functions: tuple[FuncSummary, ...]


@dataclass(frozen=True, slots=True)
class KnownSums:
    """What is known of *all* views of a slice, beside a sample of them: exact sums by func id, by one measure.

    Funcs that `func_us` does not name are left out of a summary. `whole_us` is what shares are shares of
    (`ViewSample.view_us`).
    """

    func_us: Mapping[int, int]
    whole_us: int


def summarise(
    sample: ViewSample, measure: Measure = "self", *, min_views: int = MIN_VIEWS, known: KnownSums | None = None
) -> Summary:
    """Summarises every func with time by `measure`. Raises `NoTotalsError` where a grouping has no totals.

    With `known`, means and shares are those of all views of the slice, and their intervals are as narrow as so many
    views make them: the sample tells the spread of one view. It is put aside where sample rates differ within the
    sample (sums of what was recorded are not those of the field), and where contributions have expired.
    """
    weight, clipped = clip_weights(sample.weight)
    effective = effective_views(weight)
    is_weighted = bool(weight.size) and float(weight.min()) < float(weight.max())
    is_too_few = effective < min_views
    rows = _measured_rows(sample, measure, weight)
    if is_weighted or not sample.is_complete:
        known = None
    functions = () if is_too_few else tuple(_summarise_funcs(sample, rows, measure, known))
    return Summary(
        measure,
        sample.views,
        sample.population,
        effective,
        clipped,
        is_weighted,
        sample.is_complete,
        is_too_few,
        functions,
    )


def _measured_rows(sample: ViewSample, measure: Measure, weight: FloatColumn) -> Rows:
    row_us = sample.row_us(measure)
    above = row_us > 0
    return Rows(sample.view[above], sample.func[above], row_us[above] / US_PER_MS, sample.func_count, weight)


def _summarise_funcs(sample: ViewSample, rows: Rows, measure: Measure, known: KnownSums | None) -> list[FuncSummary]:
    effective = effective_views(rows.weight)
    ran = np.bincount(rows.func, minlength=rows.func_count)
    whole_us = sample.view_us(measure)
    running = np.bincount(rows.func, rows.weight[rows.view], minlength=rows.func_count) / rows.weight.sum()
    ran_low, ran_high = wilson_interval(running, effective)
    exact_means = exact_shares = None
    views_a_view = 1.0
    present = np.flatnonzero(ran)
    if known is not None:
        exact_us = np.array([known.func_us.get(func_id, 0) for func_id in sample.func_ids.tolist()], dtype=np.float64)
        exact_means = exact_us / US_PER_MS / sample.population
        exact_shares = exact_us / known.whole_us if known.whole_us else None
        views_a_view = sample.population / sample.views
        present = np.flatnonzero((ran > 0) & (exact_us > 0))
    means = _bounded(rows, np.ones_like(rows.weight), ran, exact_means, views_a_view)
    shares = _bounded(rows, whole_us / US_PER_MS, ran, exact_shares, views_a_view) if whole_us.any() else None
    points = _percentiles(rows, effective)
    order = present[np.lexsort((sample.func_ids[present], -means[0][present]))]
    return [
        FuncSummary(
            func_id=int(sample.func_ids[index]),
            views_ran=int(ran[index]),
            ms_per_view=_figure(means, index),
            share=None if shares is None else _figure(shares, index),
            p50_ms=_figure(points[0], index),
            p75_ms=_figure(points[1], index),
            p95_ms=_figure(points[2], index),
            ran=_figure((running, ran_low, ran_high), index),
        )
        for index in order.tolist()
    ]


def _figure(columns: tuple[Floats, Floats, Floats], index: int) -> Figure:
    value, low, high = columns
    return Figure(float(value[index]), as_interval(low[index], high[index]))


def _bounded(
    rows: Rows, denominator: FloatColumn, ran: IntColumn, exact: Floats | None, views_a_view: float
) -> tuple[Floats, Floats, Floats]:
    """Returns ratios with their bounds; time is never below zero, so no bound is.

    `exact` takes the place of the estimates; each view stands for `views_a_view` of its kind.
    """
    stratum = np.zeros(rows.weight.size, dtype=np.int64)
    ratios = estimate_ratios(rows, denominator=denominator, stratum=stratum, stratum_count=1)
    estimate = ratios.value if exact is None else exact[:, None]
    low, high = bound_means(estimate, ratios, effective_views(rows.weight), views_a_view)
    has_enough = ran >= MIN_RAN
    return estimate[:, 0], np.where(has_enough, low[:, 0], np.nan), np.where(has_enough, high[:, 0], np.nan)


def bound_means(
    estimate: Floats, ratios: Ratios, views: Floats | float, views_a_view: Floats | float
) -> tuple[Floats, Floats]:
    """Returns the bounds of 95 % intervals around estimates, whose spread `ratios` tell; none lies below zero.

    `views` (effective) were looked at, and each stands for `views_a_view` of its kind: where that is more than itself,
    the mean is known better than the spread, and how well the spread is known, its kurtosis tells (Satterthwaite's
    degrees of freedom). Where all views are alike no variance was seen, and the estimate is its own interval. NaN: no
    bound.
    """
    most = np.maximum(views - 1.0, 1.0)
    degrees = np.where(np.asarray(views_a_view) > 1, degrees_of_spread(views, ratios.kurtosis), most)
    variance, third = ratios.variance / views_a_view, ratios.third / views_a_view**2
    low, high = skewed_interval(estimate, variance, third, degrees)
    is_flat = variance == 0
    low, high = np.where(is_flat, estimate, low), np.where(is_flat, estimate, high)
    return np.maximum(low, 0.0), high


def degrees_of_spread(views: Floats | float, kurtosis: Floats) -> Floats:
    """Returns how many degrees of freedom a spread that so many views tell is worth (Satterthwaite)."""
    most = np.maximum(views - 1.0, 1.0)
    return np.asarray(np.clip(2.0 * views / np.maximum(kurtosis - 1.0, 1.0), np.minimum(MIN_RAN - 1.0, most), most))


@lru_cache(maxsize=64)  # of samples of one size they are the same, and a quarter of a percentile's time
def _find_ranks(count: int, point: float) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    return float(stats.binom.ppf(tail, count, point)), float(stats.binom.ppf(1 - tail, count, point))


def _percentiles(rows: Rows, effective: float) -> list[tuple[Floats, Floats, Floats]]:
    """Returns `PERCENTILES` of each func with zeros included, and order statistics that bound them.

    A percentile is the smallest value that at least so many of the views do not exceed. The bounds are the values at
    the ranks that a binomial count of views below the true percentile stays within in 95 % of samples; where
    the upper rank lies beyond the last view there is no bound (NaN).
    """
    order = order_rows(rows.func, rows.value)
    row_weight = rows.weight[rows.view]
    climbing = np.cumsum(row_weight[order])
    mass = np.bincount(rows.func, row_weight, minlength=rows.func_count)
    begin = np.cumsum(mass) - mass
    total = rows.weight.sum()
    count = max(round(effective), 1)
    values = np.append(rows.value[order], np.nan)

    def at(share: float) -> Floats:
        inside = share * total - (total - mass)  # how deep into the func's own rows
        slack = 1e-9 * total
        found = values[np.minimum(np.searchsorted(climbing, begin + inside - slack), values.size - 1)]
        return np.where(inside <= slack, 0.0, found)

    unknown = np.full(rows.func_count, np.nan)
    points = []
    for point in PERCENTILES:
        low, high = _find_ranks(count, point)
        points.append((at(point), at(low / count), at((high + 1) / count) if high < count else unknown))
    return points
