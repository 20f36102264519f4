"""A slice's call tree, pruned when read; and the callers and callees of one func in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from msgspec import structs

from aggregate.selectors.code.refs import FuncRef, find_home, find_ref, list_releases, select_owned
from aggregate.selectors.code.symbols import Pair, RowId, Symbols, load_symbols
from aggregate.selectors.functions.display_rows import is_made_id
from aggregate.selectors.functions.grouped_rows import find_grouped_row
from aggregate.selectors.functions.named_trees import merge_named, select_rows
from aggregate.selectors.functions.table import FunctionRow, describe_row, describe_rows
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from profcore.sums.calltree import CallTree, total_us
from profcore.sums.fold import sum_by_func

ROOT: Final = -1
Direction = Literal["callers", "callees"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One caller or callee, with the µs spent on that call. `func` is None above a root, which has no caller."""

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
    display_rules: int = 0


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A function's callers and callees, and its own µs in the same tree. Recursion counts once per sample in totals."""

    callers: Calls
    callees: Calls
    self_us: int
    total_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedTree:
    """A call tree without its lightest nodes. `tree.func` indexes `funcs`; totals are those of the whole tree.

    `left_out_nodes` were pruned. Their self time, `left_out_us`, is still in the totals of their callers.
    """

    source: str
    views: int
    traces: int
    tree: CallTree
    totals_us: Sequence[int]
    funcs: Sequence[FunctionRow]
    left_out_nodes: int
    left_out_us: int
    display_rules: int = 0


def select_func(project_id: int, func_id: RowId, *, releases: Sequence[str] | None = None) -> FunctionRow | None:
    """Returns a function without sums, by its id or that of one of its funcs; None if there is none.

    The facts are those of its newest func, as in tables, with the function's id there. With `releases` they are those
    of the newest of these that has it, or of all if none has. Its original is that of the row's `release`. Four
    statements, and six more if the project has source maps. An id that a display rule made gives the grouped row; one
    of a member of the row gives the function as it is stored.
    """
    if is_made_id(func_id):
        grouped = find_grouped_row(Slice(project_id=project_id), str(func_id))
        return grouped.row if grouped else None
    code = load_symbols(project_id)
    ref = find_ref(project_id, func_id, code)
    if code.labels is None:
        home = None
    elif releases is None:
        home = find_home(project_id, replace(ref, pairs=_pairs_of_newest(ref)))
    else:
        home = find_home(project_id, ref, releases)
    rows = select_rows(project_id, ref.funcs[-1:] if home is None else [home[1]])
    if not rows:
        return None
    row = describe_rows(code, rows if home is None else [structs.replace(rows[0], release=home[0])])[0]
    return structs.replace(row, id=ref.row_id, display=None if row.is_made else row.display)


def _pairs_of_newest(ref: FuncRef) -> frozenset[Pair] | None:
    """Returns the releases of a function's newest func, with the func."""
    return None if ref.pairs is None else frozenset(pair for pair in ref.pairs if pair[1] == ref.funcs[-1])


def select_versions(project_id: int, func_id: RowId) -> Sequence[str]:
    """Returns the releases that have a script with a mapped function, the newest first; none of an unmapped one."""
    code = load_symbols(project_id)
    if code.labels is None or is_made_id(func_id):
        return []
    ref = find_ref(project_id, func_id, code)
    owned = {release for release, _ in (ref.pairs or frozenset()) & select_owned(project_id, ref.funcs)}
    return [release for release in list_releases(project_id) if release in owned]


def select_calls(slice_: Slice, func_id: RowId, direction: Direction) -> Calls:
    """Returns the direct callers of a function in a slice, or its direct callees.

    A caller's row has the function's time when called from there; its self times add up to the function's self time. A
    callee's row has the callee's time when called from the function. Totals count once per sample, however often the
    call recurs on its stack. A function that display rules show in a grouped row is looked up as it is stored.
    """
    neighbours = select_neighbours(slice_, func_id)
    return neighbours.callers if direction == "callers" else neighbours.callees


def select_neighbours(slice_: Slice, func_id: RowId) -> Neighbours:
    """Returns callers and callees, from one reading of the slice's call tree."""
    code = load_symbols(slice_.project_id, as_stored=slice_.as_stored)
    is_stored = code.labels is None or is_made_id(func_id)
    row_id = func_id if is_stored else find_ref(slice_.project_id, func_id, code).row_id
    whole, tree, rows = merge_named(slice_, code)
    wanted = next((index for index, row in enumerate(rows) if row.id == row_id), None)
    if wanted is None and code.display.sums_up and not is_made_id(row_id):
        return select_neighbours(replace(slice_, as_stored=True), row_id)
    callers = [tree.func[prefix] if prefix >= 0 else ROOT for prefix in tree.prefix]
    pairs = list(zip(tree.func, callers, strict=True))
    above = _sum_by(tree, [caller if func == wanted else None for func, caller in pairs], rows, code)
    below = _sum_by(tree, [func if caller == wanted else None for func, caller in pairs], rows, code)
    self_rows = _sum_by(tree, [func if func == wanted else None for func in tree.func], rows, code)
    return Neighbours(
        Calls(whole.source, above, len(code.display)),
        Calls(whole.source, below, len(code.display)),
        sum(row.self_us for row in self_rows),
        sum(row.total_us for row in self_rows),
    )


def _sum_by(
    tree: CallTree, func_of_node: Sequence[int | None], funcs: Sequence[FunctionRow], code: Symbols
) -> list[CallRow]:
    """Returns a row for each function in `func_of_node`, which names one for each node, or None for no function."""
    ids = sorted({func for func in func_of_node if func is not None})
    position = {func: index for index, func in enumerate(ids)}
    rest = len(ids)
    key = [rest if func is None else position[func] for func in func_of_node]
    sums = sum_by_func(tree.prefix, key, tree.self_us, tree.self_samples, tree.hidden_us)
    rows = [
        CallRow(
            func=None if func == ROOT else describe_row(code, funcs[func]),
            self_samples=sums.self_samples.get(index, 0),
            total_samples=sums.total_samples.get(index, 0),
            self_us=sums.self_us.get(index, 0),
            total_us=sums.total_us.get(index, 0),
            hidden_us=sums.hidden_us.get(index, 0),
        )
        for func, index in position.items()
    ]
    return sorted(rows, key=lambda row: -row.total_us)


def select_call_tree(slice_: Slice, *, min_share: float, max_nodes: int, reading: Reading | None = None) -> PrunedTree:
    """Returns a slice's call tree: nodes whose total is at least `min_share` of its JS time, the heaviest `max_nodes`.

    Callers come before callees, and the caller of a kept node is kept.
    """
    code = load_symbols(slice_.project_id, as_stored=slice_.as_stored)
    whole, tree, rows = merge_named(slice_, code, reading)
    totals = total_us(tree)
    least = min_share * whole.time.js_us
    # A callee's total is never above its caller's, and callers come first, so the caller of a kept node is kept.
    heaviest = sorted((node for node, us in enumerate(totals) if us >= least), key=lambda node: (-totals[node], node))
    kept = sorted(heaviest[:max_nodes])
    index_of = {node: index for index, node in enumerate(kept)}
    used = sorted({tree.func[node] for node in kept})
    position = {func: index for index, func in enumerate(used)}
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
        funcs=[describe_row(code, rows[func]) for func in used],
        left_out_nodes=len(tree) - len(kept),
        left_out_us=sum(tree.self_us) - sum(pruned.self_us),
        display_rules=len(code.display),
    )
