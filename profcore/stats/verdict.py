"""The verdict: did the head get slower than the base, on which page, and how certain is that.

The pages and all pages together are one family of questions: `q` is over them all, so that a comparison of the same
with the same gives an alarm in at most one of twenty cases, however many pages there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from profcore.stats.comparison import FALSE_DISCOVERIES, Comparison, Difference, control_discoveries

Name = TypeVar("Name")
State = Literal["slower", "faster", "no_clear_change", "too_few"]
STATES: Final[tuple[State, ...]] = ("slower", "faster", "no_clear_change", "too_few")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of one page, or of all pages together (`page` is None): of their views' whole time.

    `difference` is None with too few views, and if neither side has any such time. Its `q` is over all changes of the
    judgement.
    """

    page: str | None
    state: State
    comparison: Comparison
    difference: Difference | None

    @property
    def views(self) -> tuple[int, int]:
        """All page views of base and head, whether they were looked at or not."""
        return self.comparison.base_population, self.comparison.head_population

    @property
    def is_clear(self) -> bool:
        """Returns whether the change is beyond chance: slower or faster."""
        return self.state in ("slower", "faster")

    @property
    def is_early(self) -> bool:
        """Returns whether the change would be clear, if this were the only look at it."""
        difference = self.difference
        return not self.is_clear and difference is not None and difference.is_significant and is_beyond_zero(difference)

    @property
    def is_only_in_mean(self) -> bool:
        """Returns whether the mean changed for certain, but fewer than half of the views did: a few heavy views."""
        difference = self.difference
        return not self.is_clear and not self.is_early and difference is not None and is_beyond_zero(difference)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All changes, and the one that a sentence leads with.

    `leading` is the page that got slower by most. If none did, it is all pages together, if these changed, or the page
    that got faster by most. `pages` are in this order too: slower ones, faster ones, the others. `bound` is the q below
    which a change is clear: 0.05, or less if the same question was asked before.
    """

    whole: Change
    pages: tuple[Change, ...]
    leading: Change
    bound: float

    @property
    def state(self) -> State:
        """The state of the leading change."""
        return self.leading.state


def is_beyond_zero(difference: Difference) -> bool:
    """Returns whether the 95 % interval of a change does not include zero."""
    return difference.ci95 is not None and (difference.ci95.low > 0 or difference.ci95.high < 0)


def judge(whole: Comparison, pages: Mapping[str, Comparison], *, bound: float = FALSE_DISCOVERIES) -> Judgement:
    """Returns the judgement on comparisons of all pages together and of each page by itself.

    A change is clear if its q is below `bound`, its interval does not include zero, and ranks and mean agree.
    """
    compared: list[tuple[str | None, Comparison]] = [*pages.items()]
    if len(pages) != 1:
        compared.append((None, whole))
    changes = {page: replace(change, page=page) for page, change in judge_parts(dict(compared), bound=bound)}
    ordered = [change for page, change in changes.items() if page is not None]
    together = ordered[0] if len(pages) == 1 else changes[None]
    return Judgement(whole=together, pages=tuple(ordered), leading=_lead(together, ordered), bound=bound)


def judge_parts(parts: Mapping[Name, Comparison], *, bound: float = FALSE_DISCOVERIES) -> list[tuple[Name, Change]]:
    """Returns the change of each part: slower ones first, then faster ones, then the others, each by its size.

    Their q are one family. The bound and what else makes a change clear are those of `judge`.
    """
    differences = {name: comparison.overall for name, comparison in parts.items() if comparison.overall is not None}
    controlled = dict(zip(differences, control_discoveries(list(differences.values())), strict=True))
    changes = []
    for name, comparison in parts.items():
        difference = controlled.get(name)
        state = _state_of(comparison, difference, bound)
        changes.append((name, Change(page=None, state=state, comparison=comparison, difference=difference)))
    return sorted(changes, key=lambda pair: _order(pair[1]))


def _state_of(comparison: Comparison, diff: Difference | None, bound: float) -> State:
    if comparison.is_too_few:
        return "too_few"
    if diff is None or not (diff.q < bound and diff.rank_z * diff.delta_ms > 0 and is_beyond_zero(diff)):
        return "no_clear_change"
    return "slower" if diff.delta_ms > 0 else "faster"


def _order(change: Change) -> tuple[int, float]:
    return STATES.index(change.state), -abs(change.difference.delta_ms) if change.difference else 0.0


def _lead(whole: Change, pages: list[Change]) -> Change:
    """Returns what to say first. A page that got slower is worth more than what all pages together say."""
    first = pages[0] if pages else whole
    if first.state == "slower" or (first.state == "faster" and not whole.is_clear):
        return first
    return whole
