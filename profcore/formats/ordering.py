"""The order in which exports list a call tree: depth first, the heaviest callee first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profcore.sums.calltree import CallTree, total_us
from profcore.sums.tree_sums import sum_over_callers

IntColumn = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OrderedTree:
    """Call nodes in depth-first order; `prefix` is -1 for a root, else the node's caller, which comes before it."""

    prefix: list[int]
    func: list[int]
    self_us: list[int]


def order_heaviest_first(tree: CallTree, rank: Sequence[int]) -> OrderedTree:
    """Returns a tree depth first, the callee with the largest total first, equal ones by the `rank` of their funcs.

    Nodes without time are left out. If ranks differ and no path occurs twice, the result does not depend on the
    order of the tree's nodes.
    """
    totals = total_us(tree)
    return _ordered(tree, order_nodes(tree, [totals], [total > 0 for total in totals], rank))


def order_signed(tree: CallTree, rank: Sequence[int]) -> OrderedTree:
    """Returns a tree whose self may be negative in order: the largest increase first, the largest decrease last.

    Nodes are left out if neither they nor anything they called has changed. A node whose callees' changes cancel out
    stays.
    """
    changes = total_us(CallTree(tree.prefix, tree.func, [abs(self_us) for self_us in tree.self_us]))
    return _ordered(tree, order_nodes(tree, [total_us(tree)], [change > 0 for change in changes], rank))


def _ordered(tree: CallTree, nodes: Sequence[int]) -> OrderedTree:
    place = dict(zip(nodes, range(len(nodes)), strict=True)) | {-1: -1}
    prefix, func, self_us = tree.prefix, tree.func, tree.self_us
    return OrderedTree(
        [place[prefix[node]] for node in nodes], [func[node] for node in nodes], [self_us[node] for node in nodes]
    )


def order_nodes(
    tree: CallTree, weights: Sequence[Sequence[int]], is_shown: Sequence[bool], rank: Sequence[int]
) -> list[int]:
    """Returns the shown nodes, depth first, the callee with the largest weight first.

    The first weights decide, then the next, then the `rank` of the func, then the place in the tree. The callers of a
    shown node must be shown too.
    """
    if not any(is_shown):
        return []
    prefix, visible = np.array(tree.prefix, dtype=np.int64), np.flatnonzero(is_shown)
    by_func = np.array(rank, dtype=np.int64)[np.array(tree.func, dtype=np.int64)[visible]]
    keys = [prefix[visible], *(-_column(weight)[visible] for weight in weights), by_func]
    siblings = visible[np.lexsort(keys[::-1])]  # its last key decides first
    sizes = np.array(total_us(CallTree(tree.prefix, tree.func, list(map(int, is_shown)))), dtype=np.int64)
    # Between a node and its caller are the siblings before it, with everything that they called.
    before = np.cumsum(sizes[siblings]) - sizes[siblings]
    firsts = np.flatnonzero(np.diff(prefix[siblings], prepend=-2))
    before -= np.repeat(before[firsts], np.diff(firsts, append=siblings.size))
    steps = np.zeros(prefix.size, dtype=np.int64)
    steps[siblings] = before + 1
    place = sum_over_callers(prefix, steps)[visible] - 1
    nodes = np.empty(visible.size, dtype=np.int64)
    nodes[place] = visible
    return nodes.tolist()


def _column(weights: Sequence[int]) -> IntColumn:
    """Returns weights as a column; if they have more than 63 bits, their ranks, which give the same order."""
    if max(weights) < 2**63 and min(weights) >= -(2**63) + 1:
        return np.array(weights, dtype=np.int64)
    rank_of = {weight: rank for rank, weight in enumerate(sorted(set(weights)))}
    return np.array([rank_of[weight] for weight in weights], dtype=np.int64)
