"""The means of two sides at one common mix of device classes and navigations, and their difference with its bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from profcore.stats.estimates import (
    Floats,
    Ratios,
    Rows,
    degrees_of_mean,
    degrees_of_spread,
    estimate_ratios,
    skewed_interval,
)
from profcore.stats.summaries import US_PER_MS
from profcore.stats.views import FloatColumn, IntColumn

# Used instead of `SKEW_FACTOR`: bounds that are combined from two means are already on the safe side.
DIFFERENCE_SKEW_FACTOR: Final = 1.0


@dataclass(frozen=True, slots=True)
class ClassSums:
    """The sums of all views of a kind: how many there are, and their time by the measure, in µs.

    `is_estimated` if a part of exact sums was taken, by its share of a sample. The mean is then no surer than that of
    the sample.
    """

    views: int
    us: int
    is_estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The rows of one side above zero, the weight and stratum of its views (-1: left out), and sums of all views."""

    view: IntColumn
    func: IntColumn
    value: FloatColumn
    weight: FloatColumn
    stratum: IntColumn
    known: Sequence[ClassSums] = ()  # of all views, by stratum


def make_side(value: FloatColumn, weight: FloatColumn, stratum: IntColumn, known: Sequence[ClassSums] = ()) -> Side:
    """Returns a side with one value of each view, as if it were one func's."""
    view = np.flatnonzero(value > 0)
    return Side(view=view, func=np.zeros_like(view), value=value[view], weight=weight, stratum=stratum, known=known)


def crude_means(side: Side, funcs: int) -> Floats:
    """Returns plain means, without regard to the mix."""
    if side.known:
        return np.array([sum(sums.us for sums in side.known) / US_PER_MS / sum(sums.views for sums in side.known)])
    summed = np.bincount(side.func, side.weight[side.view] * side.value, minlength=funcs)
    return np.asarray(summed / max(float(side.weight.sum()), 1e-9))


def _ratios(side: Side, funcs: int, strata: int) -> Ratios:
    rows = Rows(view=side.view, func=side.func, value=side.value, func_count=funcs, weight=side.weight)
    return estimate_ratios(rows, denominator=np.ones_like(side.weight), stratum=side.stratum, stratum_count=strata)


def standardise(base: Side, head: Side, funcs: int, strata: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns the base mean and the difference at the common mix, and the bounds of the difference.

    The bounds are combined from those of both means (Zou and Donner's "method of variance estimates recovery"). The
    skewness of a difference cannot be estimated well, since its two parts nearly cancel.
    """
    mix = common_mix(base, head, strata)
    before, after = standard_mean(base, funcs, mix), standard_mean(head, funcs, mix)
    delta = after.mean - before.mean
    low = delta - np.hypot(after.mean - after.low, before.high - before.mean)
    high = delta + np.hypot(after.high - after.mean, before.mean - before.low)
    return before.mean, delta, low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardMean:
    """One side's means at a mix by func, their bounds and variance; the bounds are the mean if nothing varies."""

    mean: Floats
    low: Floats
    high: Floats
    variance: Floats


def standard_mean(side: Side, funcs: int, mix: Floats) -> StandardMean:
    """Returns one side's means at a mix."""
    ratios = _ratios(side, funcs, mix.size)
    sizes = np.bincount(side.stratum[side.stratum >= 0], minlength=mix.size)
    is_weighted = bool(side.weight.size) and float(side.weight.min()) < float(side.weight.max())
    effective = _effective(side, mix.size) if is_weighted else sizes.astype(np.float64)
    of_spread = degrees_of_spread(effective, ratios.kurtosis)
    value, stands_for = ratios.value, np.ones(mix.size)
    stratum_degrees = of_spread if is_weighted else degrees_of_mean(effective, ratios.kurtosis)
    if side.known:
        value = np.array([[sums.us / US_PER_MS / sums.views for sums in side.known]])
        all_views = np.array([0 if sums.is_estimated else sums.views for sums in side.known])
        stands_for = np.maximum(all_views / sizes, 1.0)
        stratum_degrees = np.where(stands_for > 1, of_spread, stratum_degrees)
    parts = ratios.variance / stands_for * mix**2
    variance = parts.sum(1)
    spent = (parts**2 / stratum_degrees).sum(1)
    degrees = np.where(spent > 0, variance**2 / np.where(spent > 0, spent, 1.0), 1.0)  # Welch and Satterthwaite
    mean = (value * mix).sum(1)
    third = (ratios.third / stands_for**2 * mix**3).sum(1)
    low, high = skewed_interval(mean, variance, third, np.maximum(degrees, 1.0), skew_factor=DIFFERENCE_SKEW_FACTOR)
    is_known = variance > 0
    return StandardMean(
        mean=mean, low=np.where(is_known, low, mean), high=np.where(is_known, high, mean), variance=variance
    )


def _effective(side: Side, strata: int) -> Floats:
    """Returns the effective number of views by stratum (Kish)."""
    kept = side.stratum >= 0
    stratum, weight = side.stratum[kept], side.weight[kept]
    total = np.bincount(stratum, weight, minlength=strata)
    return np.asarray(total**2 / np.bincount(stratum, weight * weight, minlength=strata))


def common_mix(base: Side, head: Side, strata: int) -> Floats:
    """Returns the share of each stratum: the mean of both sides' mixes, so that the larger sample does not dominate."""
    mixes = []
    for side in (base, head):
        kept = side.stratum >= 0
        sums = np.bincount(side.stratum[kept], side.weight[kept], minlength=strata)
        if side.known:
            sums = np.array([known.views for known in side.known], dtype=np.float64)
        mixes.append(sums / sums.sum())
    return np.asarray((mixes[0] + mixes[1]) / 2)
