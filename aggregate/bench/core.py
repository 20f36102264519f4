"""How fast the pure core is, on one core and without a database: decode alone, checked decode, and the whole fold."""

import gzip
import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from profcore.fold import CellFold, fold_trace
from profcore.funcs import FuncTable
from profcore.wire import Envelope, Limits, decode_envelope


@dataclass(frozen=True, slots=True)
class CoreResult:
    """Medians over the rounds; `ratio` is fold speed over decode-only speed within the same round."""

    traces: int
    body_bytes: int
    decode_per_s: float
    check_per_s: float
    fold_per_s: float
    ratio: float


def bench_core(envelopes: Iterable[dict[str, Any]], rounds: int) -> CoreResult:
    """Times gunzip and decode, the same with all checks, and the fold to hotspots and call trees, round by round."""
    bodies = [gzip.compress(json.dumps(envelope, separators=(",", ":")).encode(), 6) for envelope in envelopes]
    decoder = msgspec.json.Decoder(Envelope)
    limits = Limits()

    def decode() -> None:
        for body in bodies:
            decoder.decode(gzip.decompress(body))

    def check() -> None:
        for body in bodies:
            decode_envelope(gzip.decompress(body), limits)

    def fold() -> None:
        fold_bodies(bodies, limits)

    times = [[_time(work) for work in (decode, check, fold)] for _ in range(rounds)]
    per_s = [statistics.median(len(bodies) / row[column] for row in times) for column in range(3)]
    ratio = statistics.median(row[0] / row[2] for row in times)
    size = sum(len(gzip.decompress(body)) for body in bodies)
    return CoreResult(len(bodies), size, per_s[0], per_s[1], per_s[2], ratio)


def fold_bodies(bodies: Sequence[bytes], limits: Limits) -> dict[tuple[str, str], CellFold[tuple[str, str]]]:
    """Folds gzip bodies into one cell a release and page."""
    funcs = FuncTable()
    cells: dict[tuple[str, str], CellFold[tuple[str, str]]] = {}
    for body in bodies:
        envelope = decode_envelope(gzip.decompress(body), limits)
        key = (envelope.release, envelope.page or "/")
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = CellFold(key)
        fold = fold_trace(envelope, page=key[1], funcs=funcs)
        cell.add(envelope.viewId, fold, is_truncated=False)
    return cells


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
