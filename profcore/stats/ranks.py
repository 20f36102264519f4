"""The stratified rank test: did the time of a func change between two sets of views, whatever its scale?

It is van Elteren's test: Wilcoxon's, summed over strata with weights n·m/N that make it locally most powerful. It uses
mid-ranks, since most values are zeros. Its permutation distribution is skewed if the sets differ much in size. So
the tail comes from a Pearson type III curve with the exact third moment, not from a normal curve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from profcore.special import special
from profcore.stats.distributions import control_false_discoveries, normal_tail
from profcore.stats.estimates import Floats
from profcore.stats.standardised import (
    Side,
    common_mix,
    crude_means,
    join_strata,
    standard_means,
    standardise,
    subtract_means,
    sum_parts,
)
from profcore.stats.views import FloatColumn, IntColumn, order_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRows:
    """Rows above zero of both sets together, and the facts of each view; `stratum` -1 leaves a view out.

    `strata` is the number of strata; of one func that is asked about on several pages, that of each page.
    """

    view: IntColumn
    func: IntColumn
    value: FloatColumn
    func_count: int
    stratum: IntColumn
    strata: Sequence[int]
    is_head: IntColumn
    weight: FloatColumn


@dataclass(frozen=True, kw_only=True)
class RankSums:
    """The statistic of each func, its variance and its third cumulant, summed over strata.

    Those of other strata, such as another page's, are added: the test is then over all of them.
    """

    statistic: Floats
    variance: Floats
    cumulant: Floats

    @cached_property
    def test(self) -> tuple[Floats, Floats]:
        """For each func the standardised statistic (above zero: more in the head) and the two-sided p.

        A func whose values are all equal has the statistic 0 and the p 1.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(self.variance)
            z = np.where(spread > 1e-12, self.statistic / spread, 0.0)
            skew = np.where(spread > 1e-12, self.cumulant / spread**3, 0.0)
        return z, _two_sided(z, skew)


def sum_ranks(rows: RankRows) -> RankSums:
    """Returns the sums of the rank test by func, or by page.

    If weights differ, means of scores are weighted and sizes are effective sizes. Else the moments are exactly those of
    all permutations within strata.
    """
    keep = rows.stratum[rows.view] >= 0
    view, func, value = rows.view[keep], rows.func[keep], rows.value[keep]
    strata = sum(rows.strata)
    shape = rows.func_count, strata
    key = func * strata + rows.stratum[view]
    is_in = rows.stratum >= 0
    stratum, side, weight = rows.stratum[is_in], rows.is_head[is_in], rows.weight[is_in]
    size = np.bincount(stratum, minlength=strata).astype(np.float64)
    scores = _scores(key, value, shape, size)
    # Scores are relative to the score of zero, so that views without a row need none.
    sums = [_sum(key, power, shape) for power in (scores, scores * scores, scores * scores * scores)]
    mean = sums[0] / size
    second = sums[1] - size * mean**2
    third = sums[2] - 3 * mean * sums[1] + 2 * size * mean**3
    effective = [_effective(stratum[side == which], weight[side == which], strata) for which in (0, 1)]
    base_n, head_n = effective
    weighted, is_of_head = scores * rows.weight[view], rows.is_head[view] == 1
    base_mean, head_mean = (
        _sum(key[is_of], weighted[is_of], shape)
        / np.bincount(stratum[side == which], weight[side == which], minlength=strata)
        for which, is_of in enumerate((~is_of_head, is_of_head))
    )
    difference = head_mean - base_mean
    all_n = base_n + head_n
    factor = base_n * head_n / all_n
    with np.errstate(divide="ignore", invalid="ignore"):
        by_stratum = {
            "statistic": factor * difference,
            "variance": factor * second / (size - 1),
            "cumulant": factor * (base_n - head_n) / all_n * _drawn_third(third, size),
        }
    return RankSums(**{name: np.concatenate(sum_parts(values, rows.strata)) for name, values in by_stratum.items()})


def _drawn_third(third: Floats, size: Floats) -> Floats:
    """Returns the third moment of drawing without replacement, scaled from the third central sum."""
    return np.asarray(third * size / np.maximum((size - 1) * (size - 2), 1.0))


def _scores(key: IntColumn, value: FloatColumn, shape: tuple[int, int], size: Floats) -> FloatColumn:
    """Returns each row's mid-rank within its func and stratum, divided by (size + 1), minus that of a zero."""
    order = order_rows(key, value)
    sorted_key, sorted_value = key[order], value[order]
    positions = np.arange(order.size)
    is_first = np.ones(order.size, dtype=bool)
    is_first[1:] = (sorted_key[1:] != sorted_key[:-1]) | (sorted_value[1:] != sorted_value[:-1])
    run = np.cumsum(is_first) - 1
    starts = positions[is_first]
    ends = np.append(starts[1:], order.size)
    middle = ((starts + ends - 1) / 2)[run] if order.size else np.zeros(0)
    present = np.bincount(key, minlength=shape[0] * shape[1])
    begin = np.cumsum(present) - present
    sizes = np.tile(size, shape[0])
    missing = sizes - present
    rank = middle - begin[sorted_key] + missing[sorted_key] + 1
    zero_rank = (missing + 1) / 2
    scores = np.empty(order.size)
    scores[order] = (rank - zero_rank[sorted_key]) / (sizes[sorted_key] + 1)
    return scores


def _sum(key: IntColumn, values: FloatColumn, shape: tuple[int, int]) -> Floats:
    return np.bincount(key, values, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)


