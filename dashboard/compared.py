"""The table of a comparison: which differences are asked for, in which order, and how each is told and drawn."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from django.http import QueryDict

from aggregate.selectors import FunctionRow
from aggregate.selectors.code import Code, RowId
from aggregate.selectors.functions import describe_row, keep_rows
from aggregate.selectors.matches import FuncMatch, match_rows
from aggregate.selectors.statistics import SliceComparison
from dashboard.estimates import MEASURES
from dashboard.params import Narrowing, ParamError, read_choice, read_count
from dashboard.shell import EVERY_FUNCTION, read_page_narrowing
from profcore.sites import origin_of
from profcore.stats.comparison import FALSE_DISCOVERIES, Difference
from profcore.stats.views import Measure

# What a table can be narrowed to; together they are all.
KINDS: Final = ("increases", "decreases", "new", "gone")
SORTS: Final = ("change", "q")
GROUPED_BY: Final = ("function", "file", "package", "category")
DEFAULT_MEASURE: Final[Measure] = "self+hidden"
SHOWN_ROWS: Final = 25  # what a phone shows in some screens
MORE_ROWS: Final = 500  # 0.7 MB of page; whoever wants all has the CSV
CLEAR_Q: Final = 0.001  # one in a thousand of such findings is expected to be noise
# The drawing of a difference: its width, and what stays free at its edges for the ends of intervals.
BAR_WIDTH: Final = 200.0
BAR_EDGE: Final = 4.0

Sureness = Literal["clear", "likely", "noise", "unclear", "moved"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a comparison is shown, by functions or groups of them. Without `noise`, only what cannot be noise.

    `narrowing` is that of the slice bar: of groups the search alone.
    """

    by: str = "function"
    measure: Measure = DEFAULT_MEASURE
    only: str = ""
    noise: bool = False
    sort: str = "change"
    narrowing: Narrowing = EVERY_FUNCTION
    limit: int = SHOWN_ROWS
    is_plain: bool = False

    @classmethod
    def read(cls, params: QueryDict) -> "Shown":
        """Reads it from an address. Raises `ParamError`."""
        measure = cast("Measure", read_choice(params, "measure", MEASURES, DEFAULT_MEASURE))  # one of its words
        by = read_choice(params, "group_by", GROUPED_BY, "function")
        if measure == "total" and by != "function":
            raise ParamError("measure", "measure=total is known of functions alone: views keep no totals of groups.")
        return cls(
            by=by,
            measure=measure,
            only=read_choice(params, "only", ("", *KINDS), ""),
            noise=read_choice(params, "noise", ("", "1"), "") == "1",
            sort=read_choice(params, "sort", SORTS, "change"),
            narrowing=read_page_narrowing(params),
            limit=read_count(params, "limit", default=SHOWN_ROWS, high=MORE_ROWS),
            is_plain=read_choice(params, "plain", ("", "1"), "") == "1",
        )

    def params(self) -> list[tuple[str, str]]:
        """Returns what differs from the default as query parameters."""
        return [*self.own_params(), *self.narrowing.params()]

    def own_params(self) -> list[tuple[str, str]]:
        """Returns the same without what the slice bar has."""
        pairs = [
            ("group_by", self.by if self.by != "function" else ""),
            ("measure", self.measure if self.measure != DEFAULT_MEASURE else ""),
            ("only", self.only),
            ("noise", "1" if self.noise else ""),
            ("sort", self.sort if self.sort != "change" else ""),
            ("limit", str(self.limit) if self.limit != SHOWN_ROWS else ""),
            ("plain", "1" if self.is_plain else ""),
        ]
        return [(name, value) for name, value in pairs if value]


@dataclass(frozen=True, slots=True)
class ChangeBar:
    """A difference in a drawing `BAR_WIDTH` wide: zero, the bar itself and its interval, as SVG attributes."""

    zero: str
    x: str
    width: str
    low: str | None
    high: str | None


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One function's difference. `partner` is what it may be on the other side, where it is new or gone."""

    func: FunctionRow
    found: Difference
    sureness: Sureness
    kind: str
    bar: ChangeBar
    partner: FuncMatch | None

    @property
    def is_noise(self) -> bool:
        """Tells whether it may be no change at all: by noise, or since the function may only have moved."""
        return not self.found.is_significant or self.sureness == "moved"


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """The rows asked for, in order. `counts` has each kind's rows with and without noise as asked, "" all of them;
    `noise_count` those that may be noise; `found_count` what is left of the kind by the search, beyond the limit too.

    `moved` counts the new and the gone that may only have moved, None where none may. A new bundle moves functions,
    and then nothing tells that one that went and one that came are the same.
    """

    rows: Sequence[ComparedRow]
    counts: Mapping[str, int]
    noise_count: int
    found_count: int
    moved: Mapping[str, int] | None

    @property
    def moved_count(self) -> int:
        """How many differences are new or gone, and may only have moved."""
        return sum(self.moved.values()) if self.moved else 0


def kind_of(found: Difference) -> str:
    """Returns which of `KINDS` a difference is."""
    if found.status != "changed":
        return found.status
    return "increases" if found.delta_ms > 0 else "decreases"


def sureness_of(found: Difference, *, may_have_moved: bool) -> Sureness:
    """Returns how sure a difference is, by its q; `unclear` where ranks and means disagree on the direction.

    `moved` where the function is one of `find_moved`.
    """
    if not found.q < FALSE_DISCOVERIES:
        return "noise"
    if not found.is_significant:
        return "unclear"
    if may_have_moved:
        return "moved"
    return "clear" if found.q < CLEAR_Q else "likely"


