"""The verdict on the last release: did it get slower, and how certain is that."""

from dataclasses import dataclass
from typing import Literal

from aggregate.selectors.project.last_release import ReleaseChange
from profcore.stats.comparison import MIN_COMPARED_VIEWS, Difference

# "worse" and "better": the ranks and the interval both show a change; "maybe": one of them does; "noise": neither.
Kind = Literal["worse", "better", "maybe", "noise", "too-few"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The change from one release to the next. `difference` is None with too few views, or without any time.

    If not `is_complete`, some views have expired, and the comparison is of the others.
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
        """Tells whether only some views of a side were compared: a uniform sample, or those that have not expired."""
        return self.base_views < self.base_population or self.head_views < self.head_population


def judge(change: ReleaseChange) -> Verdict:
    """Returns the verdict on a comparison of two releases."""
    found = change.comparison
    return Verdict(
        kind=_judge(found.overall, is_too_few=found.is_too_few),
        base=change.base,
        head=change.head,
        base_views=found.base_views,
        head_views=found.head_views,
        base_population=found.base_population,
        head_population=found.head_population,
        left_out_views=found.left_out_views,
        is_complete=found.is_complete,
        difference=found.overall,
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
