"""Measures the processor time of reading vitals from raw traces, next to that of folding the same page views."""

import gzip
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ops.demo.recordings import FOLDER
from ops.demo.story import RELEASES
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.fold import ViewFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import read_marks
from profcore.trace.wire import Limits, decode_envelope
from profcore.vitals.forced_layout import sum_forced_layout
from profcore.vitals.window_sums import sum_windows, tile_samples
from profcore.vitals.windows import find_windows

PAGE: Final = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class VitalsCost:
    """Processor ms per recorded page view, by the pure twin."""

    views: int
    fold_ms: float
    windows_ms: float


def read_views() -> list[Sequence[bytes]]:
    """Returns the bodies of each recorded view of the shop."""
    views: dict[str, list[bytes]] = {}
    for release in RELEASES:
        for body in gzip.decompress((FOLDER / f"{release}.ndjson.gz").read_bytes()).splitlines():
            views.setdefault(str(decode_envelope(body, Limits()).viewId), []).append(body)
    return list(views.values())


def bench_vitals(views: Sequence[Sequence[bytes]]) -> VitalsCost:
    """Folds views, and reads their windows, once each."""
    funcs = FuncTable()
    fold_s = windows_s = 0.0
    for bodies in views:
        began_s = time.process_time()
        view = ViewFold()
        for body in bodies:
            fold = fold_trace(decode_envelope(body, Limits()), page=PAGE, funcs=funcs)
            view.add(fold, is_truncated=False)
        folded_s = time.process_time()
        traces = [
            ViewTrace(decode_envelope(body, Limits()), read_marks(body, page_url=None, page=PAGE)) for body in bodies
        ]
        timeline = build_timeline(traces, page=PAGE, funcs=funcs)
        times = tile_samples(timeline)
        sum_windows(timeline, find_windows(timeline.marks), times)
        sum_forced_layout(timeline, funcs.keys, times)
        windows_s += time.process_time() - folded_s
        fold_s += folded_s - began_s
    return VitalsCost(views=len(views), fold_ms=1_000 * fold_s / len(views), windows_ms=1_000 * windows_s / len(views))


def main() -> None:
    ArgumentParser(description=__doc__).parse_args()
    cost = bench_vitals(read_views())
    print(f"{cost.views:,} page views; per view {cost.fold_ms:.2f} ms to fold, {cost.windows_ms:.2f} ms to read vitals")
