"""The verdict on two sides: the one answer to "did it get worse" that pages, lists, checks and alerts give."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.verdict.looks import Look, find_look
from aggregate.selectors.verdict.page_changes import PageComparer, SdkShare, sum_pages
from profcore.code.identity import without_hash
from profcore.stats.comparison import FALSE_DISCOVERIES, Difference
from profcore.stats.power import SmallestChange
from profcore.stats.verdict.incidents import FunctionChange
from profcore.stats.verdict.judgement import NO_FUNCTIONS, NO_PAGE, Change, Judgement, judge

MAX_CULPRITS: Final = 3
Why = Literal["new", "own_time", "hidden_time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """A function whose own time changed in the direction of the verdict, and how that is known.

    `why` is `own_time` if it was seen on top of stacks for longer, `hidden_time` if that is inferred, and `new` if the
    base never ran it. `party` is the third party that serves it. It is `from_outside` if none of the project's own
    functions changed with it: then the release did not do it.
    """

    func: FunctionRow
    change: FunctionChange
    why: Why
    party: str | None = None
    from_outside: bool = False

    @property
    def difference(self) -> Difference:
        """Its change on the page."""
        return self.change.difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer on two sides.

    `incidents` are the functions that made pages slower, one for each chain of callers. `culprits` are the functions of
    the leading change in its direction. `moved` are functions that took more while others of their page took as much
    less, with the first of those. `followed` has functions that someone asked for by their name. `smallest` is the
    smallest change that the leading page's views would have shown.
    `sdks` has the shares of SDKs in the leading page's views, if they differ between both sides. `look` is None for
    sides that have no looks. `page_count` counts the pages of both sides, of which those with the
    most time are compared.
    """

    base: Slice
    head: Slice
    judgement: Judgement
    incidents: Sequence[Culprit]
    culprits: Sequence[Culprit]
    moved: Sequence[tuple[Culprit, FunctionRow]]
    followed: Mapping[str, Culprit]
    smallest: SmallestChange | None
    sdks: Sequence[SdkShare]
    look: Look | None
    page_count: int

    @property
    def leading(self) -> Change:
        """The change that the sentence leads with."""
        return self.judgement.leading

    @property
    def leading_function(self) -> Culprit | None:
        """The function that the sentence leads with, if no page is slower by itself."""
        return self.incidents[0] if self.judgement.leading_function else None

    @property
    def has_answer(self) -> bool:
        """Whether any page, or all together, have enough page views to be compared."""
        return any(change.state != "too_few" for change in (self.judgement.whole, *self.judgement.pages))


def select_verdict(
    base: Slice,
    head: Slice,
    *,
    now: datetime,
    followed: Sequence[str] = (),
    followed_functions: Collection[str] = (),
) -> Verdict:
    """Returns the verdict on two sides of one project.

    How much of the plan of looks is over depends on `now`. Pages that are `followed` are compared too (`sum_pages`),
    and functions are told whether they changed or not; `name_function` has their names. Of functions with one name,
    the one that changed most is told. Raises `SliceError` for sides that are finer than cells.
    """
    for side in (base, head):
        if side.is_fine:
            raise SliceError("tag", "A verdict is on releases, pages, times, devices and browsers; nothing finer.")
    sums = sum_pages(base, head, followed=followed)
    look = find_look(base, head, sums.views, now=now)
    bound = look.bound if look else FALSE_DISCOVERIES
    comparer = PageComparer(base, head, sums)
    pages = comparer.compare_pages()
    whole = next(iter(pages.values())) if len(pages) == 1 else comparer.compare_whole()
    functions = comparer.read_functions()
    find_row = functions.find_row
    wanted: set[int] = set()
    if followed_functions:  # a reader follows none, and names take time
        asked = {func_id for page in functions.pages for func_id in page.func_ids.tolist()}
        wanted = {func_id for func_id in asked if name_function(find_row(func_id)) in followed_functions}
    judgement = judge(whole, pages, sides=functions.pages, code=functions.code, followed=wanted, bound=bound)
    parties = _Parties(base, judgement, find_row)
    by_size = sorted(judgement.followed.items(), key=lambda pair: abs(pair[1].difference.delta_ms))
    return Verdict(
        base=base,
        head=head,
        judgement=judgement,
        incidents=[parties.name(change) for change in judgement.incidents],
        culprits=[parties.name(change) for change in _list_culprits(judgement)[:MAX_CULPRITS]],
        moved=[
            (parties.name(change), find_row(change.fell[0][0]))
            for page in judgement.pages
            for change in page.functions.moved
        ][:MAX_CULPRITS],
        followed={name_function(find_row(func)): parties.name(change) for func, change in by_size},
        smallest=comparer.find_smallest(judgement.leading.page, bound),
        sdks=sums.compare_sdks(judgement.leading.page),
        look=look,
        page_count=sums.page_count,
    )


