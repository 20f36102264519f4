"""The size guard of exports: call paths that are too light are removed, and their time moves to their callers.

Viewers can only show a limited number of call nodes: the Firefox Profiler's stack chart took 9 s and 2.1 GB for 500,000
stacks. A year of a busy project has millions, and nearly all of them have a single sample.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, compress
from operator import not_
from typing import Final

import numpy as np

from profcore.formats.slice import ExportFunc, Pruned, SliceExport
from profcore.sums.calltree import CallTree, CallTreeBuilder, total_us

# The func that replaces pruned call nodes and has their self time. No func of a page has this category.
PRUNED: Final = ExportFunc(label="(pruned)", name="(pruned)", category="pruned")


def prune_export(export: SliceExport, max_call_nodes: int) -> SliceExport:
    """Returns the export with at most `max_call_nodes` call nodes of funcs; unchanged if it has no more.

    It removes the lightest nodes, by total: all below one bound. So the rest is a tree, and equal exports are pruned
    in the same way. Their callers get one callee `PRUNED` with the self time of everything removed below them. So
    the totals of all other nodes do not change, nor does the sum. `pruned` tells how much was removed.
    """
    tree = export.tree
    if len(tree) <= max_call_nodes:
        return export
    totals = total_us(tree)
    below_us = _bound(totals, max_call_nodes)
    return _cut(export, [total >= below_us for total in totals], totals, below_us)


def prune_both(base: SliceExport, head: SliceExport, max_call_nodes: int) -> tuple[SliceExport, SliceExport]:
    """Returns both sides of a difference, pruned by the sum of both: a path stays on both sides or on none.

    If they were pruned separately, a path that is light on one side would look like a change. Together they keep at
    most `max_call_nodes` different paths.
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
        _cut(side, [totals[place] >= below_us for place in of_side], total_us(side.tree), below_us)
        for side, of_side in zip((base, head), places, strict=True)
    )
    return cut_base, cut_head


def _places(tree: CallTree, func_of: Sequence[int], both: CallTreeBuilder) -> list[int]:
    places: list[int] = []
    for node, prefix in enumerate(tree.prefix):
        places.append(both.node(places[prefix] if prefix >= 0 else -1, func_of[tree.func[node]]))
    return places


def _bound(totals: Sequence[int], max_call_nodes: int) -> int:
    # Nodes as heavy as the heaviest one without room are removed too: a choice between equals would be arbitrary.
    heaviest_without_room = len(totals) - 1 - max_call_nodes
    return int(np.partition(np.array(totals, dtype=np.int64), heaviest_without_room)[heaviest_without_room]) + 1


def _cut(export: SliceExport, is_kept: Sequence[bool], totals: Sequence[int], below_us: int) -> SliceExport:
    """Returns the export with the kept nodes. Callers of kept nodes are kept; callees of removed ones are removed."""
    tree, pruned_func = export.tree, len(export.funcs)
    place = [kept - 1 for kept in accumulate(is_kept)]
    left = CallTree(
        [place[prefix] if prefix >= 0 else -1 for prefix in compress(tree.prefix, is_kept)],
        *(list(compress(column, is_kept)) for column in (tree.func, tree.self_us, tree.self_samples, tree.hidden_us)),
    )
    lost: dict[int, int] = {}  # by caller, the self µs of everything removed below it
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
