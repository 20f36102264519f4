"""Measures what the largest traces that are designed to be expensive cost to check and to fold, by their shape."""

import gzip
import math
import time
from argparse import ArgumentParser
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from ingest.limits import envelope_limits
from profcore.kernel import find_kernel
from profcore.sums.batch_sums import open_sums
from profcore.sums.fold import CellFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.hostile.shapes import SHAPES, TraceShape, make_largest

HEAD: Final = "shape                        sent  expanded    checks      fold  fold/byte  compiled, half of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileCost:
    """A trace's bytes as posted and expanded; processor seconds of its checks and its fold.

    The compiled twin gunzips, checks and folds at once; its time is that of the trace, and of one half as long and half
    as deep. They are not numbers where it is not built.
    """

    shape: str
    sent_bytes: int
    expanded_bytes: int
    check_s: float
    fold_s: float
    compiled_s: float
    half_compiled_s: float

    @property
    def fold_us_per_byte(self) -> float:
        return self.fold_s * 1e6 / self.sent_bytes


def bench_hostile(limits: Limits) -> list[HostileCost]:
    """Returns the cost of each shape at the limits, most expensive first."""
    return sorted((measure_shape(shape, limits) for shape in SHAPES), key=lambda cost: -cost.fold_s)


def measure_shape(shape: TraceShape, limits: Limits) -> HostileCost:
    body = msgspec.json.encode(make_largest(shape, limits))
    check_s, fold_s = _take(body, limits)
    return HostileCost(
        shape=shape.__name__,
        sent_bytes=len(gzip.compress(body)),
        expanded_bytes=len(body),
        check_s=check_s,
        fold_s=fold_s,
        compiled_s=_time_compiled(body, limits),
        half_compiled_s=_time_compiled(msgspec.json.encode(make_largest(shape, limits, part=2)), limits),
    )


class _GzipBody(NamedTuple):
    body: bytes
    is_gzip: bool = True

    def expand(self) -> bytes:
        raise AssertionError("the kernel leaves the trace to the pure twin")


def _time_compiled(body: bytes, limits: Limits) -> float:
    kernel = find_kernel().module
    if kernel is None:
        return math.nan
    packed = _GzipBody(gzip.compress(body))
    started = time.process_time()
    sums = open_sums(kernel, FuncTable(), limits, max_bytes=len(body))
    sums.add("cell", UUID(int=1), packed, page="/", is_truncated=False)
    return time.process_time() - started


def _take(body: bytes, limits: Limits) -> tuple[float, float]:
    """Checks and folds a body by the pure twin; returns the processor time of each."""
    started = time.process_time()
    envelope = decode_envelope(body, limits)
    checked = time.process_time()
    cell = CellFold("cell")
    cell.add(envelope.viewId, fold_trace(envelope, page="/", funcs=FuncTable()), is_truncated=False)
    return checked - started, time.process_time() - checked


def describe(cost: HostileCost) -> str:
    """Returns a line below `HEAD`."""
    return (
        f"{cost.shape:24s} {cost.sent_bytes / 1e3:5,.0f} kB {cost.expanded_bytes / 1e6:6.1f} MB"
        f" {cost.check_s:7.2f} s {cost.fold_s:7.2f} s {cost.fold_us_per_byte:7.2f} µs"
        f" {cost.compiled_s:11.3f} s {cost.half_compiled_s:8.3f} s"
    )


def main() -> None:
    ArgumentParser(description=__doc__).parse_args()
    print("\n".join([HEAD, *map(describe, bench_hostile(envelope_limits()))]))
