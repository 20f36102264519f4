"""The processor time of reading vitals from raw traces, and what keeping their sums would take in the fold."""

import gzip
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.demo.recordings import FOLDER
from config.demo.story import RELEASES
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.blobs import encode_contribution
from profcore.sums.fold import FuncSums, ViewFold, contribution_of, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.marks import read_marks
from profcore.trace.wire import Limits, decode_envelope
from profcore.vitals.window_sums import sum_windows
from profcore.vitals.windows import find_windows

# Its parts tile it, so it would not be kept beside them.
NOT_KEPT: Final = "interaction"
PAGE: Final = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class VitalsCost:
    """Means over recorded views: the bytes of a view's sums, and processor ms, by the pure twin."""

    views: int
    traces: int
    contribution_bytes: float
    window_bytes: float
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
    contribution_bytes = window_bytes = 0
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
        found = sum_windows(timeline, find_windows(timeline.marks))
        windows_s += time.process_time() - folded_s
        fold_s += folded_s - began_s
        contribution_bytes += _measure(view.sums, funcs)
        window_bytes += sum(_measure(own.sums, funcs) for window, own in found.items() if window != NOT_KEPT)
    return VitalsCost(
        views=len(views),
        traces=sum(map(len, views)),
        contribution_bytes=contribution_bytes / len(views),
        window_bytes=window_bytes / len(views),
        fold_ms=1_000 * fold_s / len(views),
        windows_ms=1_000 * windows_s / len(views),
    )


def _measure(sums: FuncSums, funcs: FuncTable) -> int:
    return len(encode_contribution(contribution_of(sums, range(len(funcs.keys)))))


def describe_vitals(cost: VitalsCost) -> str:
    """Returns the result as lines."""
    return "\n".join(
        [
            f"{cost.views:,} views of {cost.traces:,} traces, per view, pure twin",
            f"  fold                {cost.fold_ms:7.2f} ms  {cost.contribution_bytes:7.0f} bytes of sums",
            f"  windows of vitals   {cost.windows_ms:7.2f} ms  {cost.window_bytes:7.0f} bytes, if they were kept",
        ]
    )
