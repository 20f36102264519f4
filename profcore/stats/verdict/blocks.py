"""How much less views say than their number, since those of one visitor, hour or day are alike.

The rank statistic is a sum over views. Sums over blocks vary more than independent views would: a visitor's views are
one session, or lie within an hour or so, and a campaign within a day. The inflation is the variance of the sums of
blocks, divided by that of as many independent views (a design effect; Kish, Survey Sampling, 1965). A statistic is
divided by its root.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from profcore.special import special
from profcore.stats.estimates import Floats
from profcore.stats.finer_strata import HOURS_OF_DAY
from profcore.stats.views import FloatColumn, IntColumn

# A side with fewer blocks hardly knows its own inflation: it takes the other side's, if that has more and is larger.
KNOWN_BLOCKS: Final = 30
# Ranks of a million views are this far apart, and more.
LEAST_SCORE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Inflation:
    """The factor of the variance, below 1 too, and the degrees of freedom of its estimate."""

    factor: float
    degrees: float

    def p_of(self, z: float) -> float:
        """Returns the two-sided p of a standardised rank statistic with this inflation, which is at least 1."""
        return float(2 * special.stdtr(self.degrees, -abs(z) / np.sqrt(max(self.factor, 1.0))))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRows:
    """One value of each view of both sides (zeros too), its stratum from 0 on, its side, hour and session (0: none)."""

    value: FloatColumn
    stratum: IntColumn
    is_head: IntColumn
    hour: IntColumn
    session: IntColumn

    @property
    def days(self) -> IntColumn:
        """The block of each view by days."""
        return self.hour // HOURS_OF_DAY

    @property
    def visits(self) -> IntColumn:
        """The block of each view by visitors: its session, if most views of each side have one, else its hour."""
        has_one = self.session != 0
        if all(2 * np.sum(has_one[self.is_head == side]) > np.sum(self.is_head == side) for side in (0, 1)):
            return np.where(has_one, self.session, self.hour)
        return self.hour


def find_inflation(rows: BlockRows, blocks: IntColumn) -> Inflation | None:
    """Returns the inflation of the rank statistic of some views by blocks; None if neither side has two blocks."""
    influence = _find_influence(rows)
    alone, factors, degrees, counts = [], [], [], []
    for side in (0, 1):
        is_in = rows.is_head == side
        _, block = np.unique(blocks[is_in], return_inverse=True)
        squares = np.square(np.bincount(block, influence[is_in]))
        total, count = float(squares.sum()), int(squares.size)
        own = float(np.square(influence[is_in]).sum())
        alone.append(own)
        counts.append(count)
        # What does not vary at all cannot be inflated.
        factors.append(-1.0 if count < 2 else total * count / (count - 1) / own if own > 0 else 1.0)
        # Satterthwaite's: a few blocks that hold most of the variance are worth a few.
        spread = float(np.square(squares).sum())
        degrees.append(max(min(count - 1.0, total**2 / spread - 1 if spread > 0 else np.inf), 1.0))
    for side, other in ((0, 1), (1, 0)):
        is_better = counts[side] < KNOWN_BLOCKS and counts[other] >= counts[side] and factors[other] > factors[side]
        if is_better or factors[side] < 0:
            factors[side], degrees[side] = factors[other], degrees[other]
    if min(factors) < 0:
        return None
    if not sum(alone):
        return Inflation(1.0, sum(degrees))
    parts = [factor * own for factor, own in zip(factors, alone, strict=True)]
    spent = sum(part**2 / freedom for part, freedom in zip(parts, degrees, strict=True))
    return Inflation(sum(parts) / sum(alone), max(sum(parts) ** 2 / spent, 1.0) if spent > 0 else 1.0)


def _find_influence(rows: BlockRows) -> Floats:
    """Returns what each view adds to the statistic: its centred score, with the weight of its stratum."""
    strata = int(rows.stratum.max()) + 1 if rows.stratum.size else 1
    scores = _find_scores(rows.value, rows.stratum, strata)
    group = rows.stratum * 2 + rows.is_head
    sizes = np.bincount(group, minlength=2 * strata)
    means = np.bincount(group, scores, minlength=2 * strata) / np.maximum(sizes, 1)
    base, head = sizes.reshape(strata, 2).T
    weight = base * head / np.maximum(base + head, 1)
    size = np.where(rows.is_head == 1, head[rows.stratum], -base[rows.stratum])
    centred = scores - means[group]
    # What is left of equal scores by rounding is nothing.
    return np.where(np.abs(centred) < LEAST_SCORE, 0.0, weight[rows.stratum] / size * centred)


def _find_scores(value: FloatColumn, stratum: IntColumn, strata: int) -> Floats:
    """Returns the mid-rank of each view within its stratum, divided by (size + 1)."""
    order = np.lexsort((value, stratum))
    sorted_value, sorted_stratum = value[order], stratum[order]
    is_first = np.ones(order.size, dtype=bool)
    is_first[1:] = (sorted_stratum[1:] != sorted_stratum[:-1]) | (sorted_value[1:] != sorted_value[:-1])
    starts = np.flatnonzero(is_first)
    ends = np.append(starts[1:], order.size)
    middle = ((starts + ends - 1) / 2)[np.cumsum(is_first) - 1] if order.size else np.zeros(0)
    size = np.bincount(stratum, minlength=strata)
    begin = np.cumsum(size) - size
    scores = np.empty(order.size)
    scores[order] = (middle - begin[sorted_stratum] + 1) / (size[sorted_stratum] + 1)
    return scores
