"""What the page "Compare" shows of two slices: the answer, the table with its switches, and the pages of both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import urlencode

from django.urls import reverse

from aggregate.selectors import FunctionRow, PageRow, select_code, select_pages
from aggregate.selectors.code import Code
from aggregate.selectors.statistics import SliceComparison
from dashboard.compared import (
    DEFAULT_MEASURE,
    GROUPED_BY,
    MORE_ROWS,
    ComparedTable,
    Shown,
    build_table,
    find_moved,
    list_wanted,
    sureness_of,
    with_shown,
)
from dashboard.comparing import facts_of_sides, remember_comparison
from dashboard.shapes import Json
from dashboard.shell import EVERY_FUNCTION
from dashboard.sides import Sides, name_side
from ingest.models import Project
from profcore.dimensions import DEVICE_CLASSES
from profcore.formats.table import Cell, encode_row
from profcore.stats.comparison import MIN_COMPARED_VIEWS, Comparison, Difference
from profcore.stats.views import Measure

SHOWN_PAGES: Final = 8  # where both sides hold several: those that changed most
US_PER_MS: Final = 1_000
# (its word, what is more or less of it, what it means)
MEASURES: Final[Mapping[Measure, tuple[str, str, str]]] = {
    "self+hidden": (
        "Self and hidden",
        "JS and hidden time",
        "Time in the function itself, seen or hidden. A slow function often loses its visible stack.",
    ),
    "self": ("Self", "JS time", "Time in which the function was seen on top of the stack."),
    "total": (
        "Total",
        "",
        "Time in the function and in all that it called. Totals overlap: they do not add up.",
    ),
    "hidden": (
        "Hidden",
        "hidden time",
        "Busy time without a visible stack. It belongs to the function or to something that it called.",
    ),
}
KIND_WORDS: Final = {"": "All", "increases": "Increases", "decreases": "Decreases", "new": "New", "gone": "Gone"}
GROUP_WORDS: Final = {"function": "Functions", "file": "Files", "package": "Packages", "category": "Categories"}
SORT_WORDS: Final = {"change": "Change", "q": "How sure"}
Verdict = Literal["too few", "no sum", "nothing", "more", "less", "unsure", "noise"]
CSV_COLUMNS: Final = (
    "id", "label", "name", "uri", "line", "column", "original_source", "original_line", "original_column", "status",
    "base_ms_per_view", "head_ms_per_view", "delta_ms_per_view", "delta_low", "delta_high", "relative",
    "self_delta_ms_per_view", "mix_ms_per_view", "p", "q", "sureness", "base_views_ran", "head_views_ran",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """Which comparison is shown, and what of it; `facts` decide it, as `facts_of_sides` returns them."""

    sides: Sides
    shown: Shown
    facts: tuple[object, ...]

    @classmethod
    def of(cls, sides: Sides, shown: Shown) -> "Asked":
        """Looks up the facts."""
        return cls(sides, shown, facts_of_sides(sides.base, sides.head))

    def answer(self) -> SliceComparison:
        """Returns the comparison."""
        sides, shown = self.sides, self.shown
        return remember_comparison(sides.base, sides.head, shown.measure, shown.by, repr(self.facts))

    def query(self, wanted: Shown) -> str:
        """Returns the query string that shows something else of the same sides."""
        return urlencode([*self.sides.params(), *wanted.params()], safe="/:")

    def code(self) -> Code:
        """Returns what is known of the code."""
        return select_code(self.sides.base.project_id, as_stored=self.sides.base.as_stored)


@dataclass(frozen=True, slots=True)
class Switch:
    """One choice of what is shown, and the query that leads to it."""

    key: str
    word: str
    query: str
    is_here: bool
    count: int | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class PageChange:
    """One page on both sides: JS and hidden time a view, ms, from all of its page views; `query` compares it alone."""

    page: str
    base_ms: float
    head_ms: float
    base_views: int
    head_views: int
    query: str

    @property
    def delta_ms(self) -> float:
        """Head minus base, at the mix of devices that either has."""
        return self.head_ms - self.base_ms

    @property
    def is_too_few(self) -> bool:
        """Tells whether a side has too few views to be compared."""
        return min(self.base_views, self.head_views) < MIN_COMPARED_VIEWS


def read_comparison(project: Project, question: Asked, *, may_change: bool) -> Json:
    """Compares both sides and returns what the part of the page shows."""
    sides, shown, answer = question.sides, question.shown, question.answer()
    table = build_table(answer, shown, question.code())
    return {
        "project": project,
        "table": table,
        "base_query": sides.base.query(),
        "head_query": sides.head.query(),
        "address": reverse("compare", args=[project.slug]),
        "part": reverse("compare-table", args=[project.slug]),
        "tree_link": f"{reverse('tree', args=[project.slug])}?{urlencode(sides.params(), safe='/:')}",
        "csv_link": f"{reverse('compare-csv', args=[project.slug])}?{question.query(shown)}",
        "may_change": may_change,
        "code_url": reverse("api-code", args=[project.slug]),
        "pages": list_pages(sides, shown),
        **_tell(question, answer, table),
        **_switches(question, table),
    }


def _tell(question: Asked, answer: SliceComparison, table: ComparedTable) -> Json:
    """Returns what the answer in words is made of."""
    sides, shown, found = question.sides, question.shown, answer.comparison
    # What only may have moved is no finding to be named.
    largest = found.increases[0] if found.increases and table.moved is None else None
    _, what, meaning = MEASURES[shown.measure]
    return {
        "found": found,
        "verdict": verdict_of(found),
        "shown": shown,
        "shared": sides.common.params(),
        "base_name": name_side(sides, sides.base),
        "head_name": name_side(sides, sides.head),
        "what": what,
        "meaning": meaning,
        "group_word": GROUP_WORDS[shown.by],
        "certain_count": sum(each.is_significant for each in found.functions),
        "largest": largest,
        "largest_func": answer.funcs[largest.func_id] if largest else None,
        "least_views": MIN_COMPARED_VIEWS,
        "device_mix": [(DEVICE_CLASSES[device], share) for device, share in found.device_mix],
    }


def _switches(question: Asked, table: ComparedTable) -> Json:
    """Returns what else of the same sides can be shown, and the queries that lead there."""
    shown, query = question.shown, question.query
    first = with_shown(shown)

    def switch(key: str, word: str, wanted: Shown, count: int | None = None, title: str = "") -> Switch:
        return Switch(key, word, query(wanted), wanted == first, count, title)

    return {
        "measures": [
            switch(key, word, with_shown(shown, measure=key), title=title)
            for key, (word, _, title) in MEASURES.items()
            if key != "total" or shown.by == "function"  # of groups there are none
        ],
        "groupings": [switch(key, key.capitalize(), _grouped(shown, key)) for key in GROUPED_BY],
        "by_file_query": query(_grouped(shown, "file")),
        "kinds": [
            switch(key or "all", word, with_shown(shown, only=key), table.counts[key])
            for key, word in KIND_WORDS.items()
        ],
        "noise": switch("noise", "Also what may be noise", with_shown(shown, noise=not shown.noise), table.noise_count),
        "sorts": {key: switch(key, word, with_shown(shown, sort=key)) for key, word in SORT_WORDS.items()},
        "find_params": [*question.sides.params(), *_without_search(first).params()],
        "all_query": query(with_shown(shown, narrowing=EVERY_FUNCTION, only="")),
        "has_more": table.found_count > len(table.rows),
        "more_query": query(replace(shown, limit=MORE_ROWS)) if shown.limit < MORE_ROWS else "",
    }


def _without_search(shown: Shown) -> Shown:
    return replace(shown, narrowing=replace(shown.narrowing, search=""))


def _grouped(shown: Shown, by: str) -> Shown:
    measure = DEFAULT_MEASURE if shown.measure == "total" else shown.measure
    return with_shown(shown, by=by, measure=shown.measure if by == "function" else measure)


def list_pages(sides: Sides, shown: Shown) -> Sequence[PageChange]:
    """Returns the pages that both sides hold, where they hold several: those first whose page views changed most."""
    if "page" in sides.own_fields or len(sides.common.pages) == 1:
        return []
    base, head = ({row.page: row for row in select_pages(side) if row.views} for side in (sides.base, sides.head))
    both = [page for page in base if page in head]
    if len(both) < 2:
        return []
    changes = [
        PageChange(
            page,
            _busy_ms(base[page]),
            _busy_ms(head[page]),
            base[page].views,
            head[page].views,
            urlencode([*replace(sides.common, pages=(page,)).params(), *sides.pairs(), *shown.params()], safe="/:"),
        )
        for page in both
    ]
    return sorted(changes, key=lambda change: (change.is_too_few, -abs(change.delta_ms)))[:SHOWN_PAGES]


def _busy_ms(row: PageRow) -> float:
    return (row.time.js_us + row.time.hidden_us) / US_PER_MS / row.views


def verdict_of(found: Comparison) -> Verdict:
    """Returns what to say of both sides' whole time.

    `unsure` where the mean certainly changed and the ranks do not say so: a few heavy views may have done it.
    """
    whole = found.overall
    if found.is_too_few:
        return "too few"
    if whole is None:
        return "no sum" if found.measure == "total" else "nothing"
    if whole.is_significant:
        return "more" if whole.delta_ms > 0 else "less"
    is_beyond = whole.ci95 is not None and (whole.ci95.low > 0 or whole.ci95.high < 0)
    return "unsure" if is_beyond else "noise"


def write_csv(question: Asked) -> Iterator[bytes]:
    """Yields the table as CSV: all rows asked for, in order, with numbers unrounded."""
    answer = question.answer()
    moved = find_moved(answer)
    yield encode_row(CSV_COLUMNS)
    for found in list_wanted(answer, question.shown, question.code()):
        func = answer.funcs[found.func_id]
        yield encode_row(_csv_row(func, found, sureness_of(found, may_have_moved=found.func_id in moved)))


def _csv_row(func: FunctionRow, found: Difference, sureness: str) -> tuple[Cell, ...]:
    original = func.mapped.original if func.mapped else None
    return (
        str(func.id),
        func.label,
        func.name,
        func.uri,
        func.line,
        func.column,
        *((original.source, original.line, original.column) if original else (None, None, None)),
        found.status,
        found.base_ms,
        found.head_ms,
        found.delta_ms,
        *((found.ci95.low, found.ci95.high) if found.ci95 else (None, None)),
        found.relative,
        found.self_delta_ms,
        found.mix_ms,
        found.p,
        found.q,
        sureness,
        found.base_views_ran,
        found.head_views_ran,
    )