def find_moved(answer: SliceComparison) -> Mapping[int, str]:
    """Returns which functions that came or went for certain may only have moved, as `new` or `gone` by their ids.

    A source map that knows both tells one that came from one that went. Where it knows neither, or one of them alone
    (its release's maps came, the other's did not, or are not read yet) and they are of one origin, nothing does.
    """
    sides: dict[str, dict[int, FunctionRow]] = {"new": {}, "gone": {}}
    for found in answer.comparison.functions:
        func = answer.funcs[found.func_id]
        if found.is_significant and found.status in sides and func.line is not None:
            sides[found.status][found.func_id] = func
    moved = {}
    for status, other in (("new", "gone"), ("gone", "new")):
        origins: dict[bool, set[str | None]] = {True: set(), False: set()}
        for func in sides[other].values():
            origins[func.mapped is not None].add(origin_of(func.uri))
        for func_id, func in sides[status].items():
            is_mapped = func.mapped is not None
            if origin_of(func.uri) in origins[not is_mapped] or (not is_mapped and origins[False]):
                moved[func_id] = status
    return moved


def count_moved(moved: Mapping[int, str]) -> Mapping[str, int] | None:
    """Returns how many functions came, and how many went, that may only have moved; None where there are none."""
    return Counter(moved.values()) or None


def build_table(answer: SliceComparison, shown: Shown, code: Code) -> ComparedTable:
    """Returns the table of a comparison."""
    every = answer.comparison.functions
    certain = sum(found.is_significant for found in every)
    counted = [found for found in every if shown.noise or found.is_significant]
    counts = {kind: sum(kind_of(found) == kind for found in counted) for kind in KINDS}
    wanted = list_wanted(answer, shown, code)
    moved = find_moved(answer)
    partners = find_partners(answer)
    drawing = Drawing.of(wanted[: shown.limit])
    rows = []
    for found in wanted[: shown.limit]:
        func = answer.funcs[found.func_id]
        func = describe_row(code, func) if shown.by == "function" else func
        sureness = sureness_of(found, may_have_moved=found.func_id in moved)
        rows.append(ComparedRow(func, found, sureness, kind_of(found), drawing.draw(found), partners.get(func.id)))
    return ComparedTable(rows, counts | {"": len(counted)}, len(every) - certain, len(wanted), count_moved(moved))


def list_wanted(answer: SliceComparison, shown: Shown, code: Code) -> list[Difference]:
    """Returns the differences asked for, all of them, in order."""
    is_kept = _keeper(answer, shown, code)
    wanted = [
        found
        for found in answer.comparison.functions
        if (shown.noise or found.is_significant) and shown.only in ("", kind_of(found)) and is_kept(found)
    ]
    if shown.sort == "q":
        return sorted(wanted, key=lambda found: (found.q, -abs(found.delta_ms)))
    if shown.only in ("decreases", "gone"):
        return sorted(wanted, key=lambda found: found.delta_ms)  # the largest first, here too
    return wanted


def find_partners(answer: SliceComparison) -> dict[RowId, FuncMatch]:
    """Returns the matches among new and gone functions, by the id of either."""
    sides: dict[str, dict[RowId, FunctionRow]] = {"new": {}, "gone": {}, "changed": {}}
    for found in answer.comparison.functions:
        func = answer.funcs[found.func_id]
        sides[found.status][func.id] = func
    matches = match_rows(sides["gone"], sides["new"])
    return {func.id: match for match in matches for func in (match.gone, match.came)}


def _keeper(answer: SliceComparison, shown: Shown, code: Code) -> Callable[[Difference], bool]:
    """Returns what tells whether a difference is of what the slice bar narrows functions to."""
    if not shown.narrowing.params():
        return lambda found: True
    is_by_function = shown.by == "function"
    funcs = [describe_row(code, func) for func in answer.funcs] if is_by_function else answer.funcs
    categories = shown.narrowing.categories if is_by_function else ()
    kept = {func.id for func in keep_rows(code, funcs, categories, shown.narrowing.search)}
    return lambda found: answer.funcs[found.func_id].id in kept


@dataclass(frozen=True, slots=True)
class Drawing:
    """One scale for all rows: where zero is, and units a ms."""

    zero: float
    scale: float

    @classmethod
    def of(cls, rows: Sequence[Difference]) -> "Drawing":
        """Returns the scale at which the farthest bounds of some rows are at the edges."""
        ends = [0.0]
        for found in rows:
            ends += [found.delta_ms, *((found.ci95.low, found.ci95.high) if found.ci95 else ())]
        low, high = min(ends), max(ends)
        scale = (BAR_WIDTH - 2 * BAR_EDGE) / (high - low) if high > low else 0.0
        return cls(BAR_EDGE - low * scale, scale)

    def draw(self, found: Difference) -> ChangeBar:
        """Returns a difference at this scale."""

        def at(ms: float) -> str:
            return f"{self.zero + ms * self.scale:.1f}"

        low, high = (at(found.ci95.low), at(found.ci95.high)) if found.ci95 else (None, None)
        return ChangeBar(at(0.0), at(min(0.0, found.delta_ms)), f"{abs(found.delta_ms) * self.scale:.1f}", low, high)


def with_shown(shown: Shown, **changes: object) -> Shown:
    """Returns the same but for some fields, from the first rows on."""
    return replace(shown, **{"limit": SHOWN_ROWS, **changes})  # type: ignore[arg-type]  # its own fields
