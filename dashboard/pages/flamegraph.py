"""The page "Flame graph": the call tree of a slice, or of two slices compared, as a graph, a table and a sandwich.

The page's script fetches the tree. With `plain=1` the page has the heaviest calls as a table, for clients without
JavaScript.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.table import FunctionRow, keep_rows
from aggregate.selectors.functions.tree_columns import SliceTreeColumns, select_tree_columns
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.reading import SliceTooLarge
from aggregate.selectors.slice.slices import Slice, SliceError
from dashboard.layout.display_line import build_display_line
from dashboard.layout.export_menu import build_export_menu
from dashboard.layout.shell import Shell, build_shell
from dashboard.layout.sides import Sides, name_side, read_side_queries, settle_sides, trim_bar
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.etags import answer_unchanged
from dashboard.web.params import Narrowing, read_choice
from dashboard.web.project_pages import Tab
from dashboard.web.queries import read_page_narrowing, read_page_slice, write_query
from profcore.code.categories import FUNC_CATEGORIES
from profcore.stats.summaries import MIN_VIEWS
from projects.models import Project

SHOWS: Final = ("graph", "table", "sandwich")
# Rows in the page: more than a person reads, and few enough to load at once.
TABLE_NODES: Final = 200
# Deeper rows have the same indent: a phone has no more room.
MAX_INDENT: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """One call node of the table. Times are of the head; `base_us` is the total of the base, for its own page views."""

    level: int
    indent: int
    func: FunctionRow
    self_us: int
    total_us: int
    hidden_us: int
    base_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeQuery:
    """What the address asks for: a slice, or two sides within it, and how to show them."""

    project: Project
    slice_: Slice
    sides: Sides | None
    narrowing: Narrowing
    is_plain: bool
    show: str

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The sides as query parameters."""
        return self.sides.pairs() if self.sides else []

    @property
    def kept(self) -> list[tuple[str, str]]:
        """Parameters that the slice bar keeps."""
        if self.is_plain:
            return [*self.pairs, ("plain", "1")]
        return [*self.pairs, *([("show", self.show)] if self.show != "graph" else [])]


@project_page(
    name="flame-graph",
    path="flame-graph/",
    tab=Tab(label="Flame graph", key="g"),
    heavy="plain",
    on_replica=True,
    for_guests="open",
    is_saveable=True,
    narrows="page",
)
@answer_unchanged
def show_flame_graph(request: HttpRequest, slug: str) -> HttpResponse:
    query = read_tree_query(request, slug)
    project, sides = query.project, query.sides
    releases = select_releases(project.pk)
    if not releases:
        return redirect("overview", slug)  # it shows the first steps
    context = {
        "project": project,
        "slice": query.slice_,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(query.slice_),
        "shell": build_tree_shell(request, query, releases),
        "display": build_display_line(request, project, query.slice_),
        "export": build_export_menu(project, query.slice_, sides=query.pairs),
        "show": query.show,
        "is_plain": query.is_plain,
        "releases": releases,
        "categories": FUNC_CATEGORIES.items(),
        "min_views": MIN_VIEWS,
        **describe_sides(sides),
        **link_tree(query),
    }
    if query.is_plain:
        context |= read_table([sides.base, sides.head] if sides else [query.slice_], query.narrowing)
    return render(request, "dashboard/flamegraph/page.html", context)


def read_tree_query(request: HttpRequest, slug: str) -> TreeQuery:
    """Returns the query in the address. Raises `ParamError` and `SliceError`."""
    project = get_visible_project(request.user, slug)
    slice_ = read_page_slice(request, project)
    queries = read_side_queries(request.GET)
    sides = None if queries.is_empty else settle_sides(slice_, queries)
    is_plain = read_choice(request.GET, "plain", ("", "1"), "") == "1"
    return TreeQuery(
        project=project,
        slice_=sides.common if sides else slice_,
        sides=sides,
        narrowing=read_page_narrowing(request.GET),
        is_plain=is_plain,
        show="table" if is_plain else read_choice(request.GET, "show", SHOWS, "graph"),
    )


def build_tree_shell(request: HttpRequest, query: TreeQuery, releases: Sequence[ReleaseRow]) -> Shell:
    """Returns the tabs and the bar, without the fields that the sides have of their own."""
    shell = build_shell(
        request,
        query.project,
        query.slice_,
        "flame-graph",
        releases=releases,
        now=timezone.now(),
        kept=query.kept,
    )
    return trim_bar(shell, query.sides.side_fields, has_tags=True) if query.sides else shell


def describe_sides(sides: Sides | None) -> dict[str, object]:
    """Returns what the template shows of the two sides."""
    return {
        "sides": sides,
        "base": sides.base.releases if sides else (),
        "head": sides.head.releases if sides else (),
        "base_name": name_side(sides, sides.base) if sides else None,
        "head_name": name_side(sides, sides.head) if sides else None,
    }


def link_tree(query: TreeQuery) -> dict[str, object]:
    """Returns the addresses that the page and its script use."""
    slug, slice_, pairs = query.project.slug, query.slice_, query.pairs
    address = reverse("flame-graph", args=[slug])
    narrowing = query.narrowing.params()
    is_judged = query.sides is not None and not slice_.is_fine  # only whole page views can be compared
    return {
        "slice_params": [*(pair for pair in slice_.params() if pair[0] != "release"), *narrowing],
        "compare_link": f"{reverse('compare', args=[slug])}?{join_query(slice_, [*pairs, *narrowing])}",
        "noise_url": f"{reverse('api-compare', args=[slug])}?{join_query(slice_, pairs)}" if is_judged else "",
        "single_link": f"{address}?{join_query(slice_, narrowing)}",
        "plain_link": f"{address}?{join_query(slice_, [*pairs, *narrowing, ('plain', '1')])}",
        "everything_link": address,
        "data_url": f"{reverse('api-flamegraph', args=[slug])}?{join_query(slice_, pairs)}",
        "jobs_url": reverse("api-jobs", args=[slug]),
    }


def join_query(slice_: Slice, pairs: Sequence[tuple[str, str]]) -> str:
    """Returns the query string of a slice and of parameters that may be repeated."""
    return write_query([*slice_.params(), *pairs])


def read_table(slices: Sequence[Slice], narrowing: Narrowing) -> dict[str, object]:
    """Returns the table's rows, or the problem. Rows that match the search are marked."""
    try:
        columns = select_tree_columns(slices, min_share=0.0, max_nodes=TABLE_NODES)
    except SliceError as error:
        return {"problem": error, "fits_job": isinstance(error, SliceTooLarge) and error.fits_job}
    side = columns.sides[-1]
    kept_ids = None
    if narrowing.params():
        code = load_symbols(slices[0].project_id)
        kept_ids = {row.id for row in keep_rows(code, columns.funcs, narrowing.categories, narrowing.search)}
    rows = list(list_rows(columns))
    return {
        "rows": rows,
        "kept_ids": kept_ids,
        "kept_count": sum(row.func.id in kept_ids for row in rows) if kept_ids is not None else None,
        "side": side,
        "base_side": columns.sides[0] if len(columns.sides) > 1 else None,
        "left_out_nodes": columns.left_out_nodes,
    }


def list_rows(columns: SliceTreeColumns) -> Iterator[TreeRow]:
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
            level=level,
            indent=min(level, MAX_INDENT),
            func=columns.funcs[columns.func[node]],
            self_us=head.self_us[node],
            total_us=head.total_us[node],
            hidden_us=head.hidden_us[node],
            base_us=base.total_us[node] if base else None,
        )
        pending += [(callee, level + 1) for callee in callees.get(node, ())]