def _effective(stratum: IntColumn, weight: FloatColumn, strata: int) -> Floats:
    return np.asarray(
        np.bincount(stratum, weight, minlength=strata) ** 2 / np.bincount(stratum, weight**2, minlength=strata)
    )


def _two_sided(z: Floats, skew: Floats) -> Floats:
    """Returns the two-sided p of standardised statistics with a skewness: Pearson type III, normal at skewness 0."""
    size = np.maximum(np.abs(skew), 1e-4)
    along = z * np.where(skew < 0, -1.0, 1.0)
    form = 4 / size**2
    at = np.maximum(form + along * np.sqrt(form), 0.0)
    curved = 2 * np.minimum(special.gammaincc(form, at), special.gammainc(form, at))
    normal = 2 * normal_tail(np.abs(z))
    return np.asarray(np.clip(np.where(np.abs(skew) < 1e-3, normal, curved), 0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The change of each func, by its index; only that of the `funcs` with any time means something."""

    funcs: IntColumn
    ran: tuple[IntColumn, IntColumn]
    crude: tuple[Floats, Floats]
    standard_base: Floats
    delta: Floats
    low: Floats
    high: Floats
    z: Floats
    p: Floats
    q: Floats


def rank_sides(base: Side, head: Side, funcs: int, strata: int) -> RankSums:
    """Returns the sums of the rank test of funcs. Less than half of the work of `find_changes`."""
    return sum_ranks(_rank_rows([(base, head)], funcs, [strata]))


def find_changes(
    base: Side, head: Side, funcs: int, strata: int, *, is_weighted: bool, ranks: RankSums | None = None
) -> Changes | None:
    """Returns the changes of funcs, None if there is no time. `is_weighted` weighs funcs by their time in q.

    `ranks` are those of `rank_sides`, for a caller that has them.
    """
    ran = np.bincount(base.func, minlength=funcs), np.bincount(head.func, minlength=funcs)
    tested = np.flatnonzero(ran[0] + ran[1] > 0)
    if not tested.size:
        return None
    crude = crude_means(base, funcs), crude_means(head, funcs)
    standard_base, delta, low, high = standardise(base, head, funcs, strata)
    z, p = (ranks or rank_sides(base, head, funcs, strata)).test
    q = np.ones(funcs)
    q[tested] = control_false_discoveries(p[tested], weigh_funcs(base, head, funcs)[tested] if is_weighted else None)
    return Changes(
        funcs=tested,
        ran=ran,
        crude=crude,
        standard_base=standard_base,
        delta=delta,
        low=low,
        high=high,
        z=z,
        p=p,
        q=q,
    )


def find_whole_changes(pairs: Sequence[tuple[Side, Side]], strata: Sequence[int]) -> list[Changes | None]:
    """Returns what `find_changes` does, of several pages at once: each has two sides of one func, and its strata.

    Of 40 pages, this takes a fifth of the time of one by one.
    """
    asked = [at for at, pair in enumerate(pairs) if any(side.func.size for side in pair)]
    if not asked:
        return [None] * len(pairs)
    sides, counts = [pairs[at] for at in asked], [strata[at] for at in asked]
    mixes = [common_mix(*pair, count) for pair, count in zip(sides, counts, strict=True)]
    means = standard_means([side for pair in sides for side in pair], 1, [mix for mix in mixes for _ in (0, 1)])
    z, p = sum_ranks(_rank_rows(sides, 1, counts)).test
    changes: list[Changes | None] = [None] * len(pairs)
    for number, (at, (base, head)) in enumerate(zip(asked, sides, strict=True)):
        standard_base, delta, low, high = subtract_means(*means[2 * number : 2 * number + 2])
        changes[at] = Changes(
            funcs=np.zeros(1, dtype=np.int64),
            ran=(np.array([base.func.size]), np.array([head.func.size])),
            crude=(crude_means(base, 1), crude_means(head, 1)),
            standard_base=standard_base,
            delta=delta,
            low=low,
            high=high,
            z=z[number : number + 1],
            p=p[number : number + 1],
            q=p[number : number + 1],
        )
    return changes


def weigh_funcs(base: Side, head: Side, funcs: int) -> FloatColumn:
    """Returns what each func weighs among all that are tested: the square root of its time on both sides together.

    Most funcs of a page take next to no time, and hide the few that matter among many. With the time itself as weight,
    heavy funcs are found a little more often still, and more cheap ones are lost. Docs: statistics.md.
    """
    pooled = [np.bincount(side.func, side.value * side.weight[side.view], minlength=funcs) for side in (base, head)]
    return np.asarray(np.sqrt(pooled[0] + pooled[1]), dtype=np.float64)


def _rank_rows(pairs: Sequence[tuple[Side, Side]], funcs: int, strata: Sequence[int]) -> RankRows:
    sides = [side for pair in pairs for side in pair]
    first_views = np.cumsum([0, *(side.weight.size for side in sides)]).tolist()
    return RankRows(
        view=np.concatenate([side.view + first for side, first in zip(sides, first_views, strict=False)]),
        func=np.concatenate([side.func for side in sides]),
        value=np.concatenate([side.value for side in sides]),
        func_count=funcs,
        stratum=join_strata([np.concatenate([side.stratum for side in pair]) for pair in pairs], strata),
        strata=strata,
        is_head=np.concatenate([np.full(side.weight.size, number % 2) for number, side in enumerate(sides)]),
        weight=np.concatenate([side.weight for side in sides]),
    )
