"""The summary of one sample of views: the cost of each func per page view, with its uncertainty; zeros included."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from profcore.stats.distributions import binomial_quantile
from profcore.stats.estimates import (
    CONFIDENCE,
    Figure,
    Floats,
    Interval,
    Ratios,
    Rows,
    as_intervals,
    clip_weights,
    degrees_of_mean,
    degrees_of_spread,
    effective_views,
    estimate_ratios,
    has_rates,
    skewed_interval,
    wilson_interval,
)
from profcore.stats.views import (
    FloatColumn,
    IntColumn,
    Measure,
    ViewColumns,
    ViewSample,
    order_rows,
    sample_of_table,
    sort_values,
)

# With fewer views no number is given. In simulations of skewed times with many zeros, the 95 % intervals of fewer views
# cover less than 93 %. Docs: statistics.md.
MIN_VIEWS: Final = 25
# A func that fewer views ran gets its mean without an interval: so few views have not shown the tail yet.
MIN_RAN: Final = 5
PERCENTILES: Final = (0.50, 0.75, 0.95)
US_PER_MS: Final = 1_000.0


class FuncSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One func (or group) over all views, including those that never ran it.

    `share` is its time divided by the views' time of the measure (a ratio of sums, 0 to 1). It is None if there is no
    such time, or if the measure is `total` and there is no JS time. `ran` is the share of views that ran it.
    """

    func_id: int
    views_ran: int
    ms_per_view: Figure
    share: Figure | None
    p50_ms: Figure
    p75_ms: Figure
    p95_ms: Figure
    ran: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A sample's funcs by ms per view, largest first; none with `is_too_few`.

    Too few are fewer than `MIN_VIEWS` effective views, or of views of a sample rate that carries weight fewer than
    `MIN_RATE_VIEWS`.

    `views` of `population` were read. `effective_views` is the effective number of views, as if all had one weight.
    `clipped_views` had their weight cut. `is_weighted` means that sample rates differ; `is_complete` is false if the
    sample is only of views that have not expired.
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
    """Exact sums over *all* views of a slice, in addition to a sample of them: by func id, for one measure.

    A summary leaves out funcs that `func_us` does not name. `whole_us` is the denominator of shares
    (`ViewSample.view_us`).
    """

    func_us: Mapping[int, int]
    whole_us: int


def summarise(
    sample: ViewSample, measure: Measure = "self", *, min_views: int = MIN_VIEWS, known: KnownSums | None = None
) -> Summary:
    """Returns a summary of every func with time by `measure`. Raises `NoTotalsError` if a grouping has no totals.

    With `known`, means and shares are those of all views of the slice, and their intervals are as narrow as that many
    views allow: the sample gives the spread of one view. `known` is ignored if sample rates differ within the sample
    (sums of recorded views are not those of all visits), and if contributions have expired.
    """
    weight, clipped = clip_weights(sample.weight)
    effective = effective_views(weight)
    is_weighted = bool(weight.size) and float(weight.min()) < float(weight.max())
    is_too_few = effective < min_views or not has_rates(weight).all()
    if is_weighted or not sample.is_complete:
        known = None
    rows = _measured_rows(sample, measure, weight, known)
    functions = () if is_too_few else tuple(_summarise_funcs(sample, rows, measure, known))
    return Summary(
        measure=measure,
        views=sample.views,
        population=sample.population,
        effective_views=effective,
        clipped_views=clipped,
        is_weighted=is_weighted,
        is_complete=sample.is_complete,
        is_too_few=is_too_few,
        functions=functions,
    )


NOTHING: Final = Figure(0.0, Interval(0.0, 0.0))


def estimate_p75(values_us: Sequence[int], sample_rates: Sequence[float]) -> Figure | None:
    """Returns the 75th percentile, ms, of one value of each view, with zeros; None if the views are too few.

    Its interval is between order statistics, as that of a func.
    """
    summary = _summarise_values(values_us, sample_rates)
    if summary.is_too_few:
        return None
    return summary.functions[0].p75_ms if summary.functions else NOTHING


def estimate_mean(values_us: Sequence[int], sample_rates: Sequence[float]) -> Figure | None:
    """Returns the mean, ms, of one value of each view, with zeros; None if the views are too few.

    It has no interval if fewer than `MIN_RAN` values are above zero.
    """
    summary = _summarise_values(values_us, sample_rates)
    if summary.is_too_few:
        return None
    return summary.functions[0].ms_per_view if summary.functions else NOTHING


def _summarise_values(values_us: Sequence[int], sample_rates: Sequence[float]) -> Summary:
    view_columns = ViewColumns.of(values_us, [0] * len(values_us), [0] * len(values_us), sample_rates)
    return summarise(sample_of_table([[value] for value in values_us], view_columns))


