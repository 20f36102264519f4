"""The fold: from a decoded envelope to the sums it adds to its view, its cell and its call tree. Values only."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import compress, repeat
from typing import Final, Generic, TypeVar
from uuid import UUID

from profcore.sums.blobs import Contribution
from profcore.sums.calltree import CallTree, CallTreeBuilder, find_topmost
from profcore.trace.funcs import FuncTable, clean_url, find_profiler_work
from profcore.trace.hidden import attribute_runs, skip_profiler
from profcore.trace.mark_types import read_frames
from profcore.trace.weights import TimeParts, busy_ranges, frame_ranges, to_us, weigh
from profcore.trace.wire import Envelope

Key = TypeVar("Key")

# Stored with every row a fold writes. Raise it with every change of a rule that changes a sum.
# 2: hidden time is attributed to call nodes and funcs.
# 3: long animation frames tell hidden time from the engine's, and what only one stack says is uncertain.
# 4: what ends in the snippet, or in what it called, is the profiler's own work.
# 5: so are hidden samples in its script, and it is nobody's caller. What a page could claim to be it is bounded.
#    Time without a stack while a long animation frame is rendered is the engine's, outside long tasks too.
FOLD_VERSION: Final = 5


@dataclass(slots=True, kw_only=True)
class FuncSums:
    """Sums by func index of a batch's `FuncTable`: µs and samples, self and total (once per sample).

    Hidden time is in neither: `hidden_us` was attributed to the func itself, `hidden_total_us` to it or its callees.
    `uncertain_us` is hidden time that may be the func's or its callees', and as well the engine's: it is in neither.
    Funcs without JS have only such time (callers of the profiler's own built-ins).
    """

    self_us: dict[int, int] = field(default_factory=dict)
    total_us: dict[int, int] = field(default_factory=dict)
    self_samples: dict[int, int] = field(default_factory=dict)
    total_samples: dict[int, int] = field(default_factory=dict)
    hidden_us: dict[int, int] = field(default_factory=dict)
    hidden_total_us: dict[int, int] = field(default_factory=dict)
    uncertain_us: dict[int, int] = field(default_factory=dict)

    def funcs(self) -> set[int]:
        """Returns all funcs with any time."""
        return self.total_us.keys() | self.hidden_total_us.keys() | self.uncertain_us.keys()


FUNC_SUM_NAMES: Final = tuple(column.name for column in fields(FuncSums))


@dataclass(slots=True, kw_only=True)
class TraceFold:
    """A folded trace: the parts of its time, the sums of its funcs, and its stacks over the batch's func indexes.

    `interval_us` is the interval in use, `measured_interval_us` the median gap above zero.
    """

    parts: TimeParts
    marker_us: list[int] | None
    measured_interval_us: int | None
    interval_us: int
    sums: FuncSums
    prefix: Sequence[int]
    func: list[int]
    stack_us: list[int]
    stack_samples: list[int]
    stack_hidden_us: list[int]


def fold_trace(envelope: Envelope, *, page: str, funcs: FuncTable) -> TraceFold:
    """Folds an envelope with checked ids. `page` is the stored route; new funcs are interned into `funcs`."""
    trace = envelope.trace
    page_url = clean_url(envelope.url) if envelope.url else None
    index_of_frame = funcs.intern_frames(trace, page_url=page_url, page=page)
    frame = [stack.frameId for stack in trace.stacks]
    func = [index_of_frame[number] for number in frame]
    frames = read_frames(envelope.marks)
    profiler = find_profiler_work(trace, envelope.snippet, None if frames is None else frames.scripts)
    callers = [-1 if (parent := stack.parentId) is None else parent for stack in trace.stacks]
    prefix = skip_profiler(callers, profiler.stacks)
    weighed = weigh(
        trace.samples,
        stack_count=len(prefix),
        profiler_stacks=profiler.stacks,
        interval_us=to_us(envelope.sampleInterval),
        busy=busy_ranges(envelope.marks),
        frames=frame_ranges(frames),
        own_scripts=profiler.scripts,
    )
    attributed = attribute_runs(weighed.hidden_runs, prefix, func, profiler.stacks, has_frames=frames is not None)
    placed = place_frames(prefix, frame, index_of_frame)
    sums = sum_placed(prefix, placed, weighed.stack_us, weighed.stack_samples, attributed.hidden_us)
    for index, us in compress(zip(func, attributed.uncertain_us, strict=True), attributed.uncertain_us):
        sums.uncertain_us[index] = sums.uncertain_us.get(index, 0) + us
    return TraceFold(
        parts=weighed.parts,
        marker_us=weighed.marker_us,
        measured_interval_us=weighed.measured_interval_us,
        interval_us=weighed.interval_us,
        sums=sums,
        prefix=prefix,
        func=func,
        stack_us=weighed.stack_us,
        stack_samples=weighed.stack_samples,
        stack_hidden_us=attributed.hidden_us,
    )


@dataclass(frozen=True, slots=True)
class PlacedFuncs:
    """The distinct funcs of a prefix tree (`keys`), and of each stack the place of its func and if it is topmost."""

    keys: Sequence[int]
    places: Sequence[int]
    topmost: Sequence[bool]


def place_funcs(prefix: Sequence[int], func: Sequence[int]) -> PlacedFuncs:
    """Returns the funcs of a prefix tree, for several sums over it."""
    keys = list(dict.fromkeys(func))
    place_of = {index: place for place, index in enumerate(keys)}
    places = [place_of[index] for index in func]
    return PlacedFuncs(keys, places, find_topmost(prefix, places, len(keys)))


def place_frames(prefix: Sequence[int], frame: Sequence[int], index_of_frame: Sequence[int]) -> PlacedFuncs:
    """Returns the funcs of a trace's stacks. Where each frame is a func of its own, the frames are the places."""
    if len(set(index_of_frame)) == len(index_of_frame):
        return PlacedFuncs(index_of_frame, frame, find_topmost(prefix, frame, len(index_of_frame)))
    return place_funcs(prefix, [index_of_frame[number] for number in frame])


def sum_by_func(
    prefix: Sequence[int],
    func: Sequence[int],
    self_us: Sequence[int],
    self_samples: Sequence[int],
    hidden_us: Sequence[int],
) -> FuncSums:
    """Sums a prefix tree by func: self where it is the leaf, total once per sample, at its topmost call.

    The same holds for hidden time: self where it was attributed, total once, at the func's topmost call.
    """
    return sum_placed(prefix, place_funcs(prefix, func), self_us, self_samples, hidden_us)


def sum_placed(
    prefix: Sequence[int],
    placed: PlacedFuncs,
    self_us: Sequence[int],
    self_samples: Sequence[int],
    hidden_us: Sequence[int],
) -> FuncSums:
    """Returns what `sum_by_func` does, for a tree whose funcs were placed before."""
    keys, places, topmost = placed.keys, placed.places, placed.topmost
    top_us, top_samples, top_hidden, all_us, all_samples, all_hidden = ([0] * len(keys) for _ in range(6))
    # Totals by stack. The extra last slot is for the prefix of roots, -1, and saves a branch.
    below_us, below_samples, below_hidden = [*self_us, 0], [*self_samples, 0], [*hidden_us, 0]
    for stack in range(len(prefix) - 1, -1, -1):
        parent, place, is_topmost = prefix[stack], places[stack], topmost[stack]
        if count := below_samples[stack]:
            us = below_us[stack]
            below_us[parent] += us
            below_samples[parent] += count
            if is_topmost:
                all_us[place] += us
                all_samples[place] += count
            if top_count := self_samples[stack]:
                top_us[place] += self_us[stack]
                top_samples[place] += top_count
        if us := below_hidden[stack]:
            below_hidden[parent] += us
            top_hidden[place] += hidden_us[stack]
            if is_topmost:
                all_hidden[place] += us
    return FuncSums(
        self_us=dict(compress(zip(keys, top_us, strict=True), top_samples)),
        total_us=dict(compress(zip(keys, all_us, strict=True), all_samples)),
        self_samples=dict(compress(zip(keys, top_samples, strict=True), top_samples)),
        total_samples=dict(compress(zip(keys, all_samples, strict=True), all_samples)),
        hidden_us=dict(compress(zip(keys, top_hidden, strict=True), top_hidden)),
        hidden_total_us=dict(compress(zip(keys, all_hidden, strict=True), all_hidden)),
    )


def add_markers(into: list[int] | None, more: list[int] | None) -> list[int] | None:
    """Adds marker totals; None means that no sample carried a marker."""
    if more is None:
        return into
    if into is None:
        return list(more)
    return [a + b for a, b in zip(into, more, strict=True)]


@dataclass(slots=True, kw_only=True)
class ViewFold:
    """The sums that the traces of one batch add to one view."""

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
        # Most views have one trace in a batch. Its sums are shared, not copied: adding creates new ones.
        self.sums = fold.sums if self.traces == 1 else add_sums(self.sums, fold.sums)


def add_sums(first: FuncSums, second: FuncSums) -> FuncSums:
    """Returns the sums of two traces of a view."""
    columns = {}
    for name in FUNC_SUM_NAMES:
        column = dict(getattr(first, name))
        for index, value in getattr(second, name).items():
            column[index] = column.get(index, 0) + value
        columns[name] = column
    return FuncSums(**columns)


@dataclass(slots=True)
class CellFold(Generic[Key]):
    """The sums that a batch adds to one cell: views by id, and one call tree over the batch's func indexes."""

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
    """Returns sums as a contribution: `id_of` gives the dense id of each batch index."""
    index_of = {id_of[index]: index for index in sums.funcs()}
    ids = sorted(index_of)
    order = [index_of[func_id] for func_id in ids]

    def ordered(column: dict[int, int]) -> list[int]:
        return list(map(column.get, order, repeat(0)))

    return Contribution(
        func=ids,
        self_us=ordered(sums.self_us),
        total_us=ordered(sums.total_us),
        hidden_us=ordered(sums.hidden_us),
        self_samples=ordered(sums.self_samples),
        total_samples=ordered(sums.total_samples),
        hidden_total_us=ordered(sums.hidden_total_us),
        uncertain_us=ordered(sums.uncertain_us),
    )


def merge_contributions(first: Contribution, second: Contribution) -> Contribution:
    """Returns the sum of two contributions of one view. Commutative and associative."""
    rows: dict[int, list[int]] = {}
    for part in (first, second):
        columns = [getattr(part, name) for name in FUNC_SUM_NAMES]
        for position, func_id in enumerate(part.func):
            values = [column[position] for column in columns]
            known = rows.get(func_id)
            rows[func_id] = values if known is None else [a + b for a, b in zip(known, values, strict=True)]
    ordered = sorted(rows)
    sums = {name: [rows[func_id][at] for func_id in ordered] for at, name in enumerate(FUNC_SUM_NAMES)}
    return Contribution(func=ordered, **sums)


def map_tree(tree: CallTree, id_of: Sequence[int]) -> CallTree:
    """Returns the tree with dense ids: `id_of` gives the one of each batch index."""
    return CallTree(tree.prefix, [id_of[index] for index in tree.func], tree.self_us, tree.self_samples, tree.hidden_us)
