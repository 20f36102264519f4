"""The content of the page "Compare": the answer in words, the table with its switches, and the pages of both sides."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from django.urls import reverse

from aggregate.selectors.slice.sides import BASE, HEAD
from aggregate.selectors.statistics.comparisons import SliceComparison
from aggregate.selectors.verdict.sentence import write_sentence
from aggregate.selectors.verdict.verdict import Verdict as VerdictAnswer
from alerts.delivery.links import absolute
from dashboard.layout.sides import SIDE_WORDS, SideName, name_side
from dashboard.layout.verdict_text import describe_verdict
from dashboard.pages.compare.comparison import ComparisonRequest
from dashboard.pages.compare.query import GROUPED_BY, MORE_ROWS, TableOptions
from dashboard.pages.compare.table import ComparedTable, build_table
from dashboard.web.answers import Json
from dashboard.web.params import EVERY_FUNCTION
from dashboard.web.queries import write_query
from dashboard.web.verdicts import answer_verdict
from profcore.code.issue_links import make_issue_link
from profcore.numbers import write_change
from profcore.stats.comparison import Comparison
from profcore.stats.views import Measure
from profcore.trace.dimensions import DEVICE_CLASSES, NAVIGATIONS

SHOWN_PAGES: Final = 8  # slower ones first, then faster ones
# (its word, its meaning)
MEASURES: Final[Mapping[Measure, tuple[str, str]]] = {
    "self+hidden": (
        "Self and hidden",
        "Time in the function itself, seen or hidden. A slow function often loses its visible stack.",
    ),
    "self": ("Self", "Time in which the function was seen on top of the stack."),
    "total": ("Total", "Time in the function and in all that it called. Totals overlap: they do not add up."),
    "hidden": (
        "Hidden",
        "Busy time without a visible stack. It belongs to the function or to something that it called.",
    ),
}
KIND_WORDS: Final = {"": "All", "increases": "Increases", "decreases": "Decreases", "new": "New", "gone": "Gone"}
GROUP_WORDS: Final = {"function": "Functions", "file": "Files", "package": "Packages", "category": "Categories"}
SORT_WORDS: Final = {"change": "Change", "q": "How sure"}
Verdict = Literal["too few", "no sum", "nothing", "changed", "unsure", "noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One choice of what to show, with its query string."""

    key: str
    word: str
    query: str
    is_here: bool
    count: int | None = None
    title: str = ""


def build_content(comparison: ComparisonRequest, *, may_change: bool) -> Json:
    """Compares both sides and returns the context of the page's part."""
    project, sides, answer = comparison.project, comparison.sides, comparison.compare()
    table = build_table(answer, comparison.options, comparison.code())
    return {
        "project": project,
        "table": table,
        "base_query": sides.base.query(),
        "head_query": sides.head.query(),
        # The source of a function's page is compared with that of the base.
        "base_release": sides.base.releases[0] if len(sides.base.releases) == 1 else "",
        "address": reverse("compare", args=[project.slug]),
        "part": reverse("compare-table", args=[project.slug]),
        "tree_link": f"{reverse('flame-graph', args=[project.slug])}?{write_query(sides.params())}",
        "csv_link": f"{reverse('compare-csv', args=[project.slug])}?{comparison.query(comparison.options)}",
        "may_change": may_change,
        "code_url": reverse("api-code", args=[project.slug]),
        **_describe_verdict(comparison),
        **_describe_answer(comparison, answer, table),
        **_build_switches(comparison, table),
    }


def _describe_answer(comparison: ComparisonRequest, answer: SliceComparison, table: ComparedTable) -> Json:
    """Returns the parts of the answer in words."""
    sides, options, result = comparison.sides, comparison.options, answer.comparison
    # A function that may only have moved is not named as a finding.
    largest = result.increases[0] if result.increases and table.moved is None else None
    _, meaning = MEASURES[options.measure]
    return {
        "result": result,
        "result_verdict": verdict_of(result),
        "options": options,
        "shared": sides.common.params(),
        "meaning": meaning,
        "group_word": GROUP_WORDS[options.by],
        "certain_count": sum(difference.is_significant for difference in result.functions),
        "largest": largest,
        "largest_func": answer.funcs[largest.func_id] if largest else None,
        "device_mix": [(DEVICE_CLASSES[device], share) for device, share in result.device_mix],
        "page_mix": [
            (answer.page_names.get(code, "small pages together"), share)
            for code, share in result.page_mix[:SHOWN_PAGES]
        ],
        # It says nothing if all are unknown, whose code is 0.
        "navigation_mix": [
            (NAVIGATIONS[code], share) for code, share in result.navigation_mix if result.navigation_mix[-1][0]
        ],
    }


