"""The order in which exports list a call tree: depth first, the heaviest callee first."""

from collections.abc import Sequence
from dataclasses import dataclass

from profcore.calltree import CallTree, total_us


@dataclass(frozen=True, slots=True)
class OrderedTree:
    """Call nodes in depth-first order; `prefix` is -1 for a root, else the node's caller, which comes before it."""

    prefix: list[int]
    func: list[int]
    self_us: list[int]


def order_heaviest_first(tree: CallTree, rank: Sequence[int]) -> OrderedTree:
    """Orders a tree depth first, the callee with the largest total first, equals by the `rank` of their funcs.

    Nodes without time are left out. Where ranks differ and no path occurs twice, the result does not depend on the
    order of the tree's nodes.
    """
    totals = total_us(tree)
    return _order(tree, totals, [total > 0 for total in totals], rank)


def order_signed(tree: CallTree, rank: Sequence[int]) -> OrderedTree:
    """Orders a tree whose self may be negative: the largest increase first, the largest decrease last.

    Nodes without a change in them or in anything they called are left out, as far as that goes: a node whose callees'
    changes cancel out stays.
    """
    changes = total_us(CallTree(tree.prefix, tree.func, [abs(self_us) for self_us in tree.self_us]))
    return _order(tree, total_us(tree), [change > 0 for change in changes], rank)


def _order(tree: CallTree, totals: Sequence[int], is_shown: Sequence[bool], rank: Sequence[int]) -> OrderedTree:
    heaviest = sorted((node for node in range(len(tree)) if is_shown[node]), key=lambda node: rank[tree.func[node]])
    heaviest.sort(key=totals.__getitem__, reverse=True)  # stable: equals stay in the order of their ranks
    roots: list[int] = []
    callees: dict[int, list[int]] = {}
    for node in reversed(heaviest):  # a list is taken from its end
        prefix = tree.prefix[node]
        (callees.setdefault(prefix, []) if prefix >= 0 else roots).append(node)
    ordered = OrderedTree([], [], [])
    pending = [(-1, node) for node in roots]
    while pending:
        prefix, node = pending.pop()
        own = len(ordered.func)
        ordered.prefix.append(prefix)
        ordered.func.append(tree.func[node])
        ordered.self_us.append(tree.self_us[node])
        pending.extend([(own, callee) for callee in callees.get(node, ())])
    return ordered
