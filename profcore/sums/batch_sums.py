"""The sums of a batch, by cell and view, and the parts of them that are written. There are two twins.

`PureSums` is the reference. `CompiledSums` does the same in the compiled kernel (packages/fieldflame-kernel), without a
Python object per sample, stack or func. Whatever the kernel does not plainly accept it leaves to the pure fold of that
trace. So reasons of refusals come from one place, and both kinds of traces meet in one view and cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

import numpy as np

from profcore.sums.blobs import Contribution, EncodedTree, encode_contribution, encode_counted
from profcore.sums.fold import (
    FUNC_SUM_NAMES,
    CellFold,
    TraceFold,
    contribution_of,
    fold_trace,
    map_tree,
    merge_contributions,
)
from profcore.trace.dimensions import CACHES, NAVIGATIONS
from profcore.trace.funcs import SNIPPET_FUNCTIONS, FuncTable
from profcore.trace.weights import TIME_PART_NAMES, TimeParts
from profcore.trace.wire import Limits, decode_envelope

Key = TypeVar("Key")
# The columns of what views add to the hotspots of a cell: the sums of a func, and the views that ran it.
HOTSPOT_COLUMNS: Final = (*FUNC_SUM_NAMES, "views")
MICROSECONDS: Final = sum(name.endswith("_us") for name in TIME_PART_NAMES)  # of a view's parts; then samples


class Body(Protocol):
    """A trace's body as it is stored."""

    @property
    def is_gzip(self) -> bool: ...
    @property
    def body(self) -> bytes: ...

    def expand(self) -> bytes:
        """Returns the body expanded. Raises `TraceError`."""


class Intervals(NamedTuple):
    """The measured interval of a trace, None if no two samples differ in time, and the one in use; µs."""

    measured_us: int | None
    used_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTotals:
    """The additions to a view, without its funcs."""

    parts: TimeParts
    marker_us: list[int] | None
    traces: int
    is_truncated: bool


class HotspotColumns(NamedTuple):
    """The additions to the hotspots of one cell: func ids in order, and `HOTSPOT_COLUMNS`."""

    func: list[int]
    columns: list[list[int]]


class BatchSums(Protocol[Key]):
    """The sums of a batch. First traces are added, then ids are settled, then what is written is read."""

    funcs: FuncTable

    def add(self, key: Key, view_id: UUID, body: Body, *, page: str, is_truncated: bool) -> Intervals:
        """Folds a trace of a view of a cell. Raises `TraceError`, or an error of ours; then nothing is added."""

    def add_fold(self, key: Key, view_id: UUID, fold: TraceFold, *, is_truncated: bool) -> Intervals:
        """Adds a trace that was folded elsewhere, over the func indexes of `funcs`."""

    @property
    def cells(self) -> Sequence[Key]:
        """The cells that traces were added to."""

    def used(self) -> list[int]:
        """Returns the func indexes with any time, in order."""

    def settle(self, id_of: Sequence[int]) -> None:
        """Sets the stored id of each func index, and forgets what `grow` has added to hotspots."""

    def views(self, key: Key) -> Mapping[UUID, ViewTotals]:
        """Returns the views of a cell."""

    def grow(self, key: Key, view_id: UUID, *, cell_id: int, known: Contribution | None = None) -> bytes:
        """Returns a view's new contribution as a blob: what the batch adds, and what was `known`.

        The difference is added to the hotspots of the cell with this id.
        """

    def hotspots(self, cell_id: int) -> HotspotColumns:
        """Returns what `grow` has added to the hotspots of a cell."""

    def tree(self, key: Key) -> EncodedTree:
        """Returns the call tree that the batch adds to a cell."""


class PureSums(BatchSums[Key]):
    """The reference, in Python."""

    def __init__(self, funcs: FuncTable, limits: Limits) -> None:
        self.funcs = funcs
        self._limits = limits
        self._cells: dict[Key, CellFold[Key]] = {}
        self._id_of: Sequence[int] = ()
        self._grown: dict[int, list[HotspotColumns]] = {}  # by cell, what each of its views adds

    def add(self, key: Key, view_id: UUID, body: Body, *, page: str, is_truncated: bool) -> Intervals:
        fold = fold_trace(decode_envelope(body.expand(), self._limits), page=page, funcs=self.funcs)
        return self.add_fold(key, view_id, fold, is_truncated=is_truncated)

    def add_fold(self, key: Key, view_id: UUID, fold: TraceFold, *, is_truncated: bool) -> Intervals:
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = CellFold(key)
        cell.add(view_id, fold, is_truncated=is_truncated)
        return Intervals(fold.measured_interval_us, fold.interval_us)

    @property
    def cells(self) -> Sequence[Key]:
        return list(self._cells)

    def used(self) -> list[int]:
        views = (view for cell in self._cells.values() for view in cell.views.values())
        return sorted({index for view in views for index in view.sums.funcs()})

    def settle(self, id_of: Sequence[int]) -> None:
        self._id_of = id_of
        self._grown = {}

    def views(self, key: Key) -> Mapping[UUID, ViewTotals]:
        return {
            view_id: ViewTotals(
                parts=view.parts, marker_us=view.marker_us, traces=view.traces, is_truncated=view.is_truncated
            )
            for view_id, view in self._cells[key].views.items()
        }

    def grow(self, key: Key, view_id: UUID, *, cell_id: int, known: Contribution | None = None) -> bytes:
        added = contribution_of(self._cells[key].views[view_id].sums, self._id_of)
        ran_before = known.funcs_run() if known is not None else frozenset()
        views = [
            int(count > 0 and func_id not in ran_before)
            for func_id, count in zip(added.func, added.total_samples, strict=True)
        ]
        columns = [*(getattr(added, name) for name in FUNC_SUM_NAMES), views]
        self._grown.setdefault(cell_id, []).append(HotspotColumns(added.func, columns))
        return encode_contribution(added if known is None else merge_contributions(known, added))

    def hotspots(self, cell_id: int) -> HotspotColumns:
        grown = self._grown.get(cell_id, [])
        ids = np.array(sorted({func_id for view in grown for func_id in view.func}), dtype=np.int64)
        sums = np.zeros((len(HOTSPOT_COLUMNS), ids.size), dtype=np.int64)
        for view in grown:  # which has each func once
            sums[:, np.searchsorted(ids, view.func)] += np.array(view.columns, dtype=np.int64)
        return HotspotColumns(ids.tolist(), sums.tolist())

    def tree(self, key: Key) -> EncodedTree:
        return encode_counted(map_tree(self._cells[key].tree.tree, self._id_of))


