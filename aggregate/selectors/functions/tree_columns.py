"""The call tree of a slice, or of two slices side by side, as columns for a flame graph."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.merged_slice import MergedSlice
from aggregate.selectors.functions.named_trees import merge_named
from aggregate.selectors.functions.table import FunctionRow, describe_row
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from profcore.code.identity import identity_of
from profcore.sums.calltree import CallTree, CallTreeBuilder, total_us
from profcore.trace.weights import TimeParts


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSide:
    """One slice's sums, and its µs at each node of the common tree, 0 if it has no such node.

    Totals are those of the whole tree, including nodes that were pruned below.
    """

    views: int
    traces: int
    time: TimeParts
    self_us: Sequence[int]
    total_us: Sequence[int]
    hidden_us: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceTreeColumns:
    """The call tree of one slice or of two, pruned. Callers come before callees; a root's prefix is -1.

    `func` indexes `funcs` and their `packages`. `sides` are in the order of the slices. `left_out_nodes` were pruned,
    `display_rules` is how many rules decided how functions are shown.
    """

    source: str
    prefix: Sequence[int]
    func: Sequence[int]
    funcs: Sequence[FunctionRow]
    packages: Sequence[str | None]
    sides: Sequence[TreeSide]
    left_out_nodes: int
    display_rules: int = 0


def select_tree_columns(
    slices: Sequence[Slice], *, min_share: float, max_nodes: int, reading: Reading | None = None
) -> SliceTreeColumns:
    """Returns the merged call trees of a project's slices as one tree.

    A node is kept if its share of the JS time is at least `min_share` on one side; of these, the `max_nodes` with the
    greatest share. A function that several slices have is one func, with the facts of the last slice that has it.
    Raises `SliceError` as `merge_slice` does.
    """
    code = load_symbols(slices[0].project_id, as_stored=slices[0].as_stored)
    named = [merge_named(slice_, code, reading) for slice_ in slices]
    wholes = [whole for whole, _, _ in named]
    rows, numbers = _number_funcs([side_rows for _, _, side_rows in named])
    tree, places = _join_trees([side_tree for _, side_tree, _ in named], numbers, len(rows))
    totals = [_spread(len(tree), total_us(side_tree), at) for (_, side_tree, _), at in zip(named, places, strict=True)]
    js_us = [whole.time.js_us for whole in wholes]
    shares = np.max([np.array(us) / (of or np.inf) for us, of in zip(totals, js_us, strict=True)], axis=0)
    # A callee's share is never above its caller's, and callers come first, so the caller of a kept node is kept.
    heavy = np.flatnonzero(shares >= min_share)
    kept = np.sort(heavy[np.argsort(-shares[heavy], kind="stable")[:max_nodes]]).tolist()
    place_of = {node: place for place, node in enumerate(kept)}
    used = sorted({tree.func[node] for node in kept})
    number_of = {index: number for number, index in enumerate(used)}
    return SliceTreeColumns(
        source=wholes[-1].source,
        prefix=[place_of.get(tree.prefix[node], -1) for node in kept],
        func=[number_of[tree.func[node]] for node in kept],
        funcs=[describe_row(code, rows[index]) for index in used],
        packages=[None if rows[at].is_made else code.package_of(rows[at].key, rows[at].mapped) for at in used],
        sides=[
            _make_side(whole, side_tree, at, total, kept)
            for (whole, side_tree, _), at, total in zip(named, places, totals, strict=True)
        ],
        left_out_nodes=len(tree) - len(kept),
        display_rules=len(code.display),
    )


def _number_funcs(sides: Sequence[Sequence[FunctionRow]]) -> tuple[Sequence[FunctionRow], list[list[int]]]:
    """Returns the distinct functions, and for each side the number of each of its functions among them.

    Mapped functions and grouped rows are equal if their ids are. Others are also equal by name, script and position.
    """
    distinct: list[FunctionRow] = []
    known: dict[Hashable, int] = {}
    numbers: list[list[int]] = []
    for rows in reversed(sides):
        side_numbers: list[int] = []
        for row in rows:
            names: list[Hashable] = [row.id]
            if len(sides) > 1 and row.mapped is None and not row.is_made:
                names.append(identity_of(row.key))
            number = next((known[name] for name in names if name in known), len(distinct))
            if number == len(distinct):
                distinct.append(row)
            for name in names:
                known.setdefault(name, number)
            side_numbers.append(number)
        numbers.insert(0, side_numbers)
    return distinct, numbers


def _join_trees(
    trees: Sequence[CallTree], numbers: Sequence[Sequence[int]], count: int
) -> tuple[CallTree, Sequence[Sequence[int]]]:
    """Returns trees as one tree over functions by their numbers, and the place of each tree's nodes in it."""
    if len(trees) == 1 and len(numbers[0]) == count:  # then its paths differ already
        (only_tree,) = trees
        return replace(only_tree, func=[numbers[0][func] for func in only_tree.func]), [range(len(only_tree))]
    both = CallTreeBuilder()
    places = [_place_nodes(both, tree, number_of) for tree, number_of in zip(trees, numbers, strict=True)]
    return both.tree, places


def _place_nodes(both: CallTreeBuilder, tree: CallTree, number_of: Sequence[int]) -> list[int]:
    places: list[int] = []
    for prefix, func in zip(tree.prefix, tree.func, strict=True):
        places.append(both.node(places[prefix] if prefix >= 0 else -1, number_of[func]))
    return places


def _spread(count: int, values: Iterable[int], places: Sequence[int]) -> list[int]:
    """Returns values by the node of the common tree; two nodes of one tree may be one node there."""
    spread = [0] * count
    for value, place in zip(values, places, strict=True):
        spread[place] += value
    return spread


def _make_side(
    whole: MergedSlice, tree: CallTree, places: Sequence[int], totals: Sequence[int], kept: Sequence[int]
) -> TreeSide:
    self_us, hidden_us = (_spread(len(totals), us, places) for us in (tree.self_us, tree.hidden_us))
    return TreeSide(
        views=whole.views,
        traces=whole.traces,
        time=whole.time,
        self_us=[self_us[node] for node in kept],
        total_us=[totals[node] for node in kept],
        hidden_us=[hidden_us[node] for node in kept],
    )
