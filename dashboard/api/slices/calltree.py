"""`calltree`: the merged call tree of a slice."""

from dataclasses import dataclass
from typing import Annotated, Final, Self

from django.http import QueryDict
from rest_framework.request import Request

from aggregate.selectors.functions.calls import select_call_tree
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from dashboard.api.core.answer import Answer, doc
from dashboard.api.core.parameters import Count, Share
from dashboard.api.core.parts import DisplayAnswer, FuncAnswer, SliceAnswer, SumsSource
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import MAX_NODES, Query
from dashboard.web.project_pages import PageTraits

MIN_SHARE: Final = Share("min_share", "A share of the slice's JS time, 0 to 1.")
NODES: Final = Count("max_nodes", f"1 to {MAX_NODES}.", default=10_000, high=MAX_NODES)


class NodeAnswer(Answer):
    prefix: Annotated[int | None, doc("The caller's index in nodes; null for a root.")]
    function: Annotated[int, doc("An index into functions.")]
    self_samples: int
    self_ms: float
    total_ms: Annotated[float, doc("Of the whole tree, including pruned nodes below.")]
    hidden_ms: float


class PrunedAnswer(Answer):
    nodes: int
    self_ms: Annotated[float, doc("Their time is still in the totals of their callers.")]


class CallTreeAnswer(Answer):
    slice: SliceAnswer
    source: SumsSource
    views: int
    traces: int
    display: DisplayAnswer
    functions: list[FuncAnswer]
    nodes: Annotated[list[NodeAnswer], doc("Callers come before callees.")]
    pruned: PrunedAnswer


@dataclass(frozen=True, slots=True)
class CallTreeQuery(Query):
    """`calltree`: the slice's merged call tree, pruned."""

    kind = "calltree"
    params = (MIN_SHARE, NODES)
    min_share: float
    max_nodes: int

    @classmethod
    def read(cls, params: QueryDict) -> Self:
        max_nodes = NODES.read(params)
        return cls(MIN_SHARE.read(params), max_nodes)

    def answer(self, slice_: Slice, reading: Reading | None = None) -> CallTreeAnswer:
        pruned = select_call_tree(slice_, min_share=self.min_share, max_nodes=self.max_nodes, reading=reading)
        tree = pruned.tree
        columns = (tree.prefix, tree.func, tree.self_samples, tree.self_us, pruned.totals_us, tree.hidden_us)
        return CallTreeAnswer.of(
            pruned,
            slice=SliceAnswer.of(slice_),
            display=DisplayAnswer(pruned.display_rules),
            functions=[FuncAnswer.of(row) for row in pruned.funcs],
            nodes=[
                NodeAnswer(None if prefix < 0 else prefix, func, samples, *(us / 1000 for us in times))
                for prefix, func, samples, *times in zip(*columns, strict=True)
            ],
            pruned=PrunedAnswer(pruned.left_out_nodes, pruned.left_out_us / 1000),
        )


class CalltreeView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = CallTreeQuery.known_params()
    job_kind = CallTreeQuery.kind

    def get(self, request: Request, slug: str) -> CallTreeAnswer:
        """Returns the slice's merged call tree without its lightest nodes, and the sums of those."""
        return CallTreeQuery.read(request.query_params).answer(self.resolve_slice())
