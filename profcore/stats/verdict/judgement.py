"""The verdict: did the head get slower than the base, on which page, by which function, and how certain is that.

The pages, all pages together, and the functions that could matter are one family of questions: `q` is over them all,
so that a comparison of the same with the same gives an alarm in at most one of twenty cases, however many there are.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeVar

from msgspec import structs

from profcore.stats.comparison import FALSE_DISCOVERIES, Comparison, Difference
from profcore.stats.distributions import normal_quantile
from profcore.stats.verdict.certainty import Certainty
from profcore.stats.verdict.family import Family, PageSides, control_family, is_beyond_rest
from profcore.stats.verdict.incidents import (
    Code,
    FunctionChange,
    PageFunctions,
    describe_function,
    find_functions,
    join_incidents,
)

Name = TypeVar("Name")
State = Literal["slower", "faster", "no_clear_change", "too_few"]
STATES: Final[tuple[State, ...]] = ("slower", "faster", "no_clear_change", "too_few")
# A change of the mean alone is told from this part of the base on. Of a million views any difference is certain.
LEAST_MEAN_CHANGE: Final = 0.02
# If all functions of a page grew alike, by this much of its change, no function made it slower.
ALIKE_SHARE: Final = 0.5
# A change that the same views would show less often than this is mostly smaller than it looks: what is seen by luck is
# large. By 1.3 times where it is one in three (docs/statistics.md).
POWER: Final = 0.8
# A function with this part of a page's change is mainly what changed the page.
MAINLY: Final = 0.5
NO_FUNCTIONS: Final = PageFunctions()
# The page of functions where the sides have no page in common: all their views are compared as if of one.
NO_PAGE: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of one page, or of all pages together (`page` is None): of their views' whole time.

    `difference` is None with too few views, and if neither side has any such time. Its `q` is over all questions of the
    judgement. `state` is that of the page itself by the `bound` of the look; `functions` say what its functions did
    meanwhile. `alike` is the part by which all of them grew, if that is why a page is slower. `is_certain` means that a
    clear change is certain enough for a message.
    """

    page: str | None
    state: State
    comparison: Comparison
    difference: Difference | None
    functions: PageFunctions = NO_FUNCTIONS
    bound: float = FALSE_DISCOVERIES
    alike: float | None = None
    is_certain: bool = False

    @property
    def views(self) -> tuple[int, int]:
        """All page views of base and head, whether they were looked at or not."""
        return self.comparison.base_population, self.comparison.head_population

    @property
    def is_clear(self) -> bool:
        """Returns whether the change is beyond chance: slower or faster."""
        return self.state in ("slower", "faster")

    @property
    def shown_state(self) -> State:
        """The state with its functions: a page of which a function is slower is slower."""
        return "slower" if self.functions.slower else self.state

    @property
    def has_changed(self) -> bool:
        """Returns whether the shown state is slower or faster."""
        return self.shown_state in ("slower", "faster")

    @property
    def why(self) -> Literal["page", "function"] | None:
        """What the shown state is of: the page's whole time, or only that of a function; None if nothing changed."""
        if self.state == self.shown_state:
            return "page" if self.is_clear else None
        return "function"

    def is_mainly(self, functions: Iterable[FunctionChange]) -> bool:
        """Returns whether one of some functions grew on this page, by most of the page's change."""
        most = MAINLY * self.difference.delta_ms if self.difference else 0.0
        return any(self.page in change.pages and change.difference.delta_ms >= most for change in functions)

    @property
    def is_early(self) -> bool:
        """Returns whether the change would be clear, if this were the only look at it."""
        return not self.is_clear and self.difference is not None and self.difference.is_significant

    @property
    def is_only_in_mean(self) -> bool:
        """Returns whether the mean changed for certain, but fewer than half of the views did: a few heavy views.

        It changed by `LEAST_MEAN_CHANGE` of the base, and by half of that at the near end of the interval, which is
        widened to the bound of the look.
        """
        difference = self.difference
        if self.is_clear or self.is_early or difference is None or difference.ci95 is None:
            return False
        delta, least = abs(difference.delta_ms), LEAST_MEAN_CHANGE * max(difference.base_ms, 0.0)
        near = difference.ci95.low if difference.delta_ms > 0 else -difference.ci95.high
        widened = (delta - near) * normal_quantile(self.bound / 2) / normal_quantile(FALSE_DISCOVERIES / 2)
        return delta >= least and delta - widened >= max(least / 2, 0.0) and delta > widened


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All changes, and the one that a sentence leads with.

    What is certain enough for a message comes first. `leading` is the page that got slower by most. If none did, it is
    the page of the first of `incidents`, the functions that got slower; else all pages together, if these changed, or
    the page that got faster by most. `pages` are in this order too: slower ones, faster ones, the others. `bound` is
    the q below which a change is clear: 0.05, or less if the same question was asked before. `function_count` counts
    the functions that were asked about, and `followed` has those that someone asked for by id, changed or not.
    """

    whole: Change
    pages: tuple[Change, ...]
    leading: Change
    bound: float
    incidents: tuple[FunctionChange, ...] = ()
    function_count: int = 0
    followed: Mapping[int, FunctionChange] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of each page, and then of all together if they are several, or none."""
        return self.pages if len(self.pages) == 1 else (*self.pages, self.whole)

    @property
    def state(self) -> State:
        """The state of the leading change."""
        return self.leading.shown_state

    @property
    def leading_function(self) -> FunctionChange | None:
        """The function that the sentence leads with, if no page is slower by itself."""
        return self.incidents[0] if self.incidents and self.leading.state != "slower" else None

    @property
    def is_confirmed(self) -> bool:
        """Returns whether any slowdown, of a page or function, is certain enough for a message."""
        pages = any(change.state == "slower" and change.is_certain for change in self.changes)
        return pages or any(incident.is_certain for incident in self.incidents)

    @property
    def may_be_smaller(self) -> bool:
        """Returns whether the true change is likely smaller than what was seen: it was found by luck.

        With the power at the change itself below `POWER`.
        """
        function = self.leading_function
        found = function.difference if function else self.leading.difference
        if self.state not in ("slower", "faster") or found is None or found.q <= 0:
            return False
        needed = normal_quantile(min(self.bound * found.p / found.q, 1.0) / 2) if found.p > 0 else 0.0
        return abs(found.rank_z) < needed + normal_quantile(1 - POWER)


