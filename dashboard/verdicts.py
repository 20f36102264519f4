"""Did the last release make it worse, and how sure is that: one answer for a sentence."""

from dataclasses import dataclass
from typing import Final, Literal

from aggregate.selectors import ReleaseChange
from profcore.stats.comparison import MIN_COMPARED_VIEWS, Difference

# What a sentence says: both the ranks and the interval show a change, one of them, or neither.
Kind = Literal["worse", "better", "maybe", "noise", "too-few"]
WORDS: Final = {"self": "JS", "hidden": "hidden time", "self+hidden": "JS and hidden time"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The change from one release to the next. `difference` is None where views are too few, or none took time.

    Not `is_complete`: rows of some views have expired, and those looked at are what is left, by themselves.
    """

    kind: Kind
    base: str
    head: str
    base_views: int
    head_views: int
    base_population: int
    head_population: int
    left_out_views: int
    is_complete: bool
    difference: Difference | None
    min_views: int = MIN_COMPARED_VIEWS

    @property
    def is_sample(self) -> bool:
        """Tells whether it is of some of either side's views: a uniform sample, or those that are left."""
        return self.base_views < self.base_population or self.head_views < self.head_population


def judge(change: ReleaseChange) -> Verdict:
    """Returns what a comparison of two releases amounts to."""
    found = change.comparison
    return Verdict(
        _judge(found.overall, is_too_few=found.is_too_few),
        change.base,
        change.head,
        found.base_views,
        found.head_views,
        found.base_population,
        found.head_population,
        found.left_out_views,
        found.is_complete,
        found.overall,
    )


def _judge(difference: Difference | None, *, is_too_few: bool) -> Kind:
    if is_too_few:
        return "too-few"
    if difference is None or difference.ci95 is None:
        return "noise"
    is_apart = difference.ci95.low > 0 or difference.ci95.high < 0
    if difference.is_significant and is_apart:
        return "worse" if difference.delta_ms > 0 else "better"
    return "maybe" if difference.is_significant or is_apart else "noise"
