"""`flamegraph`: the call tree as columns for the browser: a quarter of the size of rows, a twelfth when packed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from django.http import QueryDict
from rest_framework.request import Request

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.exports.requests import ExportQuery
from aggregate.selectors.exports.slice_export import fingerprint_slice
from aggregate.selectors.functions.tree_columns import SliceTreeColumns, TreeSide, select_tree_columns
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.sides import has_sides, resolve_sides
from aggregate.selectors.slice.slices import Slice
from dashboard.api.core.answer import Answer, Conditional, doc
from dashboard.api.core.parameters import SIDE_PARAMS, Count, Share
from dashboard.api.core.parts import DisplayAnswer, SliceAnswer, TimeAnswer
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import MAX_NODES, Query
from dashboard.web.params import read_export_query
from dashboard.web.project_pages import PageTraits

FLAME_NODES: Final = 20_000  # a browser draws as many within a frame (docs/benchmarks.md)
MIN_SHARE: Final = Share("min_share", "Of a side's JS time, 0 to 1.")
NODES: Final = Count("max_nodes", f"1 to {MAX_NODES}.", default=FLAME_NODES, high=MAX_NODES)


class FuncColumnsAnswer(Answer):
    """The functions, as columns. `id` is null for functions without any time."""

    id: Sequence[str | None]
    name: list[str]
    label: list[str]
    uri: list[str | None]
    line: list[int | None]
    column: list[int | None]
    original_source: list[str | None]
    original_line: list[int | None]
    original_column: list[int | None]
    category: list[str | None]
    package: list[str | None]
    is_group: list[bool]
    colour: list[str | None]


def write_func_columns(funcs: Sequence[Any], originals: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns the columns that the functions of flame graphs and of timelines have in common."""
    places = {f"original_{name}": name for name in ("source", "line", "column")}
    return {
        **{name: [getattr(row, name) for row in funcs] for name in ("name", "label", "uri", "line", "column")},
        **{name: [original and getattr(original, key) for original in originals] for name, key in places.items()},
        "category": [row.category for row in funcs],
        "is_group": [row.is_made for row in funcs],
    }


class TreeFuncsAnswer(FuncColumnsAnswer):
    """The functions, as columns."""

    id: Sequence[str]


class NodeColumnsAnswer(Answer):
    prefix: Annotated[Sequence[int], doc("The caller's index, callers first; -1 for a root.")]
    function: Annotated[Sequence[int], doc("An index into functions.")]


class TreeSideAnswer(Answer):
    views: int
    traces: int
    time_ms: TimeAnswer
    self_ms: Annotated[list[float], doc("Per node; 0 if this side does not have it.")]
    total_ms: Annotated[list[float], doc("Of the whole tree, including pruned nodes below.")]
    hidden_ms: list[float]

    @classmethod
    def of(cls, side: TreeSide, /, **values: Any) -> Self:
        """Returns the sums of one side."""
        columns = {
            f"{name}_ms": [us / 1000 for us in getattr(side, f"{name}_us")] for name in ("self", "total", "hidden")
        }
        return super().of(side, time_ms=TimeAnswer.of(side.time), **columns, **values)


class FlameGraphAnswer(Answer):
    slice: SliceAnswer
    source: Annotated[str, doc("Where the sums come from: cells or raw.")]
    display: DisplayAnswer
    functions: TreeFuncsAnswer
    nodes: NodeColumnsAnswer
    head: Annotated[TreeSideAnswer, doc("The slice, or the head's slice.")]
    base: Annotated[TreeSideAnswer | None, doc("That of the base.")]
    pruned_nodes: Annotated[int, doc("Of both sides. Their time is still in the totals of their callers.")]

    @classmethod
    def of_columns(cls, slice_: Slice, columns: SliceTreeColumns) -> Self:
        """Returns the tree of a slice, or of two."""
        *base, head = columns.sides
        funcs = columns.funcs
        func_columns = write_func_columns(funcs, [row.mapped.original if row.mapped else None for row in funcs])
        return cls(
            slice=SliceAnswer.of(slice_),
            source=columns.source,
            display=DisplayAnswer(columns.display_rules),
            functions=TreeFuncsAnswer(
                id=[str(row.id) for row in funcs],
                package=list(columns.packages),
                colour=[row.display.colour if row.display else None for row in funcs],
                **func_columns,
            ),
            nodes=NodeColumnsAnswer(columns.prefix, columns.func),
            head=TreeSideAnswer.of(head),
            base=TreeSideAnswer.of(base[0]) if base else None,
            pruned_nodes=columns.left_out_nodes,
        )


@dataclass(frozen=True, slots=True)
class FlameGraphQuery(Query):
    """`flamegraph`: the slice's call tree by columns, or that of two releases side by side."""

    kind = "flamegraph"
    params = (MIN_SHARE, NODES, *SIDE_PARAMS)
    min_share: float
    max_nodes: int
    export: ExportQuery

    @classmethod
    def read(cls, params: QueryDict) -> Self:
        max_nodes = NODES.read(params)
        return cls(MIN_SHARE.read(params), max_nodes, read_export_query(params))

    def answer(self, slice_: Slice, reading: Reading | None = None) -> FlameGraphAnswer:
        columns = select_tree_columns(
            self.slices(slice_), min_share=self.min_share, max_nodes=self.max_nodes, reading=reading
        )
        return FlameGraphAnswer.of_columns(slice_, columns)

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        if not has_sides(self.export.base, self.export.head):
            return [slice_]
        return resolve_sides(slice_, self.export.base, self.export.head)

    def key(self, slice_: Slice) -> tuple[object, ...]:
        """Returns the facts that decide the answer: they change with every trace folded into a slice."""
        sides = [(side.query(), fingerprint_slice(side)) for side in self.slices(slice_)]
        return self.min_share, self.max_nodes, sides


class FlamegraphView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True, for_guests="fetch")
    known_params = FlameGraphQuery.known_params()
    job_kind = FlameGraphQuery.kind

    def get(self, request: Request, slug: str) -> Conditional[FlameGraphAnswer]:
        """Returns the call tree as columns; with `base_…` and `head_…`, one tree with the sums of both sides."""
        query = FlameGraphQuery.read(request.query_params)
        slice_ = self.resolve_slice()
        code = load_symbols(self.project.pk, as_stored=slice_.as_stored)
        key = (self.project.pk, slice_.query(), query.key(slice_), sorted(code.sites), code.version)
        return Conditional(key, lambda: query.answer(slice_))
