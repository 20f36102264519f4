"""The table of the page "Functions": what is asked for, which links its head and its foot have, what each row says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict

from aggregate.selectors import GROUPINGS, TABLE_SORTS, Asked, FunctionRow, FunctionTable, Slice
from dashboard.params import MAX_SEARCH, Narrowing, read_choice, read_count
from dashboard.shell import join_pairs
from profcore.categories import NO_GROUP
from profcore.stats.summaries import FuncSummary

TOP_FUNCTIONS: Final = 25  # what a phone shows in some screens; more is a link away
MORE_FUNCTIONS: Final = (100, 500, 2_000)
GROUP_WORDS: Final = {
    "function": "Function",
    "file": "File",
    "package": "Package",
    "origin": "Origin",
    "category": "Category",
    "party": "Party",
}
SORT_WORDS: Final = {
    "self_ms": "Self",
    "self_ms_per_view": "Per view",
    "p75_self_ms": "p75",
    "total_ms": "Total",
    "hidden_ms": "Hidden",
    "views": "Views",
}


@dataclass(frozen=True, slots=True)
class TableLink:
    """One way to order or to group the table."""

    key: str
    word: str
    link: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row, what a sample says of it (None: too few views), and for a group where its functions are."""

    row: FunctionRow
    found: FuncSummary | None
    link: str | None


def read_asked(params: QueryDict) -> Asked:
    """Returns what is asked of the table, without what narrows it. Raises `ParamError`."""
    return Asked(
        read_choice(params, "group_by", ("function", *GROUPINGS), "function"),
        read_choice(params, "sort", TABLE_SORTS, "self_ms"),
        read_count(params, "limit", default=TOP_FUNCTIONS, high=MORE_FUNCTIONS[-1]),
    )


def kept_params(asked: Asked) -> list[tuple[str, str]]:
    """Returns what goes along in the address, but the number of rows: another slice begins at the top."""
    pairs = [("group_by", asked.group_by)] if asked.group_by != "function" else []
    return pairs + ([("sort", asked.sort)] if asked.sort != "self_ms" else [])


def show_table(
    table: FunctionTable, asked: Asked, address: str, slice_: Slice, narrowing: Narrowing
) -> dict[str, object]:
    """Returns what the template shows of a table."""

    def link(group_by: str, sort: str, *more: tuple[str, str]) -> str:
        kept = kept_params(Asked(group_by, sort))
        return f"{address}?{join_pairs([*slice_.params(), *narrowing.params(), *kept, *more])}"

    next_limit = next((size for size in MORE_FUNCTIONS if size > asked.limit), None)
    rows = [
        ShownRow(row, table.self_estimates.get(row.id), _link_of_group(row, asked, address, slice_))
        for row in table.functions
    ]
    return {
        "table": table,
        "rows": rows,
        "asked": asked,
        "sort_word": SORT_WORDS[asked.sort],
        "row_word": GROUP_WORDS[asked.group_by],
        "groups": _links(GROUP_WORDS, asked.group_by, lambda key: link(key, asked.sort)),
        "sorts": _links(SORT_WORDS, asked.sort, lambda key: link(asked.group_by, key)),
        "more_link": link(asked.group_by, asked.sort, ("limit", str(next_limit))) if next_limit else None,
    }


def _links(words: dict[str, str], here: str, link: Callable[[str], str]) -> Sequence[TableLink]:
    return [TableLink(key, word, link(key), key == here) for key, word in words.items()]


def _link_of_group(row: FunctionRow, asked: Asked, address: str, slice_: Slice) -> str | None:
    """Returns where a group's functions are listed; None where no category or search names them alone."""
    name = str(row.id)
    if asked.group_by in ("function", "party") or name == NO_GROUP or len(name) > MAX_SEARCH:
        return None
    narrowing = Narrowing((name,)) if asked.group_by == "category" else Narrowing(search=name)
    return f"{address}?{join_pairs([*slice_.params(), *narrowing.params()])}"