def _build_switches(comparison: ComparisonRequest, table: ComparedTable) -> Json:
    """Returns the other tables of the same sides that can be shown, with the queries that lead to them."""
    options, query = comparison.options, comparison.query
    here = options.with_changes()

    def switch(key: str, word: str, wanted: TableOptions, count: int | None = None, title: str = "") -> Switch:
        return Switch(key=key, word=word, query=query(wanted), is_here=wanted == here, count=count, title=title)

    return {
        "measures": [
            switch(key, word, options.with_changes(measure=key), title=title)
            for key, (word, title) in MEASURES.items()
            if key != "total" or options.by == "function"  # groups have no totals
        ],
        "groupings": [switch(key, key.capitalize(), options.grouped_by(key)) for key in GROUPED_BY],
        "by_file_query": query(options.grouped_by("file")),
        "kinds": [
            switch(key or "all", word, options.with_changes(only=key), table.counts[key])
            for key, word in KIND_WORDS.items()
        ],
        "noise": switch("noise", "Show uncertain", options.with_changes(noise=not options.noise), table.noise_count),
        "sorts": {key: switch(key, word, options.with_changes(sort=key)) for key, word in SORT_WORDS.items()},
        "find_params": [*comparison.sides.params(), *here.without_search().params()],
        "all_query": query(options.with_changes(narrowing=EVERY_FUNCTION, only="")),
        "has_more": table.row_count > len(table.rows),
        "more_query": query(replace(options, limit=MORE_ROWS)) if options.limit < MORE_ROWS else "",
    }


def _describe_verdict(comparison: ComparisonRequest) -> Json:
    """Returns the verdict on both sides, the same that the overview says, and its pages."""
    sides, slice_ = comparison.sides, comparison.sides.common
    verdict = answer_verdict(sides.base, sides.head)
    names = [_plain_name(name_side(sides, side), word) for side, word in ((sides.base, BASE), (sides.head, HEAD))]
    pages = verdict.judgement.pages if len(verdict.judgement.pages) > 1 else ()
    params = [*sides.pairs(), *comparison.options.params()]
    return {
        **describe_verdict(comparison.project, verdict, *names),
        "issue_link": _link_issue(comparison, verdict, *names) if verdict.leading.has_changed else None,
        "pages": [
            (page, write_query([*replace(slice_, pages=(page.page or "",)).params(), *params]))
            for page in pages[:SHOWN_PAGES]
        ],
        "page_count": len(pages),
    }


def _link_issue(comparison: ComparisonRequest, verdict: VerdictAnswer, base: str, head: str) -> str | None:
    """Returns the form for an issue about a change, with its functions and this page in it."""
    template, slug = comparison.project.issue_link_template, comparison.project.slug
    sentence = "".join(part.text for part in write_sentence(verdict, base, head))
    functions = [
        f"- `{each.func.label}`"
        + (f" (`{each.func.place}`)" if each.func.place else "")
        + f": {write_change(each.difference.delta_ms)} per view"
        for each in verdict.culprits
    ]
    page = f"{absolute(reverse('compare', args=[slug]))}?{write_query(comparison.sides.params())}"
    return make_issue_link(template, sentence.partition(": ")[0], "\n".join([sentence, *functions, f"- {page}"]))


def _plain_name(name: SideName, side: str) -> str:
    return SIDE_WORDS[side] if name.has_time or not name.names else ", ".join(name.names)


def verdict_of(comparison: Comparison) -> Verdict:
    """Returns the verdict on the whole time of both sides.

    It is `unsure` if the mean changed significantly but the ranks did not: a few heavy views may be the reason.
    """
    whole = comparison.overall
    if comparison.is_too_few:
        return "too few"
    if whole is None:
        return "no sum" if comparison.measure == "total" else "nothing"
    if whole.is_significant:
        return "changed"
    return "unsure" if whole.is_beyond_zero else "noise"
