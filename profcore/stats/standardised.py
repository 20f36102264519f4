"""The means of two sides at one common mix of device classes and navigations, and their difference with its bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
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
# Both sides are estimated at once if they have up to so many funcs times strata. With more, a dozen numbers of each
# take more memory than the time of a call is worth.
MOST_AT_ONCE: Final = 20_000


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


def standardise(base: Side, head: Side, funcs: int, strata: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns the base mean and the difference at the common mix, and the bounds of the difference.

    The bounds are combined from those of both means (Zou and Donner's "method of variance estimates recovery"). The
    skewness of a difference cannot be estimated well, since its two parts nearly cancel.
    """
    mix = common_mix(base, head, strata)
    if funcs * strata <= MOST_AT_ONCE:
        before, after = standard_means((base, head), funcs, (mix, mix))
    else:
        before, after = (standard_means([side], funcs, [mix])[0] for side in (base, head))
    return subtract_means(before, after)


def subtract_means(before: "StandardMean", after: "StandardMean") -> tuple[Floats, Floats, Floats, Floats]:
    """Returns what `standardise` does, of the means of both sides."""
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


def standard_means(sides: Sequence[Side], funcs: int, mixes: Sequence[Floats]) -> list[StandardMean]:
    """Returns the means of each of some sides at a mix of its own strata. Many sides take hardly longer than one."""
    counts = [mix.size for mix in mixes]
    ratios = _find_ratios(sides, funcs, counts)
    sizes = [
        np.bincount(side.stratum[side.stratum >= 0], minlength=count) for side, count in zip(sides, counts, strict=True)
    ]
    is_weighted = [bool(side.weight.size) and float(side.weight.min()) < float(side.weight.max()) for side in sides]
    effective = np.concatenate(
        [
            _effective(side, of_side.size) if weighted else of_side.astype(np.float64)
            for side, of_side, weighted in zip(sides, sizes, is_weighted, strict=True)
        ]
    )
    of_spread = degrees_of_spread(effective, ratios.kurtosis)
    stands_for = np.ones_like(effective)
    for side, of_side, edges in zip(sides, sizes, pairwise([0, *accumulate(counts)]), strict=True):
        if side.known:
            ratios.value[:, slice(*edges)] = [sums.us / US_PER_MS / sums.views for sums in side.known]
            all_views = np.array([0 if sums.is_estimated else sums.views for sums in side.known])
            stands_for[slice(*edges)] = np.maximum(all_views / of_side, 1.0)
    is_by_spread = np.repeat(is_weighted, counts) | (stands_for > 1)
    stratum_degrees = np.where(is_by_spread, of_spread, degrees_of_mean(effective, ratios.kurtosis))
    mix = np.concatenate(mixes)
    parts = ratios.variance / stands_for * mix**2
    variance, spent, mean, third = (
        np.stack(sum_parts(values, counts))
        for values in (
            parts,
            parts**2 / stratum_degrees,
            ratios.value * mix,
            ratios.third / stands_for**2 * mix**3,
        )
    )
    degrees = np.where(spent > 0, variance**2 / np.where(spent > 0, spent, 1.0), 1.0)  # Welch and Satterthwaite
    bounds = skewed_interval(mean, variance, third, np.maximum(degrees, 1.0), skew_factor=DIFFERENCE_SKEW_FACTOR)
    low, high = (np.where(variance > 0, bound, mean) for bound in bounds)
    columns = zip(mean, low, high, variance, strict=True)
    return [StandardMean(mean=mean, low=low, high=high, variance=variance) for mean, low, high, variance in columns]


def sum_parts(values: Floats, counts: Sequence[int]) -> list[Floats]:
    """Returns the sums over each part of the last axis; `counts` are the sizes of parts.

    A sum is the same to its last digit, whatever the other parts are.
    """
    return [values[:, first:last].sum(1) for first, last in pairwise([0, *accumulate(counts)])]


def _find_ratios(sides: Sequence[Side], funcs: int, strata: Sequence[int]) -> Ratios:
    """Returns the means in arrays of shape (funcs, strata of all sides): each side has strata of its own."""
    first_views = np.cumsum([0, *(side.weight.size for side in sides)])
    weight = np.concatenate([side.weight for side in sides])
    rows = Rows(
        view=np.concatenate([side.view + first for side, first in zip(sides, first_views.tolist(), strict=False)]),
        func=np.concatenate([side.func for side in sides]),
        value=np.concatenate([side.value for side in sides]),
        func_count=funcs,
        weight=weight,
    )
    return estimate_ratios(
        rows,
        denominator=np.ones_like(weight),
        stratum=join_strata([side.stratum for side in sides], strata),
        stratum_count=sum(strata),
    )


def join_strata(columns: Sequence[IntColumn], strata: Sequence[int]) -> IntColumn:
    """Returns the strata of the views of several columns as one, numbered on; `strata` are their numbers of strata."""
    firsts = [0, *accumulate(strata)]
    return np.concatenate(
        [np.where(column < 0, -1, column + first) for column, first in zip(columns, firsts, strict=False)]
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
