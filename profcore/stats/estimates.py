"""Means and ratios over views with their uncertainty, for values that are skewed and mostly zero.

Everything here is a ratio of two sums over views, `R = Σ w·x / Σ w·y`: a mean per view has y = 1, a share has y = the
view's time. Its influence values `w·(x − R·y) / Σ w·y` give a variance (the delta method) and a third cumulant.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from profcore.stats.distributions import normal_quantile, t_quantile
from profcore.stats.views import FloatColumn, IntColumn

Floats = npt.NDArray[np.float64]

CONFIDENCE: Final = 0.95
# Weights within this factor are taken as one rate: rates that differ by little change little.
LIKE_RATES: Final = 4.0
# A rate that stands for this much of all visits carries weight. With fewer of its views a mean is not known, and its
# interval too narrow: 80 instead of 95 % (docs/statistics.md).
CARRIED_SHARE: Final = 0.02
MIN_RATE_VIEWS: Final = 20
# A single view with its rate, among this many, must not make the result unknown: any sender may claim one. In smaller
# samples one view may be all that is seen of many visits.
STRAY_AMONG: Final = 500
# The sample skewness of a small, skewed sample is too low on average; docs/statistics.md has the simulation.
SKEW_FACTOR: Final = 1.35


# The spread of a mean is never taken as less certain than that of five views.
MIN_DEGREES: Final = 4.0


class Interval(NamedTuple):
    """A 95 % confidence interval. A tuple, as `Figure` is: a table makes thousands of both."""

    low: float
    high: float


class Figure(NamedTuple):
    """A number and its interval; None if the data does not allow one."""

    value: float
    ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Ratios:
    """`R` by func and stratum, with its variance and third cumulant: arrays of shape (funcs, strata).

    `kurtosis` is that of one view's influence: 3 for a normal distribution.
    """

    value: Floats
    variance: Floats
    third: Floats
    kurtosis: Floats


def clip_weights(weight: FloatColumn) -> tuple[FloatColumn, int]:
    """Returns weights with those of strays cut, and how many were cut.

    A stray is a single view among `STRAY_AMONG` or more that is alone with its rate, and above all others (beyond
    `LIKE_RATES`). It gets the weight of the next one. Other weights are never cut: that would be a bias towards views
    that are recorded often.
    """
    if weight.size < STRAY_AMONG:
        return weight, 0
    second, most = np.partition(weight, -2)[-2:]
    is_stray = bool(most > LIKE_RATES * second)
    return (np.minimum(weight, second), 1) if is_stray else (weight, 0)


def weigh_rates(views: Mapping[float, int]) -> Mapping[float, float]:
    """Returns the weight of a view by its sampling rate, given the numbers of views by rate; a stray's is cut.

    All are equal if a rate that carries weight has too few views (`has_rates`): one view could decide a mean.
    """
    rates, counts = list(views), list(views.values())
    weight, _ = clip_weights(np.repeat(1.0 / np.array(rates, dtype=np.float64), counts))
    if not has_rates(weight).all():
        return dict.fromkeys(rates, 1.0)
    firsts = np.cumsum([0, *counts[:-1]])
    return dict(zip(rates, weight[firsts].tolist(), strict=True))


def has_rates(weight: FloatColumn, part: IntColumn | None = None, parts: int = 1) -> npt.NDArray[np.bool_]:
    """Returns for each part of the views whether every rate that carries weight has `MIN_RATE_VIEWS` views there.

    `part` is by view; -1 leaves a view out. Parts of a single rate have enough, however many views they have.
    """
    if not weight.size or float(weight.min()) == float(weight.max()):
        return np.ones(parts, dtype=bool)
    part_of = np.zeros(weight.size, dtype=np.int64) if part is None else part
    weight, part_of = weight[part_of >= 0], part_of[part_of >= 0]
    least = np.full(parts, np.inf)
    np.minimum.at(least, part_of, weight)
    level = np.floor(np.log(weight / least[part_of]) / np.log(LIKE_RATES) + 1e-9).astype(np.int64)
    rates, rate = np.unique(np.stack([part_of, level]), axis=1, return_inverse=True)
    views = np.bincount(rate.reshape(-1), minlength=rates.shape[1])
    carried = np.bincount(rate.reshape(-1), weight, minlength=rates.shape[1])
    whole = np.bincount(part_of, weight, minlength=parts)
    is_alone = np.bincount(rates[0], minlength=parts)[rates[0]] == 1
    is_enough = is_alone | (views >= MIN_RATE_VIEWS) | (carried < CARRIED_SHARE * whole[rates[0]])
    has_enough = np.ones(parts, dtype=bool)
    np.logical_and.at(has_enough, rates[0], is_enough)
    return has_enough


def effective_views(weight: FloatColumn) -> float:
    """Returns the effective number of views, as if all had one weight (Kish): (Σw)² / Σw²."""
    return float(weight.sum() ** 2 / np.square(weight).sum()) if weight.size else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Values above zero by view and func, and the weight of every view."""

    view: IntColumn
    func: IntColumn
    value: FloatColumn
    func_count: int
    weight: FloatColumn


