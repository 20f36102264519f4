"""What the header costs a site: vitals of pages with it against those without, of one draw."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from profcore.stats.estimates import Figure, Interval
from profcore.vitals.page_loads import middle_ms

# Of each side, so that the mean of logarithms is nearly normal.
MIN_LOADS: Final = 100
Z95: Final = 1.959964
# A vital that is so much later, for sure more than not at all, costs visitors something.
COSTLY: Final = 0.02
# What a site's visitors may lose together: the share of pages with the header times their loss.
MOST_LOSS: Final = 0.01

Counts = Mapping[int, int]  # loads by bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class VitalCost:
    """One vital on both sides: loads, the 75th percentiles (ms), and how much later it comes in a typical view.

    `later` is the ratio of geometric means less 1, with its 95 % interval; None of too few loads.
    """

    vital: str
    loads: tuple[int, int]
    p75_ms: tuple[float, float]
    later: Figure | None

    @property
    def is_known(self) -> bool:
        """Returns whether both sides differ, more than by chance."""
        return self.later is not None and self.later.ci95 is not None and not _has_zero(self.later.ci95)

    @property
    def is_costly(self) -> bool:
        """Returns whether the header costs visitors something."""
        return self.is_known and self.later is not None and self.later.value >= COSTLY

    @property
    def share(self) -> float:
        """The share of pages that have the header."""
        return self.loads[0] / sum(self.loads) if sum(self.loads) else 0.0

    @property
    def proposed_share(self) -> float | None:
        """A share at which visitors together lose little enough; None if they do."""
        if not self.is_costly or self.later is None or self.share * self.later.value <= MOST_LOSS:
            return None
        least = MOST_LOSS / self.later.value
        digit = math.pow(10, math.floor(math.log10(least)))
        return math.floor(least / digit + 1e-9) * digit


def compare_loads(vital: str, with_header: Counts, without: Counts) -> VitalCost:
    """Returns what the header costs by one vital. The first is with it, in all pairs."""
    sides = with_header, without
    loads = sum(with_header.values()), sum(without.values())
    later = None
    if min(loads) >= MIN_LOADS:
        (mean, error), (base_mean, base_error) = map(_log_mean, sides)
        middle, width = mean - base_mean, Z95 * math.hypot(error, base_error)
        later = Figure(math.expm1(middle), Interval(math.expm1(middle - width), math.expm1(middle + width)))
    return VitalCost(vital=vital, loads=loads, p75_ms=(_p75(with_header), _p75(without)), later=later)


def _log_mean(counts: Counts) -> tuple[float, float]:
    """Returns the mean of the logarithms of times, and its standard error."""
    loads = sum(counts.values())
    values = {bucket: math.log(middle_ms(bucket)) for bucket in counts}
    mean = sum(values[bucket] * count for bucket, count in counts.items()) / loads
    squares = sum((values[bucket] - mean) ** 2 * count for bucket, count in counts.items())
    return mean, math.sqrt(squares / (loads - 1) / loads)


def _p75(counts: Counts) -> float:
    """Returns the 75th percentile, ms; 0 without loads."""
    wanted, seen = 0.75 * sum(counts.values()), 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= wanted:
            return middle_ms(bucket)
    return 0.0


def _has_zero(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high
