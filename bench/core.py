"""The speed of the pure core, on one processor core and without a database: decode, checked decode, and the fold."""

import gzip
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from profcore.kernel import find_kernel
from profcore.sums.fold import CellFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.posted import CompiledCheck
from profcore.trace.wire import Envelope, Limits, decode_envelope

MAX_BODY_BYTES: Final = 4 * 2**20  # expanded: larger ones are left to the pure twin


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreResult:
    """Medians over the rounds; `ratio` is fold speed over decode-only speed within the same round."""

    traces: int
    body_bytes: int
    decode_per_s: float
    check_per_s: float
    compiled_check_per_s: float  # by the compiled kernel, not a number if it is not built
    fold_per_s: float
    ratio: float


def bench_core(envelopes: Iterable[dict[str, Any]], rounds: int) -> CoreResult:
    """Returns the times of gunzip and decode, of the same with all checks, and of the fold, measured in rounds."""
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

    kernel = find_kernel().module
    compiled = CompiledCheck(kernel, limits, max_bytes=MAX_BODY_BYTES) if kernel else None

    def check_compiled() -> None:
        for body in bodies if compiled else ():
            assert compiled is not None
            assert compiled.check(body) is not None, "the kernel leaves a trace to the pure twin"

    works = (decode, check, fold, check_compiled)
    times = [[_time(work) for work in works] for _ in range(rounds)]
    per_s = [statistics.median(len(bodies) / row[column] for row in times) for column in range(len(works))]
    ratio = statistics.median(row[0] / row[2] for row in times)
    size = sum(len(gzip.decompress(body)) for body in bodies)
    return CoreResult(
        traces=len(bodies),
        body_bytes=size,
        decode_per_s=per_s[0],
        check_per_s=per_s[1],
        compiled_check_per_s=per_s[3] if kernel else math.nan,
        fold_per_s=per_s[2],
        ratio=ratio,
    )


def fold_bodies(bodies: Sequence[bytes], limits: Limits) -> dict[tuple[str, str], CellFold[tuple[str, str]]]:
    """Returns gzip bodies folded into one cell per release and page."""
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
    began = time.process_time()  # one thread: on a quiet machine that is the elapsed time
    work()
    return time.process_time() - began
