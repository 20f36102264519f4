"""The table of a comparison: which differences it shows, in which order, with their certainty and their drawing."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from aggregate.selectors.code.symbols import RowId, Symbols
from aggregate.selectors.functions.matches import FuncMatch, match_rows
from aggregate.selectors.functions.table import FunctionRow, describe_row, keep_rows
from aggregate.selectors.statistics.comparisons import SliceComparison
from aggregate.selectors.statistics.moved import find_moved
from dashboard.pages.compare.query import KINDS, TableOptions
from profcore.stats.comparison import FALSE_DISCOVERIES, Difference

CLEAR_Q: Final = 0.001  # one in a thousand of such findings is expected to be noise
# The drawing of a difference: its width, and the margin for the ends of intervals.
BAR_WIDTH: Final = 200.0
BAR_EDGE: Final = 4.0

Sureness = Literal["clear", "likely", "noise", "unclear", "moved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBar:
    """A difference in a drawing `BAR_WIDTH` wide: zero, the bar itself and its interval, as SVG attributes."""

    zero: str
    x: str
    width: str
    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One function's difference. For a new or gone function, `partner` is what it may be on the other side."""

    func: FunctionRow
    difference: Difference
    sureness: Sureness
    kind: str
    bar: ChangeBar
    partner: FuncMatch | None

    @property
    def is_noise(self) -> bool:
        """Returns whether there may be no change: it could be noise, or the function may only have moved."""
        return not self.difference.is_significant or self.sureness == "moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTable:
    """The requested rows, in order.

    `counts` has the number of rows by kind, "" for all; `noise_count` counts those that could be noise; `row_count`
    counts the rows of the kind that the search leaves, also beyond the limit. `moved` counts the new and the gone
    functions that may only have moved, or is None: a new bundle moves functions, and then nothing shows that a gone and
    a new one are the same.
    """

    rows: Sequence[ComparedRow]
    counts: Mapping[str, int]
    noise_count: int
    row_count: int
    moved: Mapping[str, int] | None

    @property
    def moved_count(self) -> int:
        """Number of new and gone functions that may only have moved."""
        return sum(self.moved.values()) if self.moved else 0


def kind_of(difference: Difference) -> str:
    """Returns which of `KINDS` a difference is."""
    if difference.status != "changed":
        return difference.status
    return "increases" if difference.delta_ms > 0 else "decreases"


def sureness_of(difference: Difference, *, may_have_moved: bool) -> Sureness:
    """Returns how certain a difference is, by its q.

    It is `moved` if the function is one of `find_moved`. It is `unclear` if ranks and means disagree on the direction,
    or if the ranks changed and the interval of the mean includes zero.
    """
    if not difference.q < FALSE_DISCOVERIES:
        return "noise"
    if not difference.is_significant:
        return "unclear"
    if may_have_moved:
        return "moved"
    return "clear" if difference.q < CLEAR_Q else "likely"


def count_moved(moved: Mapping[int, str]) -> Mapping[str, int] | None:
    """Returns how many new and how many gone functions may only have moved; None if there are none."""
    return Counter(moved.values()) or None


def build_table(answer: SliceComparison, options: TableOptions, code: Symbols) -> ComparedTable:
    """Returns the table of a comparison."""
    every = answer.comparison.functions
    certain = sum(difference.is_significant for difference in every)
    counted = [difference for difference in every if options.noise or difference.is_significant]
    counts = {kind: sum(kind_of(difference) == kind for difference in counted) for kind in KINDS}
    wanted = list_wanted(answer, options, code)
    moved = find_moved(answer)
    partners = find_partners(answer)
    drawing = Drawing.of(wanted[: options.limit])
    rows = []
    for difference in wanted[: options.limit]:
        func = answer.funcs[difference.func_id]
        func = describe_row(code, func) if options.by == "function" else func
        sureness = sureness_of(difference, may_have_moved=difference.func_id in moved)
        rows.append(
            ComparedRow(
                func=func,
                difference=difference,
                sureness=sureness,
                kind=kind_of(difference),
                bar=drawing.draw(difference),
                partner=partners.get(func.id),
            )
        )
    return ComparedTable(
        rows=rows,
        counts=counts | {"": len(counted)},
        noise_count=len(every) - certain,
        row_count=len(wanted),
        moved=count_moved(moved),
    )


def list_wanted(answer: SliceComparison, options: TableOptions, code: Symbols) -> list[Difference]:
    """Returns all requested differences, in order."""
    is_kept = _keeper(answer, options, code)
    wanted = [
        difference
        for difference in answer.comparison.functions
        if (options.noise or difference.is_significant)
        and options.only in ("", kind_of(difference))
        and is_kept(difference)
    ]
    if options.sort == "q":
        return sorted(wanted, key=lambda difference: (difference.q, -abs(difference.delta_ms)))
    if options.only in ("decreases", "gone"):
        return sorted(wanted, key=lambda difference: difference.delta_ms)  # the largest first, as for increases
    return wanted


def find_partners(answer: SliceComparison) -> dict[RowId, FuncMatch]:
    """Returns the matches between new and gone functions, by the ids of both."""
    sides: dict[str, dict[RowId, FunctionRow]] = {"new": {}, "gone": {}, "changed": {}}
    for difference in answer.comparison.functions:
        func = answer.funcs[difference.func_id]
        sides[difference.status][func.id] = func
    matches = match_rows(sides["gone"], sides["new"])
    return {func.id: match for match in matches for func in (match.gone, match.came)}


def _keeper(answer: SliceComparison, options: TableOptions, code: Symbols) -> Callable[[Difference], bool]:
    """Returns a function that tells whether a difference passes the filters of the slice bar."""
    if not options.narrowing.params():
        return lambda difference: True
    is_by_function = options.by == "function"
    funcs = [describe_row(code, func) for func in answer.funcs] if is_by_function else answer.funcs
    categories = options.narrowing.categories if is_by_function else ()
    kept = {func.id for func in keep_rows(code, funcs, categories, options.narrowing.search)}
    return lambda difference: answer.funcs[difference.func_id].id in kept


@dataclass(frozen=True, slots=True)
class Drawing:
    """One scale for all rows: the place of zero, and units per ms."""

    zero: float
    scale: float

    @classmethod
    def of(cls, rows: Sequence[Difference]) -> "Drawing":
        """Returns the scale that puts the outermost bounds of some rows at the edges."""
        ends = [0.0]
        for difference in rows:
            ends += [difference.delta_ms, *((difference.ci95.low, difference.ci95.high) if difference.ci95 else ())]
        low, high = min(ends), max(ends)
        scale = (BAR_WIDTH - 2 * BAR_EDGE) / (high - low) if high > low else 0.0
        return cls(BAR_EDGE - low * scale, scale)

    def draw(self, difference: Difference) -> ChangeBar:
        """Returns a difference at this scale."""

        def at(ms: float) -> str:
            return f"{self.zero + ms * self.scale:.1f}"

        low, high = (at(difference.ci95.low), at(difference.ci95.high)) if difference.ci95 else (None, None)
        return ChangeBar(
            zero=at(0.0),
            x=at(min(0.0, difference.delta_ms)),
            width=f"{abs(difference.delta_ms) * self.scale:.1f}",
            low=low,
            high=high,
        )