def estimate_ratios(rows: Rows, *, denominator: FloatColumn, stratum: IntColumn, stratum_count: int) -> Ratios:
    """Returns `R` for each func in each stratum, estimated from rows above zero; a missing row is zero.

    `denominator` and `stratum` are by view; a view of stratum -1 is left out. Strata with a single view have
    no variance (NaN). Strata with two views have no third cumulant (0).
    """
    weight, func_count = rows.weight, rows.func_count
    view, func, value = rows.view, rows.func, rows.value
    is_in = stratum >= 0
    if not is_in.all():
        kept = np.flatnonzero(is_in[view])
        view, func, value = view[kept], func[kept], value[kept]
    shape = (func_count, stratum_count)
    key = func * stratum_count + stratum[view] if stratum_count > 1 else func
    view_stratum = stratum[is_in]
    wy = weight * denominator

    def by_view(values: FloatColumn) -> Floats:
        return np.bincount(view_stratum, values[is_in], minlength=stratum_count).astype(np.float64)

    def by_row(values: FloatColumn) -> Floats:
        return np.bincount(key, values, minlength=func_count * stratum_count).astype(np.float64).reshape(shape)

    count, total = by_view(np.ones_like(weight)), by_view(wy)
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted = weight[view] * value
        ratio = by_row(weighted) / total
        expected = np.where(np.isfinite(ratio), ratio, 0.0).reshape(-1)[key] * wy[view]
        residual = weighted - expected
        residual_2, expected_2 = residual * residual, expected * expected
        squares = by_row(residual_2 - expected_2) + ratio**2 * by_view(wy**2)
        cubes = by_row(residual_2 * residual + expected_2 * expected) - _cube(ratio) * by_view(_cube(wy))
        variance = np.maximum(squares, 0.0) / total**2 * (count / (count - 1))
        fourths = by_row(residual_2 * residual_2 - expected_2 * expected_2) + ratio**2 * ratio**2 * by_view(wy**4)
        kurtosis = np.where(squares > 0, count * fourths / np.where(squares > 0, squares, 1.0) ** 2, 3.0)
        third = np.where(count > 2, cubes / total**3 * (count**2 / np.maximum((count - 1) * (count - 2), 1)), 0.0)
    return Ratios(ratio, np.where(count > 1, variance, np.nan), third, kurtosis)


def _cube(values: Floats) -> Floats:
    return values * values * values  # numpy's power takes twenty times as long


def skewed_interval(
    value: Floats, variance: Floats, third: Floats, degrees: Floats | float, *, skew_factor: float = SKEW_FACTOR
) -> tuple[Floats, Floats]:
    """Returns the lower and upper bounds of 95 % intervals that take skewness into account.

    Hall's monotone cubic transformation of the t statistic (P. Hall, On the removal of skewness by transformation,
    J. R. Statist. Soc. B 54, 1992), with quantiles of t. Without skewness this is the plain t interval. Without
    variance the bounds are NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(variance)
        skew = skew_factor * third / spread**3
        quantile = t_quantile((1 - CONFIDENCE) / 2, degrees)
        low = value - np.multiply(spread, _untransform(quantile, skew))
        high = value - np.multiply(spread, _untransform(-quantile, skew))
    is_known = variance > 0
    return np.where(is_known, low, np.nan), np.where(is_known, high, np.nan)


def _untransform(quantile: Floats, skew: Floats) -> Floats:
    safe = np.where(np.abs(skew) < 1e-6, 1e-6, skew)
    return np.asarray(3 / safe * (np.cbrt(1 + safe * (quantile - safe / 6)) - 1))


def degrees_of_spread(views: Floats | float, kurtosis: Floats) -> Floats:
    """Returns the degrees of freedom of a spread that is estimated from `views` views (Satterthwaite)."""
    most = np.maximum(views - 1.0, 1.0)
    return np.asarray(np.clip(2.0 * views / np.maximum(kurtosis - 1.0, 1.0), np.minimum(MIN_DEGREES, most), most))


def degrees_of_mean(views: Floats | float, kurtosis: Floats) -> Floats:
    """Returns the degrees of freedom of a mean of equally weighted views: between those of its spread and n - 1.

    A view far from the mean makes the spread both uncertain and large, which n - 1 ignores and Satterthwaite's degrees
    count twice. Their geometric mean covers best (docs/statistics.md).
    """
    return np.asarray(np.sqrt(degrees_of_spread(views, kurtosis) * np.maximum(views - 1.0, 1.0)))


def wilson_interval(share: Floats, views: float) -> tuple[Floats, Floats]:
    """Returns Wilson's bounds of a share of `views` views. They hold near 0 and 1, where the usual bounds do not."""
    z = normal_quantile((1 - CONFIDENCE) / 2)
    centre = (share + z * z / (2 * views)) / (1 + z * z / views)
    half = z / (1 + z * z / views) * np.sqrt(share * (1 - share) / views + z * z / (4 * views * views))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def as_interval(low: float, high: float) -> Interval | None:
    """Returns an interval, or None if a bound is not known."""
    return Interval(float(low), float(high)) if isfinite(low) and isfinite(high) else None


def as_intervals(low: Floats, high: Floats) -> list[Interval | None]:
    """Returns the interval of each pair of bounds, None where one is not known."""
    known = np.isfinite(low) & np.isfinite(high)
    pairs = zip(known.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Interval(lower, upper) if is_known else None for is_known, lower, upper in pairs]
