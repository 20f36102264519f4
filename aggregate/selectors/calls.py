"""A slice's call tree, pruned when read; and the callers and callees of one func in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from django.db import connection

from aggregate.selectors.categories import select_sites
from aggregate.selectors.functions import FunctionRow
from aggregate.selectors.reading import Reading
from aggregate.selectors.slices import Slice
from aggregate.selectors.whole import merge_slice
from profcore.calltree import CallTree, total_us
from profcore.categories import categorize
from profcore.fold import sum_by_func

ROOT: Final = -1
Direction = Literal["callers", "callees"]


@dataclass(frozen=True, slots=True)
class CallRow:
    """One caller or callee: the µs spent on that call. `func` is None for a root, which nobody called."""

    func: FunctionRow | None
    self_samples: int
    total_samples: int
    self_us: int
    total_us: int
    hidden_us: int


@dataclass(frozen=True, slots=True)
class Calls:
    """The callers or callees of one func, the one with the greatest total first."""

    source: str
    rows: Sequence[CallRow]


@dataclass(frozen=True, slots=True)
class PrunedTree:
    """A call tree without its lightest nodes. `tree.func` indexes `funcs`; totals are those of the whole tree.

    `left_out_nodes` were pruned, with `left_out_us` of self time: it is still in their callers' totals.
    """

    source: str
    views: int
    traces: int
    tree: CallTree
    totals_us: Sequence[int]
    funcs: Sequence[FunctionRow]
    left_out_nodes: int
    left_out_us: int


def select_func(project_id: int, func_id: int) -> FunctionRow | None:
    """Returns a func's facts, with no sums; None where the project has none of that id."""
    return next(iter(select_funcs(project_id, [func_id])), None)


def select_funcs(project_id: int, func_ids: Sequence[int]) -> Sequence[FunctionRow]:
    """Returns the facts of funcs in ascending order of id, with no sums. Two statements."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col, 0, 0, 0, 0, 0, 0 FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s::int[]) ORDER BY f.id""",
            [project_id, list(func_ids)],
        )
        rows = [FunctionRow(*row) for row in cursor.fetchall()]
    sites = select_sites(project_id) if rows else frozenset()
    return [replace(row, category=categorize(row.key, sites)) for row in rows]


def select_calls(slice_: Slice, func_id: int, direction: Direction) -> Calls:
    """Returns who called a func in a slice, or whom it called, directly.

    A caller's row says what the func took when called from there: its selfs add up to the func's self. A callee's row
    says what that callee took when called from the func. Totals are counted once a sample, however often the call
    recurs on its stack.
    """
    whole = merge_slice(slice_)
    tree = whole.tree
    callers = [tree.func[prefix] if prefix >= 0 else ROOT for prefix in tree.prefix]
    if direction == "callers":
        other = [caller if func == func_id else None for func, caller in zip(tree.func, callers, strict=True)]
    else:
        other = [func if caller == func_id else None for func, caller in zip(tree.func, callers, strict=True)]
    ids = sorted({func for func in other if func is not None})
    position = {func: index for index, func in enumerate(ids)}
    rest = len(ids)
    key = [rest if func is None else position[func] for func in other]
    sums = sum_by_func(tree.prefix, key, tree.self_us, tree.self_samples, tree.hidden_us)
    funcs = {row.id: row for row in select_funcs(slice_.project_id, [func for func in ids if func != ROOT])}
    rows = [
        CallRow(
            funcs.get(func),
            sums.self_samples.get(index, 0),
            sums.total_samples.get(index, 0),
            sums.self_us.get(index, 0),
            sums.total_us.get(index, 0),
            sums.hidden_us.get(index, 0),
        )
        for func, index in position.items()
    ]
    return Calls(whole.source, sorted(rows, key=lambda row: -row.total_us))


def select_call_tree(slice_: Slice, *, min_share: float, max_nodes: int, reading: Reading | None = None) -> PrunedTree:
    """Returns a slice's call tree: nodes whose total is at least `min_share` of its JS time, the heaviest `max_nodes`.

    Callers come before callees, and a node that stays has its caller stay.
    """
    whole = merge_slice(slice_, reading)
    tree = whole.tree
    totals = total_us(tree)
    least = min_share * whole.time.js_us
    # A callee's total is never above its caller's, and callers come first: what is kept is closed under callers.
    heaviest = sorted((node for node, us in enumerate(totals) if us >= least), key=lambda node: (-totals[node], node))
    kept = sorted(heaviest[:max_nodes])
    index_of = {node: index for index, node in enumerate(kept)}
    funcs = select_funcs(slice_.project_id, sorted({tree.func[node] for node in kept}))
    position = {row.id: index for index, row in enumerate(funcs)}
    pruned = CallTree(
        prefix=[index_of.get(tree.prefix[node], -1) for node in kept],
        func=[position[tree.func[node]] for node in kept],
        self_us=[tree.self_us[node] for node in kept],
        self_samples=[tree.self_samples[node] for node in kept],
        hidden_us=[tree.hidden_us[node] for node in kept],
    )
    return PrunedTree(
        source=whole.source,
        views=whole.views,
        traces=whole.traces,
        tree=pruned,
        totals_us=[totals[node] for node in kept],
        funcs=funcs,
        left_out_nodes=len(tree) - len(kept),
        left_out_us=sum(tree.self_us) - sum(pruned.self_us),
    )
