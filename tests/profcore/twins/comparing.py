"""Both twins of the fold on the same bodies: what they answer, and all that they would write."""

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
import pytest

from ingest.endpoint.requests import expand
from profcore.errors import TraceError
from profcore.kernel import find_kernel
from profcore.sums.batch_sums import BatchSums, CompiledSums, HotspotColumns, Intervals, PureSums, ViewTotals
from profcore.sums.blobs import decode_contribution
from profcore.sums.fold import TraceFold
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits

MODULE: Final = find_kernel().module
needs_kernel: Final = pytest.mark.skipif(
    MODULE is None, reason=f"there is no compiled kernel: {find_kernel().why_pure}"
)
MAX_BYTES: Final = 100 * 2**20
VIEWS: Final = [UUID(int=number) for number in range(1, 4)]
CELLS: Final = ("one", "other")


class SentBody(NamedTuple):
    """A body as it would be stored."""

    body: bytes
    is_gzip: bool = False
    max_bytes: int = MAX_BYTES

    def expand(self) -> bytes:
        return expand(self.body, max_bytes=self.max_bytes) if self.is_gzip else self.body


class SentTrace(NamedTuple):
    """A body with its page, and the cell and view that it is added to."""

    body: SentBody
    page: str = "/cart"
    cell: str = CELLS[0]
    view_id: UUID = VIEWS[0]


def kernel_module() -> ModuleType:
    assert MODULE is not None  # `needs_kernel` skips tests without it
    return MODULE


class CountingSums(CompiledSums[str]):
    """Counts the traces that the kernel leaves to the pure fold."""

    def __init__(self, limits: Limits, *, max_bytes: int) -> None:
        super().__init__(kernel_module(), FuncTable(), limits, max_bytes=max_bytes)
        self.left = 0

    def add_fold(self, key: str, view_id: UUID, fold: TraceFold, *, is_truncated: bool) -> Intervals:
        self.left += 1
        return super().add_fold(key, view_id, fold, is_truncated=is_truncated)


@dataclass(slots=True)
class Written:
    """All that a batch writes. Views are written twice: as new ones, and as grown ones."""

    views: dict[tuple[str, UUID], ViewTotals] = field(default_factory=dict)
    contributions: dict[tuple[str, UUID], list[tuple[bytes, bytes]]] = field(default_factory=dict)
    hotspots: dict[int, HotspotColumns] = field(default_factory=dict)
    trees: dict[str, tuple[int, bytes, bytes]] = field(default_factory=dict)
    used: list[int] = field(default_factory=list)


def open_blob(blob: bytes) -> tuple[bytes, bytes]:
    """Returns the magic and the expanded body of a blob: the twins deflate equal bodies to different bytes."""
    return blob[:4], zlib.decompress(blob[4:])


def write(sums: BatchSums[str]) -> Written:
    """Returns what would be written. Ids descend while indexes ascend, so that order matters."""
    written = Written(used=sums.used())
    count = len(sums.funcs.keys)
    sums.settle([0 if index not in written.used else 1_000 + 7 * (count - index) for index in range(count)])
    for number, key in enumerate(sums.cells):
        for view_id, totals in sums.views(key).items():
            new = sums.grow(key, view_id, cell_id=number)
            # As if the view's traces had come twice: funcs that ran before count no view.
            grown = sums.grow(key, view_id, cell_id=number + 10, known=decode_contribution(new))
            written.views[key, view_id] = totals
            written.contributions[key, view_id] = [open_blob(new), open_blob(grown)]
        written.hotspots |= {cell_id: sums.hotspots(cell_id) for cell_id in (number, number + 10)}
        nodes, blob = sums.tree(key)
        written.trees[key] = nodes, *open_blob(blob)
    return written


def answer_of(sums: BatchSums[str], trace: SentTrace) -> tuple[object, ...]:
    """Returns the intervals of a trace, or its refusal."""
    try:
        return sums.add(trace.cell, trace.view_id, trace.body, page=trace.page, is_truncated=trace.page == "/")
    except TraceError as error:
        return error.reason, error.path, error.detail


class Compared(NamedTuple):
    """How many traces were folded, how many refused, and how many the kernel left to the pure fold."""

    folded: int
    refused: int
    left: int


def compare_twins(traces: Iterable[SentTrace], limits: Limits | None = None) -> Compared:
    """Folds traces as one batch by each twin. Fails if an answer or anything that is written differs."""
    limits = limits or Limits()
    traces = list(traces)
    max_bytes = min((trace.body.max_bytes for trace in traces), default=MAX_BYTES)
    pure, compiled = PureSums[str](FuncTable(), limits), CountingSums(limits, max_bytes=max_bytes)
    refused = 0
    for trace in traces:
        answer = answer_of(pure, trace)
        assert answer_of(compiled, trace) == answer
        refused += not isinstance(answer, Intervals)
    assert compiled.funcs.keys == pure.funcs.keys
    assert write(compiled) == write(pure)
    return Compared(len(traces) - refused, refused, compiled.left)


def packed(wire: object) -> SentBody:
    """Returns JSON as a browser sends it."""
    return SentBody(gzip.compress(msgspec.json.encode(wire)), is_gzip=True)
