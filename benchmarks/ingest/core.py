"""Measures the speed of the pure core and of its compiled twin, on one processor core and without a database."""

import gzip
import json
import statistics
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from benchmarks.shared.load import add_kind, read_envelopes
from profcore.kernel import find_kernel
from profcore.sums.batch_sums import BatchSums, open_sums
from profcore.trace.funcs import FuncTable
from profcore.trace.posted import CompiledCheck
from profcore.trace.wire import Envelope, Limits, decode_envelope

T = TypeVar("T")
MAX_BODY_BYTES: Final = 4 * 2**20  # expanded: larger ones are left to the pure twin
# A worker's batch: FIELDFLAME_FOLD_BATCH_TRACES and FOLD_BATCH_BYTES.
BATCH_TRACES: Final = 200
BATCH_BYTES: Final = 8 * 2**20


class PackedBody(NamedTuple):
    """A body as it is stored, and where it belongs."""

    body: bytes
    expanded_bytes: int
    page: str
    release: str
    view_id: UUID
    is_gzip: bool = True

    def expand(self) -> bytes:
        return gzip.decompress(self.body)


class Step(NamedTuple):
    """A step of the work, the median of its speed, and of that as a share of decode-only speed within a round."""

    name: str
    per_s: float
    share: float


def bench_core(envelopes: Iterable[dict[str, Any]], rounds: int) -> list[Step]:
    """Returns the speed of gunzip and decode, and of each twin's checks, fold, and fold with all that is written.

    The steps of the compiled twin are absent if it is not built.
    """
    bodies = [pack(envelope) for envelope in envelopes]
    works = _list_works(bodies, split_batches(bodies))
    times = [[_time(work) for _, work in works] for _ in range(rounds)]
    return [
        Step(
            name,
            statistics.median(len(bodies) / row[at] for row in times),
            statistics.median(row[0] / row[at] for row in times),
        )
        for at, (name, _) in enumerate(works)
    ]


def _list_works(
    bodies: Sequence[PackedBody], batches: Sequence[Sequence[PackedBody]]
) -> list[tuple[str, Callable[[], object]]]:
    decoder, limits, kernel = msgspec.json.Decoder(Envelope), Limits(), find_kernel().module

    def written(module: ModuleType | None) -> Callable[[Sequence[PackedBody]], object]:
        return lambda batch: read_written(fold_batch(module, batch))

    works: list[tuple[str, Callable[[], object]]] = [
        ("gunzip and decode only", over_all(lambda body: decoder.decode(gzip.decompress(body.body)), bodies)),
        ("every check, pure", over_all(lambda body: decode_envelope(gzip.decompress(body.body), limits), bodies)),
        ("fold, pure", over_all(lambda batch: fold_batch(None, batch), batches)),
        ("fold and what is written, pure", over_all(written(None), batches)),
    ]
    if kernel is not None:
        endpoint = CompiledCheck(kernel, limits, max_bytes=MAX_BODY_BYTES)
        works += [
            ("every check, compiled", over_all(lambda body: endpoint.check(body.body), bodies)),
            ("fold, compiled", over_all(lambda batch: fold_batch(kernel, batch), batches)),
            ("fold and what is written, compiled", over_all(written(kernel), batches)),
        ]
    return works


def over_all(work: Callable[[T], object], inputs: Sequence[T]) -> Callable[[], None]:
    """Returns work on all inputs that keeps no result: memory in use would make all of it slower."""

    def run() -> None:
        for given in inputs:
            work(given)

    return run


def pack(envelope: dict[str, Any]) -> PackedBody:
    """Returns an envelope as it is stored."""
    body = json.dumps(envelope, separators=(",", ":")).encode()
    page, release = envelope.get("page") or "/", envelope["release"]
    return PackedBody(gzip.compress(body, 6), len(body), page, release, UUID(envelope["viewId"]))


def split_batches(bodies: Iterable[PackedBody]) -> list[list[PackedBody]]:
    """Returns bodies in batches as a worker claims them."""
    batches: list[list[PackedBody]] = [[]]
    room = BATCH_BYTES
    for body in bodies:
        room -= body.expanded_bytes
        if len(batches[-1]) == BATCH_TRACES or room < 0:
            batches.append([])
            room = BATCH_BYTES - body.expanded_bytes
        batches[-1].append(body)
    return batches


def fold_batch(kernel: ModuleType | None, batch: Iterable[PackedBody]) -> BatchSums[tuple[str, str]]:
    """Returns the sums of a batch, with a cell per release and page. Without a kernel, by the pure twin."""
    sums = open_sums(kernel, FuncTable(), Limits(), max_bytes=MAX_BODY_BYTES)
    for body in batch:
        sums.add((body.release, body.page), body.view_id, body, page=body.page, is_truncated=False)
    return sums


def read_written(sums: BatchSums[tuple[str, str]]) -> int:
    """Prepares all that a batch writes, as for views that are new; returns its bytes."""
    used = sums.used()
    id_of = [0] * len(sums.funcs.keys)
    for func_id, index in enumerate(used, start=1):
        id_of[index] = func_id
    sums.settle(id_of)
    size = 0
    for cell_id, key in enumerate(sums.cells):
        size += sum(len(sums.grow(key, view_id, cell_id=cell_id)) for view_id in sums.views(key))
        size += len(sums.hotspots(cell_id).func) + len(sums.tree(key).blob)
    return size


def _time(work: Callable[[], object]) -> float:
    began = time.process_time()  # one thread: on a quiet machine that is the elapsed time
    work()
    return time.process_time() - began


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    add_kind(parser)
    parser.add_argument("--rounds", type=int, default=5, help="whose median is told (default: %(default)s)")
    options = parser.parse_args()
    print(f"one core, medians of {options.rounds}; share of decode only")
    for step in bench_core(read_envelopes(options.kind), options.rounds):
        print(f"  {step.name:34s} {step.per_s:9,.0f} traces/s {step.share:8.1%}")
