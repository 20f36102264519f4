"""The verdict on two sides: the one answer to "did it get worse" that pages, lists, checks and alerts give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.statistics.comparisons import SliceComparison, compare_slices
from aggregate.selectors.statistics.moved import find_moved
from aggregate.selectors.verdict.looks import Look, find_look
from aggregate.selectors.verdict.page_changes import VERDICT_MEASURE, PageComparer, sum_pages
from profcore.stats.comparison import FALSE_DISCOVERIES, Difference
from profcore.stats.power import SmallestChange
from profcore.stats.verdict import Change, Judgement, is_beyond_zero, judge

MAX_CULPRITS: Final = 3
CompareSlices = Callable[[Slice, Slice], SliceComparison]
Why = Literal["new", "own_time", "hidden_time"]


@dataclass(frozen=True, slots=True)
class Culprit:
    """A function whose own time changed in the direction of the verdict, and how that is known.

    `why` is `own_time` if it was seen on top of stacks for longer, `hidden_time` if that is inferred, and `new` if the
    base never ran it.
    """

    func: FunctionRow
    difference: Difference
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer on two sides.

    `culprits` are of the leading change, and `smallest` is the smallest one that its views would have shown. `look` is
    None for sides that have no looks. `page_count` counts the pages of both sides, of which those with
    the most time are compared.
    """

    base: Slice
    head: Slice
    judgement: Judgement
    culprits: Sequence[Culprit]
    smallest: SmallestChange | None
    look: Look | None
    page_count: int

    @property
    def leading(self) -> Change:
        """The change that the sentence leads with."""
        return self.judgement.leading

    @property
    def has_answer(self) -> bool:
        """Whether any page, or all together, have enough page views to be compared."""
        return any(change.state != "too_few" for change in (self.judgement.whole, *self.judgement.pages))


def compare_functions(base: Slice, head: Slice) -> SliceComparison:
    """Returns the comparison of the functions of two slices by the measure of verdicts."""
    return compare_slices(base, head, measure=VERDICT_MEASURE)


def select_verdict(
    base: Slice,
    head: Slice,
    *,
    now: datetime,
    compare: CompareSlices = compare_functions,
    followed: Sequence[str] = (),
) -> Verdict:
    """Returns the verdict on two sides of one project.

    How much of the plan of looks is over depends on `now`. `compare` compares the functions of the leading change; a
    caller may cache what it returns. Pages that are `followed` are compared too (`sum_pages`). Raises `SliceError`
    for sides that are finer than cells.
    """
    for side in (base, head):
        if side.is_fine:
            raise SliceError("tag", "A verdict is on releases, pages, times, devices and browsers; nothing finer.")
    sums = sum_pages(base, head, followed=followed)
    look = find_look(base, head, sums.views, now=now)
    bound = look.bound if look else FALSE_DISCOVERIES
    comparer = PageComparer(base, head, sums)
    pages = comparer.compare_pages()
    whole = next(iter(pages.values())) if len(pages) == 1 else comparer.compare(None)
    judgement = judge(whole, pages, bound=bound)
    return Verdict(
        base=base,
        head=head,
        judgement=judgement,
        culprits=find_culprits(base, head, judgement, compare),
        smallest=comparer.compare(judgement.leading.page, bound=bound).smallest,
        look=look,
        page_count=sums.page_count,
    )


def find_culprits(base: Slice, head: Slice, judgement: Judgement, compare: CompareSlices) -> Sequence[Culprit]:
    """Returns the functions that changed most in the direction of a clear verdict, at most `MAX_CULPRITS`."""
    leading = judgement.leading
    if not leading.is_clear:
        return []
    answer = compare(*narrow_to(leading, base, head))
    return pick_culprits(answer, is_slower=leading.state == "slower", bound=judgement.bound)


def narrow_to(change: Change, base: Slice, head: Slice) -> tuple[Slice, Slice]:
    """Returns both sides with only the page of a change, or as they are if it is that of all pages together."""
    if change.page is None:
        return base, head
    return replace(base, pages=(change.page,)), replace(head, pages=(change.page,))


def pick_culprits(answer: SliceComparison, *, is_slower: bool, bound: float) -> Sequence[Culprit]:
    """Returns the culprits of a comparison: clear changes. A function that may only have moved is not a culprit."""
    moved = find_moved(answer)
    clear = [
        change
        for change in answer.comparison.functions
        if change.is_significant
        and change.q < bound
        and (change.delta_ms > 0) == is_slower
        and change.func_id not in moved
        and is_beyond_zero(change)
    ]
    if not is_slower:
        clear.sort(key=lambda change: change.delta_ms)
    return [Culprit(answer.funcs[change.func_id], change, _why(change)) for change in clear[:MAX_CULPRITS]]


def _why(change: Difference) -> Why:
    if change.status == "new":
        return "new"
    # `is_seen` is about increases.
    is_seen = change.is_seen if change.delta_ms > 0 else change.self_delta_ms < change.delta_ms / 2
    return "own_time" if is_seen else "hidden_time"
