"""A slice's call tree as columns, or that of two slices side by side: what a flame graph is drawn from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aggregate.selectors.calls import select_funcs
from aggregate.selectors.functions import FunctionRow
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import Slice
from aggregate.selectors.whole import Whole, merge_slice
from profcore.calltree import CallTree, CallTreeBuilder, total_us
from profcore.funcs import FuncKey
from profcore.identity import identity_of
from profcore.weights import TimeParts


@dataclass(frozen=True, slots=True)
class TreeSide:
    """One slice's sums, and its µs at each node of the common tree: 0 where it has no such node.

    Totals are those of the whole tree: what was pruned below a node is in its total.
    """

    views: int
    traces: int
    time: TimeParts
    self_us: Sequence[int]
    total_us: Sequence[int]
    hidden_us: Sequence[int]


@dataclass(frozen=True, slots=True)
class TreeColumns:
    """The call tree of one slice or of two, pruned. Callers come before callees; a root's prefix is -1.

    `func` indexes `funcs`. `sides` are in the order of the slices. `left_out_nodes` were pruned.
    """

    source: str
    prefix: Sequence[int]
    func: Sequence[int]
    funcs: Sequence[FunctionRow]
    sides: Sequence[TreeSide]
    left_out_nodes: int


def select_tree_columns(
    slices: Sequence[Slice], *, min_share: float, max_nodes: int, reading: Reading | None = None
) -> TreeColumns:
    """Returns the merged call trees of a project's slices as one tree.

    A node stays where its share of the JS time is at least `min_share` on some side; of these, the `max_nodes` with the
    greatest. Of several slices, what is one function in all of them is one func: the last slice's, as far as it has it.
    Raises `SliceError` as `merge_slice` does.
    """
    wholes = [merge_slice(slice_, reading) for slice_ in slices]
    rows, index_of = _number_funcs(slices[0].project_id, wholes)
    both = CallTreeBuilder()
    places = [_place_nodes(both, whole.tree, index_of) for whole in wholes]
    tree = both.tree
    totals = [_spread(len(tree), total_us(whole.tree), own) for whole, own in zip(wholes, places, strict=True)]
    shares = [_greatest_share(us, wholes) for us in zip(*totals, strict=True)]
    # A callee's share is never above its caller's, and callers come first: what is kept is closed under callers.
    heaviest = sorted((n for n, share in enumerate(shares) if share >= min_share), key=lambda n: (-shares[n], n))
    kept = sorted(heaviest[:max_nodes])
    place_of = {node: place for place, node in enumerate(kept)}
    used = sorted({tree.func[node] for node in kept})
    number_of = {index: number for number, index in enumerate(used)}
    return TreeColumns(
        source=wholes[-1].source,
        prefix=[place_of.get(tree.prefix[node], -1) for node in kept],
        func=[number_of[tree.func[node]] for node in kept],
        funcs=[rows[index] for index in used],
        sides=[
            _make_side(whole, own, total, kept, len(tree))
            for whole, own, total in zip(wholes, places, totals, strict=True)
        ],
        left_out_nodes=len(tree) - len(kept),
    )


def _number_funcs(project_id: int, wholes: Sequence[Whole]) -> tuple[Sequence[FunctionRow], dict[int, int]]:
    """Returns the distinct functions, and which of them each stored id is."""
    rows = {int(row.id): row for row in select_funcs(project_id, sorted({f for w in wholes for f in w.tree.func}))}
    distinct: list[FunctionRow] = []
    known: dict[FuncKey, int] = {}
    index_of: dict[int, int] = {}
    for whole in reversed(wholes):
        for func_id in sorted(set(whole.tree.func)):
            key = rows[func_id].key if len(wholes) == 1 else identity_of(rows[func_id].key)
            index = known.setdefault(key, len(distinct))
            if index == len(distinct):
                distinct.append(rows[func_id])
            index_of.setdefault(func_id, index)
    return distinct, index_of


def _place_nodes(both: CallTreeBuilder, tree: CallTree, index_of: dict[int, int]) -> list[int]:
    places: list[int] = []
    for prefix, func in zip(tree.prefix, tree.func, strict=True):
        places.append(both.node(places[prefix] if prefix >= 0 else -1, index_of[func]))
    return places


def _spread(count: int, values: Iterable[int], places: Sequence[int]) -> list[int]:
    """Returns values by the node of the common tree; two nodes of one tree may meet there."""
    spread = [0] * count
    for value, place in zip(values, places, strict=True):
        spread[place] += value
    return spread


def _greatest_share(us: Sequence[int], wholes: Sequence[Whole]) -> float:
    return max(part / whole.time.js_us if whole.time.js_us else 0.0 for part, whole in zip(us, wholes, strict=True))


def _make_side(whole: Whole, places: Sequence[int], totals: Sequence[int], kept: Sequence[int], count: int) -> TreeSide:
    self_us, hidden_us = (_spread(count, us, places) for us in (whole.tree.self_us, whole.tree.hidden_us))
    columns = ([us[node] for node in kept] for us in (self_us, totals, hidden_us))
    return TreeSide(whole.views, whole.traces, whole.time, *columns)
