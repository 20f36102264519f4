"""The page "What to fix first": functions, packages or parties by what views would save without them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.slice.slices import Slice
from dashboard.pages.functions import GROUP_WORDS, TableLink
from dashboard.pages.vitals.layout import describe_frame
from dashboard.web.access import get_visible_project
from dashboard.web.cache import answer_savings
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import Narrowing, read_choice
from dashboard.web.queries import read_page_narrowing, read_page_slice, write_query
from profcore.stats.summaries import MIN_VIEWS

ROWS: Final = 25


@dataclass(frozen=True, slots=True)
class SavingsPlace:
    """The page of a slice, how its rows are grouped, and which functions count."""

    slug: str
    slice_: Slice
    group_by: str
    narrowing: Narrowing

    def link(self, *more: tuple[str, str], name: str = "savings", group_by: str = "") -> str:
        """Returns the address of the page or of its table, with another grouping if given."""
        by = group_by or self.group_by
        kept = [("group_by", by)] if by != "function" else []
        query = write_query([*self.slice_.params(), *self.narrowing.params(), *kept, *more])
        return f"{reverse(name, args=[self.slug])}?{query}"


def read_place(request: HttpRequest, slug: str, slice_: Slice) -> SavingsPlace:
    """Returns what an address asks for. Raises `ParamError`."""
    group_by = read_choice(request.GET, "group_by", ("function", *GROUPINGS), "function")
    return SavingsPlace(slug, slice_, group_by, read_page_narrowing(request.GET))


@project_page(name="savings", path="savings/", heavy="plain", on_replica=True, narrows="bar")
@answer_unchanged
def show_savings(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    place = read_place(request, slug, read_page_slice(request, project))
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    kept = [("group_by", place.group_by)] if place.group_by != "function" else []
    kept += [("plain", "1")] if is_plain else []
    context: dict[str, object] = {
        **describe_frame(request, project, place.slice_, "savings", kept),
        "groups": link_groups(place),
        "part_link": place.link(name="savings-table"),
        "plain_link": place.link(("plain", "1")),
        "is_plain": is_plain,
        **(describe_savings(place) if is_plain else {}),
    }
    return render(request, "dashboard/vitals/savings.html", context)


@project_page(
    kind="part",
    name="savings-table",
    path="savings/table/",
    heavy="yes",
    on_replica=True,
)
@answer_unchanged
def show_savings_table(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows only the table."""
    project = get_visible_project(request.user, slug)
    place = read_place(request, slug, read_page_slice(request, project))
    return render(request, "dashboard/vitals/_savings.html", {"project": project, **describe_savings(place)})


def link_groups(place: SavingsPlace) -> Sequence[TableLink]:
    """Returns the links that group the rows."""
    return [
        TableLink(key=key, word=word, link=place.link(group_by=key), is_here=key == place.group_by)
        for key, word in GROUP_WORDS.items()
    ]


def describe_savings(place: SavingsPlace) -> dict[str, object]:
    """Returns the context of the table. Raises `SliceError`."""
    savings = answer_savings(place.slice_, group_by=place.group_by, limit=ROWS, narrowing=place.narrowing)
    return {
        "slice": place.slice_,
        "table": savings.table,
        "vitals": savings.vitals,
        "rows": savings.rows,
        "most_sure": max((saving.sure_ms for saving in savings.rows), default=0.0),
        "is_function": place.group_by == "function",
        "row_word": GROUP_WORDS[place.group_by],
        "min_views": MIN_VIEWS,
    }
