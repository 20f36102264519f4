"""What a comparison could have seen: the smallest change of the views' whole time that they would show.

A change is taken to make every view of the head slower by the same factor. It is shown if p is below the bound and the
interval of the difference does not include 0.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from profcore.stats.distributions import Floats, normal_quantile, normal_tail
from profcore.stats.estimates import CONFIDENCE
from profcore.stats.standardised import Side, StandardMean, common_mix, standard_means
from profcore.stats.views import FloatColumn

POWER: Final = 0.8
# The factors that are tried: beyond eight times as slow no one asks for a test.
FACTORS: Final[Floats] = np.exp(np.linspace(np.log(1.002), np.log(8.0), 48))
CHANGE: Final = 0.05
# The interval's own width varies from sample to sample, so that its lower end varies more than the difference. By
# simulation of skewed times; docs/statistics.md.
VARIES: Final = 1.15


@dataclass(frozen=True, slots=True)
class SmallestChange:
    """The smallest change of the whole time that would be shown four times in five.

    `delta_ms` is per view, and `relative` to the mean of both sides. `views_for_five_percent` is how many views each
    side would need to show a change of 5 %, if they are like these.
    """

    delta_ms: float
    relative: float
    views_for_five_percent: int


def find_smallest_change(base: Side, head: Side, strata: int, bound: float) -> SmallestChange | None:
    """Returns the smallest change that two sides of views would show at a bound of p; None if it is none of `FACTORS`.

    `base` and `head` are the whole times of their views, as in `compare`. Nothing is drawn at random: the chance to be
    below another view is that among the views of the same side and stratum.
    """
    mix = common_mix(base, head, strata)
    sides = standard_means((base, head), 1, (mix, mix))
    mean = float(sum(side.mean[0] for side in sides)) / 2
    if mean <= 0:
        return None
    score = _expect_score(base, head, strata)
    error, margin = _expect_interval(sides[0], sides[1], mean)
    delta = (FACTORS - 1) * mean
    needed = normal_quantile(bound / 2)
    by_ranks = 1 - normal_tail(score - needed)
    by_means = 1 - normal_tail((delta - margin) / np.maximum(VARIES * error, 1e-9 * mean))
    # Both are needed, and go together in part: between the lesser and their product.
    power = (np.minimum(by_ranks, by_means) + by_ranks * by_means) / 2
    enough = np.flatnonzero(power >= POWER)
    if not enough.size:
        return None
    at = int(enough[0])
    share = 0.0 if at == 0 else float((POWER - power[at - 1]) / (power[at] - power[at - 1]))
    relative = float(FACTORS[max(at - 1, 0)] + share * (FACTORS[at] - FACTORS[max(at - 1, 0)])) - 1
    return SmallestChange(
        delta_ms=relative * mean,
        relative=relative,
        views_for_five_percent=_count_needed(base, head, score[at] / np.log(FACTORS[at]), error[0] / mean, needed),
    )


def _count_needed(base: Side, head: Side, score_of_log: float, error: float, needed: float) -> int:
    """Returns the views per side for `CHANGE`: scores grow with the root of the views, errors shrink with it."""
    reach = normal_quantile(1 - POWER)
    by_ranks = ((needed + reach) / (score_of_log * np.log(1 + CHANGE))) ** 2
    by_means = ((normal_quantile((1 - CONFIDENCE) / 2) + VARIES * reach) * error / CHANGE) ** 2
    views = [int(np.count_nonzero(side.stratum >= 0)) for side in (base, head)]
    information = views[0] * views[1] / sum(views)
    return int(np.ceil(2 * information * max(by_ranks, by_means)))


def _expect_score(base: Side, head: Side, strata: int) -> Floats:
    """Returns the expected standardised statistic of the rank test at each of `FACTORS`."""
    times = [_by_stratum(side, strata) for side in (base, head)]
    shift, variance = np.zeros(FACTORS.size), 0.0
    for (base_times, base_views), (head_times, head_views) in zip(*times, strict=True):
        size = base_times.size + head_times.size
        factor = base_views * head_views / (base_views + head_views)
        _, ties = np.unique(np.concatenate([base_times, head_times]), return_counts=True)
        second = (size**3 - size - float((ties.astype(np.float64) ** 3 - ties).sum())) / 12 / (size + 1) ** 2
        variance += factor * second / (size - 1)
        pairs = [values.size * (values.size - 1) for values in (base_times, head_times)]
        above = sum(_count_above(values) for values in (base_times, head_times)) / sum(pairs)
        shift += factor * (above - 0.5) * size / (size + 1)
    return np.asarray(shift / np.sqrt(variance) if variance > 0 else shift)


def _count_above(values: FloatColumn) -> Floats:
    """Returns for each factor how many pairs of different views have the first one, made slower, above the second."""
    ordered = np.sort(values)
    slower = FACTORS[:, None] * ordered
    below = np.searchsorted(ordered, slower, "left") + np.searchsorted(ordered, slower, "right")
    # Each view is above itself if it has any time, and equal to itself if not.
    return np.asarray(below.sum(1) / 2 - (np.count_nonzero(ordered) + 0.5 * np.count_nonzero(ordered == 0)))


def _by_stratum(side: Side, strata: int) -> list[tuple[FloatColumn, float]]:
    """Returns the times of each stratum's views, and their effective number."""
    times = np.zeros(side.weight.size)
    times[side.view] = side.value
    order = np.argsort(side.stratum, kind="stable")
    edges = np.searchsorted(side.stratum[order], np.arange(strata + 1))
    columns = []
    for start, end in pairwise(edges.tolist()):
        weight = side.weight[order[start:end]]
        columns.append((times[order[start:end]], float(weight.sum() ** 2 / (weight * weight).sum())))
    return columns


def _expect_interval(base: StandardMean, head: StandardMean, mean: float) -> tuple[Floats, Floats]:
    """Returns the standard error of the difference at each of `FACTORS`, and how far below it the interval begins."""
    of_base, of_head = (mean / float(side.mean[0]) if side.mean[0] > 0 else 1.0 for side in (base, head))
    errors = [of_base * np.sqrt(float(base.variance[0])), of_head * np.sqrt(float(head.variance[0])) * FACTORS]
    above = of_base * float(base.high[0] - base.mean[0])
    below = of_head * float(head.mean[0] - head.low[0]) * FACTORS
    return np.asarray(np.hypot(errors[0], errors[1])), np.asarray(np.hypot(above, below))