def name_function(row: FunctionRow) -> str:
    """Returns the name of a function that tells it from most others, and is equal in all releases: with its file."""
    file = row.mapped.original.source if row.mapped is not None else without_hash(row.uri or "")
    return f"{row.shown_name} in {file}" if row.shown_name and file else row.label


def narrow_to(change: Change, base: Slice, head: Slice) -> tuple[Slice, Slice]:
    """Returns both sides with only the page of a change, or as they are if it is that of all pages together."""
    if change.page is None:
        return base, head
    return replace(base, pages=(change.page,)), replace(head, pages=(change.page,))


def _list_culprits(judgement: Judgement) -> Sequence[FunctionChange]:
    """Returns the functions that changed in the direction of the leading change: of its page, or of all pages."""
    leading = judgement.leading
    if not leading.has_changed:
        return ()
    is_slower = leading.shown_state == "slower"
    if leading.page is None and judgement.pages:
        every = [change for page in judgement.pages for change in page.functions.faster]
        return judgement.incidents if is_slower else sorted(every, key=lambda change: change.difference.delta_ms)
    return leading.functions.slower if is_slower else leading.functions.faster


class _Parties:
    """Names the functions of a judgement, and says which of them are a third party's."""

    def __init__(self, base: Slice, judgement: Judgement, find_row: Callable[[int], FunctionRow]) -> None:
        self._symbols = load_symbols(base.project_id, as_stored=base.as_stored)
        self._pages = {change.page or NO_PAGE: change.functions for change in judgement.changes}
        self._find_row = find_row

    def name(self, change: FunctionChange) -> Culprit:
        """Returns a function with what changed, how that is known, and whose it is."""
        party = self._find_party(change.func_id)
        return Culprit(
            func=self._find_row(change.func_id),
            change=change,
            why=_why(change.difference),
            party=party,
            from_outside=party is not None and not any(map(self._is_own, self._list_beside(change))),
        )

    def _list_beside(self, change: FunctionChange) -> Iterator[int]:
        """Yields the functions that changed with one: its callers, and all others of its pages."""
        yield from change.chain
        for page in change.pages:
            functions = self._pages.get(page, NO_FUNCTIONS)
            for other in (*functions.slower, *functions.faster, *functions.moved):
                yield from (other.func_id, *other.chain)

    def _find_party(self, func_id: int) -> str | None:
        row = self._find_row(func_id)
        return self._symbols.third_party_of(row.key, row.mapped)

    def _is_own(self, func_id: int) -> bool:
        """Returns whether a function is the project's own, as far as is known; a built-in one is no one's."""
        return self._find_row(func_id).uri is not None and self._find_party(func_id) is None


def _why(change: Difference) -> Why:
    if change.status == "new":
        return "new"
    # `is_seen` is about increases.
    is_seen = change.is_seen if change.delta_ms > 0 else change.self_delta_ms < change.delta_ms / 2
    return "own_time" if is_seen else "hidden_time"