class CompiledSums(BatchSums[Key]):
    """The same by the compiled kernel."""

    def __init__(self, module: ModuleType, funcs: FuncTable, limits: Limits, *, max_bytes: int) -> None:
        self.funcs = funcs
        self._limits = limits
        self._place_of: dict[Key, int] = {}  # of each cell, in the kernel
        # Any: the module may be absent where types are checked.
        words = list(NAVIGATIONS[1:]), list(CACHES[1:])
        self._kernel: Any = module.Kernel(funcs, limits, max_bytes, *words, SNIPPET_FUNCTIONS)

    def add(self, key: Key, view_id: UUID, body: Body, *, page: str, is_truncated: bool) -> Intervals:
        place = self._place_of.get(key, len(self._place_of))
        intervals = self._kernel.add_body(body.body, body.is_gzip, page, place, view_id.bytes, is_truncated)
        if intervals is None:
            fold = fold_trace(decode_envelope(body.expand(), self._limits), page=page, funcs=self.funcs)
            return self.add_fold(key, view_id, fold, is_truncated=is_truncated)
        self._place_of[key] = place
        return Intervals(*intervals)

    def add_fold(self, key: Key, view_id: UUID, fold: TraceFold, *, is_truncated: bool) -> Intervals:
        parts = [getattr(fold.parts, name) for name in TIME_PART_NAMES]
        columns = [getattr(fold.sums, name) for name in FUNC_SUM_NAMES]
        funcs = sorted(fold.sums.funcs())
        place = self._place_of.get(key, len(self._place_of))
        self._kernel.add_fold(
            place,
            view_id.bytes,
            is_truncated,
            (parts[:MICROSECONDS], parts[MICROSECONDS:]),
            fold.marker_us,
            (fold.prefix, fold.func, fold.stack_us, fold.stack_samples, fold.stack_hidden_us),
            (funcs, [[column.get(index, 0) for index in funcs] for column in columns]),
        )
        self._place_of[key] = place
        return Intervals(fold.measured_interval_us, fold.interval_us)

    @property
    def cells(self) -> Sequence[Key]:
        return list(self._place_of)

    def used(self) -> list[int]:
        used: list[int] = self._kernel.used()
        return used

    def settle(self, id_of: Sequence[int]) -> None:
        self._kernel.settle(id_of)

    def views(self, key: Key) -> Mapping[UUID, ViewTotals]:
        return {
            UUID(bytes=bytes(view_id)): ViewTotals(
                parts=TimeParts(*parts), marker_us=marker_us, traces=traces, is_truncated=is_truncated
            )
            for view_id, parts, marker_us, traces, is_truncated in self._kernel.views(self._place_of[key])
        }

    def grow(self, key: Key, view_id: UUID, *, cell_id: int, known: Contribution | None = None) -> bytes:
        columns = None if known is None else (known.func, [getattr(known, name) for name in FUNC_SUM_NAMES])
        blob: bytes = self._kernel.grow(self._place_of[key], view_id.bytes, cell_id, columns)
        return blob

    def hotspots(self, cell_id: int) -> HotspotColumns:
        return HotspotColumns(*self._kernel.hotspots(cell_id))

    def tree(self, key: Key) -> EncodedTree:
        return EncodedTree(*self._kernel.tree(self._place_of[key]))


def open_sums(module: ModuleType | None, funcs: FuncTable, limits: Limits, *, max_bytes: int) -> BatchSums[Any]:
    """Returns empty sums of a batch: of the kernel, or of the pure twin if `module` is None.

    `max_bytes` bounds an expanded body; bodies that are larger expand with an error.
    """
    if module is None:
        return PureSums(funcs, limits)
    return CompiledSums(module, funcs, limits, max_bytes=max_bytes)
