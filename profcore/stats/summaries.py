"""One sample of views summarised: what each func costs a page view, with its uncertainty; zeros included."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

from profcore.stats.estimates import (
    CONFIDENCE,
    Figure,
    Floats,
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
    `clipped_views` had their weight cut.
    """

    measure: Measure
    views: int
    population: int
    effective_views: float
    clipped_views: int
    is_too_few: bool
    functions: tuple[FuncSummary, ...]


def summarise(sample: ViewSample, measure: Measure = "self", *, min_views: int = MIN_VIEWS) -> Summary:
    """Summarises every func with time by `measure`. Raises `NoTotalsError` where a grouping has no totals."""
    weight, clipped = clip_weights(sample.weight)
    effective = effective_views(weight)
    is_too_few = effective < min_views
    functions = () if is_too_few else tuple(_summarise_funcs(sample, measure, weight, effective))
    return Summary(measure, sample.views, sample.population, effective, clipped, is_too_few, functions)


def _summarise_funcs(sample: ViewSample, measure: Measure, weight: FloatColumn, effective: float) -> list[FuncSummary]:
    row_us = sample.row_us(measure)
    above = row_us > 0
    funcs = sample.func_count
    rows = Rows(sample.view[above], sample.func[above], row_us[above] / US_PER_MS, funcs, weight)
    ran = np.bincount(rows.func, minlength=funcs)
    means = _bounded(rows, np.ones_like(weight), effective, ran)
    whole_ms = sample.view_us(measure) / US_PER_MS
    shares = _bounded(rows, whole_ms, effective, ran) if whole_ms.any() else None
    running = np.bincount(rows.func, weight[rows.view], minlength=funcs) / weight.sum()
    ran_low, ran_high = wilson_interval(running, effective)
    points = [_percentiles(rows, effective, point) for point in PERCENTILES]
    present = np.flatnonzero(ran)
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


def _bounded(rows: Rows, denominator: FloatColumn, effective: float, ran: IntColumn) -> tuple[Floats, Floats, Floats]:
    """Returns ratios with their bounds; time is never below zero, so no bound is."""
    stratum = np.zeros(rows.weight.size, dtype=np.int64)
    ratios = estimate_ratios(rows, denominator=denominator, stratum=stratum, stratum_count=1)
    has_enough = ran >= MIN_RAN
    estimate = ratios.value[:, 0]
    low, high = skewed_interval(estimate, ratios.variance[:, 0], ratios.third[:, 0], max(effective - 1, 1.0))
    # All views alike: no variance was seen, and the estimate is its own interval.
    is_flat = ratios.variance[:, 0] == 0
    low, high = np.where(is_flat, estimate, low), np.where(is_flat, estimate, high)
    return (
        estimate,
        np.where(has_enough, np.maximum(low, 0.0), np.nan),
        np.where(has_enough, high, np.nan),
    )


def _percentiles(rows: Rows, effective: float, point: float) -> tuple[Floats, Floats, Floats]:
    """Returns a percentile of each func with zeros included, and order statistics that bound it.

    The percentile is the smallest value that at least `point` of the views do not exceed. The bounds are the values at
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
    tail = (1 - CONFIDENCE) / 2
    ranks = [stats.binom.ppf(tail, count, point) / count, (stats.binom.ppf(1 - tail, count, point) + 1) / count]
    values = np.append(rows.value[order], np.nan)

    def at(share: float) -> Floats:
        inside = share * total - (total - mass)  # how deep into the func's own rows
        slack = 1e-9 * total
        found = values[np.minimum(np.searchsorted(climbing, begin + inside - slack), values.size - 1)]
        return np.where(inside <= slack, 0.0, found)

    high = at(ranks[1]) if ranks[1] <= 1 else np.full(rows.func_count, np.nan)
    return at(point), at(float(ranks[0])), high
