"""The change of each call path between the two sides of a difference, and its colour: slower, faster, or noise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from profcore.formats.firefox.categories import FASTER, NOISE, SLOWER
from profcore.sums.calltree import CallTree, CallTreeBuilder, total_us

# A smaller share of the script time of a view is grey, as in the dashboard's flame graph.
MIN_SHARE: Final = 0.005
# So many standard errors of the number of its samples may be chance. Views differ by more than that; the comparison
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
    change.add_tree(_scaled(head, base_views))
    change.add_tree(_scaled(base, -head_views))
    tree = change.tree
    totals, errors = total_us(tree), [0.0] * len(tree)
    busy = 0
    for side, factor in ((head, base_views), (base, head_views)):
        side_us = total_us(side)
        side_samples = total_us(CallTree(side.prefix, side.func, side.self_samples))
        busy = max(busy, factor * sum(side.self_us))
        for node, place in enumerate(_places(side, change)):
            # Samples weigh about the same, and their number varies by its square root.
            errors[place] += (factor * side_us[node]) ** 2 / max(side_samples[node], 1)
    least = MIN_SHARE * busy
    return Changes(tree, [_judge(total, least, sqrt(error)) for total, error in zip(totals, errors, strict=True)])


def _judge(total: int, least: float, error: float) -> int:
    if abs(total) < max(least, NOISE_ERRORS * error) or not total:
        return NOISE
    return SLOWER if total > 0 else FASTER


def _scaled(tree: CallTree, factor: int) -> CallTree:
    zeros = [0] * len(tree)
    return CallTree(tree.prefix, tree.func, [us * factor for us in tree.self_us], zeros, zeros)


def _places(tree: CallTree, known: CallTreeBuilder) -> Iterator[int]:
    """Yields the node of `known` for each node of a tree that was added to it."""
    places: list[int] = []
    for prefix, func in zip(tree.prefix, tree.func, strict=True):
        places.append(known.node(places[prefix] if prefix >= 0 else -1, func))
        yield places[-1]
