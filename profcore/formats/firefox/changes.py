"""The change of each call path between the two sides of a difference, and its colour: slower, faster, or noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from profcore.formats.firefox.categories import FASTER, NOISE, SLOWER
from profcore.sums.calltree import CallTree, CallTreeBuilder, total_us

# A smaller share of the busy time of a view is grey, as in the dashboard's flame graph.
MIN_SHARE: Final = 0.005
# This many standard errors of the number of its samples may be chance. Views differ by more than that; the comparison
# page judges functions by views, but no single call path.
NOISE_ERRORS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Changes:
    """Head minus base by call path: `tree` in whole units of µs / (views of head × views of base), and categories."""

    tree: CallTree
    categories: Sequence[int]


def find_changes(head: CallTree, base: CallTree, head_views: int, base_views: int) -> Changes:
    """Returns the changes of all call paths of both sides, whose views are at least 1."""
    change = CallTreeBuilder()
    places = [change.add_tree(_scaled(head, base_views)), change.add_tree(_scaled(base, -head_views))]
    tree = change.tree
    errors, busy = [0.0] * len(tree), 0
    for side, factor, nodes in ((head, base_views, places[0]), (base, head_views, places[1])):
        samples = total_us(CallTree(side.prefix, side.func, side.self_samples))
        busy = max(busy, factor * sum(side.self_us))
        for node, us, count in zip(nodes, total_us(side), samples, strict=True):
            # Samples weigh about the same, and their number varies by its square root.
            errors[node] += (factor * us) ** 2 / (count or 1)
    least = MIN_SHARE * busy
    judged = zip(total_us(tree), errors, strict=True)
    return Changes(tree, [_judge(total, least, NOISE_ERRORS * sqrt(error)) for total, error in judged])


def _judge(total: int, least: float, noise: float) -> int:
    if not total or -least < total < least or -noise < total < noise:
        return NOISE
    return SLOWER if total > 0 else FASTER


def _scaled(tree: CallTree, factor: int) -> CallTree:
    zeros = [0] * len(tree)
    return CallTree(tree.prefix, tree.func, [us * factor for us in tree.self_us], zeros, zeros)
