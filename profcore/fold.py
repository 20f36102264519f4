"""The fold: from a decoded envelope to what it adds to its view, its cell and its call tree. Values only."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar
from uuid import UUID

from profcore.blobs import Contribution
from profcore.calltree import CallTree, CallTreeBuilder, find_topmost
from profcore.funcs import FuncTable, clean_url, is_profiler, read_func_keys
from profcore.hidden import attribute_runs
from profcore.weights import TimeParts, busy_ranges, to_us, weigh
from profcore.wire import Envelope

Key = TypeVar("Key")

# Goes with every row a fold writes; a change of any rule that changes a sum raises it.
# 2: hidden time is attributed to call nodes and funcs.
FOLD_VERSION: Final = 2


@dataclass(slots=True)
class FuncSums:
    """Sums by func index of a batch's `FuncTable`: µs and samples, self and total (once per sample).

    Hidden time is in neither: `hidden_us` was given to the func itself, `hidden_total_us` to it or to what it called.
    Funcs without JS have hidden time alone (callers of the profiler's own built-ins).
    """

    self_us: dict[int, int] = field(default_factory=dict)
    total_us: dict[int, int] = field(default_factory=dict)
    self_samples: dict[int, int] = field(default_factory=dict)
    total_samples: dict[int, int] = field(default_factory=dict)
    hidden_us: dict[int, int] = field(default_factory=dict)
    hidden_total_us: dict[int, int] = field(default_factory=dict)

    def funcs(self) -> set[int]:
        """Returns all funcs that have anything."""
        return self.total_us.keys() | self.hidden_total_us.keys()


@dataclass(slots=True)
class TraceFold:
    """One trace, folded: the parts of its time, its funcs' sums, its stacks over the batch's func indexes."""

    parts: TimeParts
    marker_us: list[int] | None
    measured_interval_us: int | None
    sums: FuncSums
    prefix: list[int]
    func: list[int]
    stack_us: list[int]
    stack_samples: list[int]
    stack_hidden_us: list[int]


def fold_trace(envelope: Envelope, *, page: str, funcs: FuncTable) -> TraceFold:
    """Folds one envelope whose ids were checked. `page` is the stored route; new funcs are interned into `funcs`."""
    trace = envelope.trace
    page_url = clean_url(envelope.url) if envelope.url else None
    keys = read_func_keys(trace, page_url=page_url, page=page)
    index_of_frame = funcs.intern_all(keys)
    own_frames = [is_profiler(key) for key in keys]
    prefix = [-1 if stack.parentId is None else stack.parentId for stack in trace.stacks]
    func = [index_of_frame[stack.frameId] for stack in trace.stacks]
    profiler_stacks = [own_frames[stack.frameId] for stack in trace.stacks]
    weighed = weigh(
        trace.samples,
        stack_count=len(prefix),
        profiler_stacks=profiler_stacks,
        interval_us=max(to_us(envelope.sampleInterval), 1),
        busy=busy_ranges(envelope.marks),
    )
    hidden_us = attribute_runs(weighed.hidden_runs, prefix, func, profiler_stacks)
    sums = sum_by_func(prefix, func, weighed.stack_us, weighed.stack_samples, hidden_us)
    return TraceFold(
        weighed.parts,
        weighed.marker_us,
        weighed.measured_interval_us,
        sums,
        prefix,
        func,
        weighed.stack_us,
        weighed.stack_samples,
        hidden_us,
    )


def sum_by_func(
    prefix: Sequence[int],
    func: Sequence[int],
    self_us: Sequence[int],
    self_samples: Sequence[int],
    hidden_us: Sequence[int],
) -> FuncSums:
    """Sums a prefix tree by func: self where it is the leaf, total once per sample, at its topmost call.

    Hidden time likewise: where it was given, and in all once, at the func's topmost call.
    """
    subtree_us, subtree_samples, subtree_hidden = list(self_us), list(self_samples), list(hidden_us)
    for stack in range(len(prefix) - 1, -1, -1):
        parent = prefix[stack]
        if parent >= 0:
            subtree_us[parent] += subtree_us[stack]
            subtree_samples[parent] += subtree_samples[stack]
            subtree_hidden[parent] += subtree_hidden[stack]
    local = {index: position for position, index in enumerate(dict.fromkeys(func))}
    topmost = find_topmost(prefix, [local[index] for index in func], len(local))
    sums = FuncSums()
    for stack, index in enumerate(func):
        if subtree_samples[stack]:
            if self_samples[stack]:
                sums.self_us[index] = sums.self_us.get(index, 0) + self_us[stack]
                sums.self_samples[index] = sums.self_samples.get(index, 0) + self_samples[stack]
            if topmost[stack]:
                sums.total_us[index] = sums.total_us.get(index, 0) + subtree_us[stack]
                sums.total_samples[index] = sums.total_samples.get(index, 0) + subtree_samples[stack]
        if subtree_hidden[stack]:
            if hidden_us[stack]:
                sums.hidden_us[index] = sums.hidden_us.get(index, 0) + hidden_us[stack]
            if topmost[stack]:
                sums.hidden_total_us[index] = sums.hidden_total_us.get(index, 0) + subtree_hidden[stack]
    return sums


def add_markers(into: list[int] | None, more: list[int] | None) -> list[int] | None:
    """Adds marker totals; None means that no sample carried a marker."""
    if more is None:
        return into
    if into is None:
        return list(more)
    return [a + b for a, b in zip(into, more, strict=True)]


@dataclass(slots=True)
class ViewFold:
    """What the traces of one view in one batch add to it."""

    parts: TimeParts = field(default_factory=TimeParts)
    marker_us: list[int] | None = None
    traces: int = 0
    is_truncated: bool = False
    sums: FuncSums = field(default_factory=FuncSums)

    def add(self, fold: TraceFold, *, is_truncated: bool) -> None:
        """Adds one more trace of the view."""
        self.parts.add(fold.parts)
        self.marker_us = add_markers(self.marker_us, fold.marker_us)
        self.traces += 1
        self.is_truncated = self.is_truncated or is_truncated
        for into, more in (
            (self.sums.self_us, fold.sums.self_us),
            (self.sums.total_us, fold.sums.total_us),
            (self.sums.self_samples, fold.sums.self_samples),
            (self.sums.total_samples, fold.sums.total_samples),
            (self.sums.hidden_us, fold.sums.hidden_us),
            (self.sums.hidden_total_us, fold.sums.hidden_total_us),
        ):
            for index, value in more.items():
                into[index] = into.get(index, 0) + value


@dataclass(slots=True)
class CellFold(Generic[Key]):
    """What a batch adds to one cell: its views by id, and one call tree over the batch's func indexes."""

    key: Key
    views: dict[UUID, ViewFold] = field(default_factory=dict)
    tree: CallTreeBuilder = field(default_factory=CallTreeBuilder)

    def add(self, view_id: UUID, fold: TraceFold, *, is_truncated: bool) -> None:
        """Adds one trace of a view of this cell."""
        view = self.views.get(view_id)
        if view is None:
            view = self.views[view_id] = ViewFold()
        view.add(fold, is_truncated=is_truncated)
        self.tree.add_stacks(fold.prefix, fold.func, fold.stack_us, fold.stack_samples, fold.stack_hidden_us)


def contribution_of(sums: FuncSums, id_of: Sequence[int]) -> Contribution:
    """Returns the contribution of sums, with the dense ids of `id_of` in place of batch indexes."""
    rows = sorted((id_of[index], index) for index in sums.funcs())
    return Contribution(
        [func_id for func_id, _ in rows],
        [sums.self_us.get(index, 0) for _, index in rows],
        [sums.total_us.get(index, 0) for _, index in rows],
        [sums.hidden_us.get(index, 0) for _, index in rows],
        [sums.self_samples.get(index, 0) for _, index in rows],
        [sums.total_samples.get(index, 0) for _, index in rows],
        [sums.hidden_total_us.get(index, 0) for _, index in rows],
    )


def merge_contributions(first: Contribution, second: Contribution) -> Contribution:
    """Returns the sum of two contributions of one view. Commutative and associative."""
    rows: dict[int, list[int]] = {}
    for part in (first, second):
        columns = (
            part.self_us,
            part.total_us,
            part.hidden_us,
            part.self_samples,
            part.total_samples,
            part.hidden_total_us,
        )
        for position, func_id in enumerate(part.func):
            values = [column[position] for column in columns]
            known = rows.get(func_id)
            rows[func_id] = values if known is None else [a + b for a, b in zip(known, values, strict=True)]
    ordered = sorted(rows)
    columns_out = [[rows[func_id][position] for func_id in ordered] for position in range(6)]
    return Contribution(ordered, *columns_out)


def map_tree(tree: CallTree, id_of: Sequence[int]) -> CallTree:
    """Returns the tree with the dense ids of `id_of` in place of batch indexes."""
    return CallTree(tree.prefix, [id_of[index] for index in tree.func], tree.self_us, tree.self_samples, tree.hidden_us)