def _measured_rows(sample: ViewSample, measure: Measure, weight: FloatColumn, known: KnownSums | None) -> Rows:
    """Returns the rows above zero; with `known`, only of the funcs that it names."""
    row_us = sample.row_us(measure)
    is_wanted = row_us > 0
    if known is not None and len(known.func_us) < sample.func_count:
        is_wanted &= np.isin(sample.func_ids, list(known.func_us))[sample.func]
    above = np.flatnonzero(is_wanted)
    return Rows(
        view=sample.view[above],
        func=sample.func[above],
        value=row_us[above] / US_PER_MS,
        func_count=sample.func_count,
        weight=weight,
    )


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
    columns = (means, *points, (running, ran_low, ran_high))
    figures = zip(*(_figures(column, order) for column in columns), strict=True)
    share_figures = [None] * order.size if shares is None else _figures(shares, order)
    funcs = zip(sample.func_ids[order].tolist(), ran[order].tolist(), share_figures, figures, strict=True)
    return [
        FuncSummary(
            func_id=func_id,
            views_ran=views_ran,
            ms_per_view=mean,
            share=share,
            p50_ms=p50,
            p75_ms=p75,
            p95_ms=p95,
            ran=ran_figure,
        )
        for func_id, views_ran, share, (mean, p50, p75, p95, ran_figure) in funcs
    ]


def _figures(columns: tuple[Floats, Floats, Floats], order: IntColumn) -> list[Figure]:
    """Returns the figures of some funcs, from columns of their values and bounds."""
    value, low, high = (column[order] for column in columns)
    return list(map(Figure, value.tolist(), as_intervals(low, high)))


def _bounded(
    rows: Rows, denominator: FloatColumn, ran: IntColumn, exact: Floats | None, views_a_view: float
) -> tuple[Floats, Floats, Floats]:
    """Returns ratios with their bounds; no bound is below zero, since time never is.

    `exact` replaces the estimates; each view stands for `views_a_view` views like it.
    """
    stratum = np.zeros(rows.weight.size, dtype=np.int64)
    ratios = estimate_ratios(rows, denominator=denominator, stratum=stratum, stratum_count=1)
    estimate = ratios.value if exact is None else exact[:, None]
    is_plain = bool(denominator.min() == denominator.max() and rows.weight.min() == rows.weight.max())
    low, high = bound_means(estimate, ratios, effective_views(rows.weight), views_a_view, is_plain)
    has_enough = ran >= MIN_RAN
    return estimate[:, 0], np.where(has_enough, low[:, 0], np.nan), np.where(has_enough, high[:, 0], np.nan)


def bound_means(
    estimate: Floats,
    ratios: Ratios,
    views: Floats | float,
    views_a_view: Floats | float,
    is_plain: npt.NDArray[np.bool_] | bool = True,
) -> tuple[Floats, Floats]:
    """Returns the bounds of 95 % intervals around estimates, with the spread from `ratios`; none is below zero.

    `views` (effective) were read, and each stands for `views_a_view` views like it. If that is more than one, the mean
    is known better than the spread. The kurtosis tells how well the spread is known (Satterthwaite's degrees of
    freedom). So it is without `is_plain`, which says that the estimate is the mean of equally weighted views. If all
    views are equal, there is no variance, and the estimate is its own interval. NaN means no bound.
    """
    of_mean, of_spread = degrees_of_mean(views, ratios.kurtosis), degrees_of_spread(views, ratios.kurtosis)
    degrees = np.where(np.asarray(is_plain) & (np.asarray(views_a_view) <= 1), of_mean, of_spread)
    variance, third = ratios.variance / views_a_view, ratios.third / views_a_view**2
    low, high = skewed_interval(estimate, variance, third, degrees)
    is_flat = variance == 0
    low, high = np.where(is_flat, estimate, low), np.where(is_flat, estimate, high)
    return np.maximum(low, 0.0), high


@lru_cache(maxsize=64)  # the same for all samples of one size; a quarter of the time for a percentile
def _find_ranks(count: int, point: float) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    return float(binomial_quantile(tail, count, point)), float(binomial_quantile(1 - tail, count, point))


def _percentiles(rows: Rows, effective: float) -> list[tuple[Floats, Floats, Floats]]:
    """Returns `PERCENTILES` of each func with zeros included, and order statistics that bound them.

    A percentile is the smallest value that at least that share of the views does not exceed. The number of views below
    the true percentile is binomial. The bounds are the values at the ranks between which it stays in 95 % of samples.
    If the upper rank is beyond the last view, there is no bound (NaN).
    """
    row_weight = rows.weight[rows.view]
    if rows.weight.min() == rows.weight.max():  # then only the values have to be in order
        in_order, climbing = sort_values(rows.func, rows.value), np.cumsum(row_weight)
    else:
        order = order_rows(rows.func, rows.value)
        in_order, climbing = rows.value[order], np.cumsum(row_weight[order])
    mass = np.bincount(rows.func, row_weight, minlength=rows.func_count)
    begin = np.cumsum(mass) - mass
    total = rows.weight.sum()
    count = max(round(effective), 1)
    values = np.append(in_order, np.nan)

    def at(share: float) -> Floats:
        inside = share * total - (total - mass)  # how far into the func's own rows
        slack = 1e-9 * total
        quantile = values[np.minimum(np.searchsorted(climbing, begin + inside - slack), values.size - 1)]
        return np.where(inside <= slack, 0.0, quantile)

    unknown = np.full(rows.func_count, np.nan)
    points = []
    for point in PERCENTILES:
        low, high = _find_ranks(count, point)
        points.append((at(point), at(low / count), at((high + 1) / count) if high < count else unknown))
    return points
