"""The page "Flame graph": a slice's call tree as a graph, a table and a sandwich; or that of two slices compared.

The page comes at once and its script fetches the tree; with `plain=1` the heaviest calls come with the page as a table,
for whoever has no script.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors import (
    FunctionRow,
    Slice,
    SliceError,
    TreeColumns,
    select_arrivals,
    select_code,
    select_releases,
    select_status,
    select_tree_columns,
)
from aggregate.selectors.functions import keep_rows
from aggregate.selectors.reading import SliceTooLarge
from dashboard.access import get_visible_project
from dashboard.display_line import build_display_line
from dashboard.export_menu import build_export_menu
from dashboard.params import Narrowing, read_choice
from dashboard.shell import build_shell, read_page_narrowing
from dashboard.sides import name_side, read_asked_sides, settle_sides, trim_bar
from dashboard.unchanged import answer_unchanged
from dashboard.views import private_page, read_page_slice
from profcore.formats.slice import FUNC_CATEGORIES
from profcore.stats.summaries import MIN_VIEWS

SHOWS: Final = ("graph", "table", "sandwich")
# Rows that come with the page: more than a person reads, and few enough to be there at once.
TABLE_NODES: Final = 200
# Deeper rows stand where these do: on a phone there is no more room.
MAX_INDENT: Final = 12


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One call node of the table. µs are those of the head, `base_us` is the total of the base, for its page views."""

    level: int
    indent: int
    func: FunctionRow
    self_us: int
    total_us: int
    hidden_us: int
    base_us: int | None


@private_page
@answer_unchanged
def show_tree(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    asked = read_asked_sides(request.GET)
    sides = None if asked.is_empty else settle_sides(slice_, asked)
    slice_ = sides.common if sides else slice_
    pairs = sides.pairs() if sides else []
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    show = "table" if is_plain else read_choice(request.GET, "show", SHOWS, "graph")
    releases = select_releases(project.pk)
    if not releases:
        return redirect("project", slug)  # there the first steps are told
    kept = [*pairs, *([("plain", "1")] if is_plain else [("show", show)] if show != "graph" else [])]
    shell = build_shell(request, project, slice_, "tree", releases=releases, now=timezone.now(), kept=kept)
    if sides:
        shell = trim_bar(shell, sides.own_fields, has_tags=True)
    is_judged = sides is not None and not slice_.is_fine  # a comparison is of whole page views
    address = reverse("tree", args=[slug])
    narrowing = read_page_narrowing(request.GET)
    along = [*pairs, *narrowing.params()]
    context = {
        "project": project,
        "slice": slice_,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(slice_),
        "shell": shell,
        "display": build_display_line(request, project, slice_),
        "export": build_export_menu(project, slice_, sides=pairs),
        "show": show,
        "is_plain": is_plain,
        "sides": sides,
        "base": sides.base.releases if sides else (),
        "head": sides.head.releases if sides else (),
        "base_name": name_side(sides, sides.base) if sides else None,
        "head_name": name_side(sides, sides.head) if sides else None,
        "releases": releases,
        "slice_params": [*(pair for pair in slice_.params() if pair[0] != "release"), *narrowing.params()],
        "compare_link": f"{reverse('compare', args=[slug])}?{join_query(slice_, along)}",
        "noise_url": f"{reverse('api-compare', args=[slug])}?{join_query(slice_, pairs)}" if is_judged else "",
        "single_link": f"{address}?{join_query(slice_, narrowing.params())}",
        "plain_link": f"{address}?{join_query(slice_, [*along, ('plain', '1')])}",
        "everything_link": address,
        "data_url": f"{reverse('api-flamegraph', args=[slug])}?{join_query(slice_, pairs)}",
        "jobs_url": reverse("api-jobs", args=[slug]),
        "categories": FUNC_CATEGORIES.items(),
        "min_views": MIN_VIEWS,
    }
    if is_plain:
        context |= read_table([sides.base, sides.head] if sides else [slice_], narrowing)
    return render(request, "dashboard/tree.html", context)


def join_query(slice_: Slice, pairs: Sequence[tuple[str, str]]) -> str:
    """Returns the query string of a slice and of parameters that may be repeated."""
    return urlencode([*slice_.params(), *pairs], safe="/:")


def read_table(slices: Sequence[Slice], narrowing: Narrowing) -> dict[str, object]:
    """Returns what the table shows: its rows, or why there are none. What a search does not find is marked."""
    try:
        columns = select_tree_columns(slices, min_share=0.0, max_nodes=TABLE_NODES)
    except SliceError as error:
        return {"problem": error, "is_too_large": isinstance(error, SliceTooLarge)}
    side = columns.sides[-1]
    found = None
    if narrowing.params():
        code = select_code(slices[0].project_id)
        found = {row.id for row in keep_rows(code, columns.funcs, narrowing.categories, narrowing.search)}
    rows = list(list_rows(columns))
    return {
        "rows": rows,
        "found": found,
        "found_count": sum(row.func.id in found for row in rows) if found is not None else None,
        "side": side,
        "base_side": columns.sides[0] if len(columns.sides) > 1 else None,
        "left_out_nodes": columns.left_out_nodes,
    }


def list_rows(columns: TreeColumns) -> Iterator[TreeRow]:
    """Yields the nodes depth first, the heaviest callee first."""
    *bases, head = columns.sides
    base = bases[0] if bases else None
    callees: dict[int, list[int]] = {}
    for node in sorted(range(len(columns.prefix)), key=lambda node: head.total_us[node]):
        callees.setdefault(columns.prefix[node], []).append(node)  # a list is taken from its end
    pending = [(node, 1) for node in callees.get(-1, ())]
    while pending:
        node, level = pending.pop()
        yield TreeRow(
            level,
            min(level, MAX_INDENT),
            columns.funcs[columns.func[node]],
            head.self_us[node],
            head.total_us[node],
            head.hidden_us[node],
            base.total_us[node] if base else None,
        )
        pending += [(callee, level + 1) for callee in callees.get(node, ())]