def judge(
    whole: Comparison,
    pages: Mapping[str, Comparison],
    *,
    sides: Sequence[PageSides] = (),
    code: Code | None = None,
    followed: Collection[int] = (),
    bound: float = FALSE_DISCOVERIES,
) -> Judgement:
    """Returns the judgement on comparisons of all pages together and of each page by itself.

    `sides` are the views of pages with their functions; without them no function is asked about. `code` has their call
    trees and files. A change is clear if its q is below `bound`, its interval does not include zero, and ranks and mean
    agree.
    """
    compared: list[tuple[str | None, Comparison]] = [*pages.items()]
    if len(pages) != 1:
        compared.append((None, whole))
    changes, family = _judge_parts(dict(compared), sides, bound)
    certainty = Certainty(sides, family, bound)
    found = {
        page: certainty.weigh_functions(functions)
        for page, functions in find_functions(sides, family, bound, code or Code()).items()
    }
    read = {side.page: side for side in sides if side.page}
    made = {
        page: replace(
            change,
            page=page,
            functions=found.get(page or NO_PAGE, NO_FUNCTIONS),
            alike=_find_alike(change, read.get(page or NO_PAGE), found.get(page or NO_PAGE, NO_FUNCTIONS), family),
            is_certain=change.is_clear
            and change.difference is not None
            and certainty.is_page_certain(page, change.difference),
        )
        for page, change in changes
    }
    ordered = sorted((change for page, change in made.items() if page is not None), key=_order)
    together = ordered[0] if len(pages) == 1 else made[None]
    incidents = join_incidents([*found.values()])
    return Judgement(
        whole=together,
        pages=tuple(ordered),
        leading=_lead(together, ordered, incidents),
        bound=bound,
        incidents=incidents,
        function_count=len(family.functions),
        followed={func: change for func in followed if (change := describe_function(sides, family, func))},
    )


def _find_alike(change: Change, page: PageSides | None, functions: PageFunctions, family: Family) -> float | None:
    """Returns by which part all functions of a slower page grew, if none of them stands out and that is the change."""
    if change.state != "slower" or page is None or change.difference is None or not change.difference.relative:
        return None
    grown = page.common_factor - 1.0
    if grown < ALIKE_SHARE * change.difference.relative:
        return None
    stand_out = (is_beyond_rest(page, function.func_id, family, change.bound) for function in functions.slower)
    return None if any(stand_out) else grown


def judge_parts(parts: Mapping[Name, Comparison], *, bound: float = FALSE_DISCOVERIES) -> list[tuple[Name, Change]]:
    """Returns the change of each part: slower ones first, then faster ones, then the others, each by its size.

    Their q are one family. The bound and what else makes a change clear are those of `judge`.
    """
    return sorted(_judge_parts(parts, (), bound)[0], key=lambda pair: _order(pair[1]))


def _judge_parts(
    parts: Mapping[Name, Comparison], sides: Sequence[PageSides], bound: float
) -> tuple[list[tuple[Name, Change]], Family]:
    differences = {name: comparison.overall for name, comparison in parts.items() if comparison.overall is not None}
    family = control_family([difference.p for difference in differences.values()], sides)
    known = zip(differences.items(), family.pages, strict=True)
    controlled = {name: structs.replace(difference, q=q) for (name, difference), q in known}
    changes = []
    for name, comparison in parts.items():
        difference = controlled.get(name)
        state = _state_of(comparison, difference, bound)
        change = Change(page=None, state=state, comparison=comparison, difference=difference, bound=bound)
        changes.append((name, change))
    return changes, family


def _state_of(comparison: Comparison, diff: Difference | None, bound: float) -> State:
    if comparison.is_too_few:
        return "too_few"
    if diff is None or not (diff.q < bound and diff.rank_z * diff.delta_ms > 0 and diff.is_beyond_zero):
        return "no_clear_change"
    return "slower" if diff.delta_ms > 0 else "faster"


def _order(change: Change) -> tuple[int, bool, bool, float]:
    is_by_function = change.state != change.shown_state
    is_certain = change.is_certain or any(function.is_certain for function in change.functions.slower)
    size = abs(change.difference.delta_ms) if change.difference else 0.0
    if is_by_function:
        size = change.functions.slower[0].beyond_ms
    return STATES.index(change.shown_state), not is_certain, is_by_function, -size


def _lead(whole: Change, pages: list[Change], incidents: Sequence[FunctionChange]) -> Change:
    """Returns what to say first. A page that got slower is worth more than what all pages together say."""
    first = pages[0] if pages else whole
    if first.state == "slower":
        return first
    if incidents and (whole.state != "slower" or whole.is_certain < incidents[0].is_certain):
        return next((page for page in pages if page.page == incidents[0].page), whole)
    if first.state == "faster" and not whole.is_clear:
        return first
    return whole
