"""The size guard of exports: call paths too light to matter leave, their time stays where it was called.

A viewer takes so many call nodes and no more (the Firefox Profiler's stack chart took 9 s and 2.1 GB for 500,000
stacks), and a year of a busy project has millions, nearly all of them a sample wide.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, compress
from operator import not_
from typing import Final

import numpy as np

from profcore.calltree import CallTree, CallTreeBuilder, total_us
from profcore.formats.slice import ExportFunc, Pruned, SliceExport

# Stands where pruned call nodes were: their self time is its own. No func of a page has this category.
PRUNED: Final = ExportFunc("(pruned)", "(pruned)", category="pruned")


def prune_export(export: SliceExport, max_call_nodes: int) -> SliceExport:
    """Returns the export with at most `max_call_nodes` call nodes of funcs; itself where it has no more.

    The lightest go, by the total of the node: all below one bound, so that what is left is a tree, and equal exports
    are pruned alike. What called them gets one callee `PRUNED` with the self time of all that is gone below it. So
    the totals of every node that is left are what they were, and so is the sum. `pruned` says how much went.
    """
    tree = export.tree
    if len(tree) <= max_call_nodes:
        return export
    totals = total_us(tree)
    below_us = _bound(totals, max_call_nodes)
    return _cut(export, [total >= below_us for total in totals], totals, below_us)


def prune_both(base: SliceExport, head: SliceExport, max_call_nodes: int) -> tuple[SliceExport, SliceExport]:
    """Prunes the two sides of a difference by the sum of both: a path stays on both sides or on none.

    Pruned apart, a path that is light on one side would be a change. Together they have at most `max_call_nodes`
    different paths left.
    """
    if len(base.tree) + len(head.tree) <= max_call_nodes:
        return base, head
    index: dict[ExportFunc, int] = {}
    both = CallTreeBuilder()
    places = []
    for side in (base, head):
        func_of = [index.setdefault(func, len(index)) for func in side.funcs]
        places.append(_places(side.tree, func_of, both))
        for node, place in enumerate(places[-1]):
            both.tree.self_us[place] += side.tree.self_us[node]
    if len(both.tree) <= max_call_nodes:
        return base, head
    totals = total_us(both.tree)
    below_us = _bound(totals, max_call_nodes)
    cut_base, cut_head = (
        _cut(side, [totals[place] >= below_us for place in own], total_us(side.tree), below_us)
        for side, own in zip((base, head), places, strict=True)
    )
    return cut_base, cut_head


def _places(tree: CallTree, func_of: Sequence[int], both: CallTreeBuilder) -> list[int]:
    places: list[int] = []
    for node, prefix in enumerate(tree.prefix):
        places.append(both.node(places[prefix] if prefix >= 0 else -1, func_of[tree.func[node]]))
    return places


def _bound(totals: Sequence[int], max_call_nodes: int) -> int:
    # A node as heavy as the heaviest that has no room goes too: between equals there would be no reason.
    heaviest_without_room = len(totals) - 1 - max_call_nodes
    return int(np.partition(np.array(totals, dtype=np.int64), heaviest_without_room)[heaviest_without_room]) + 1


def _cut(export: SliceExport, is_kept: Sequence[bool], totals: Sequence[int], below_us: int) -> SliceExport:
    """Returns the export with the nodes that are kept. Callers of these are, and callees of those that go go too."""
    tree, pruned_func = export.tree, len(export.funcs)
    place = [kept - 1 for kept in accumulate(is_kept)]
    left = CallTree(
        [place[prefix] if prefix >= 0 else -1 for prefix in compress(tree.prefix, is_kept)],
        *(list(compress(each, is_kept)) for each in (tree.func, tree.self_us, tree.self_samples, tree.hidden_us)),
    )
    lost: dict[int, int] = {}  # by what called it, self µs of all that is gone below
    for prefix, us in compress(zip(tree.prefix, totals, strict=True), map(not_, is_kept)):
        if prefix < 0 or is_kept[prefix]:
            above = place[prefix] if prefix >= 0 else -1
            lost[above] = lost.get(above, 0) + us
    for above, us in sorted(lost.items()):
        if us:
            left.prefix.append(above)
            left.func.append(pruned_func)
            left.self_us.append(us)
            left.self_samples.append(0)
            left.hidden_us.append(0)
    pruned = Pruned(len(is_kept) - sum(is_kept), sum(lost.values()), below_us)
    return replace(export, funcs=[*export.funcs, PRUNED], tree=left, pruned=pruned)
