"""Measures the processor time of reading vitals from raw traces, by each twin, next to folding the same page views."""

import gzip
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from types import ModuleType
from typing import Final, NamedTuple

from ops.demo.recordings import FOLDER
from ops.demo.story import RELEASES
from profcore.kernel import find_kernel
from profcore.sums.fold import ViewFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope
from profcore.vitals.view_readers import open_reader

PAGE: Final = "/"
ROUNDS: Final = 5
MAX_BYTES: Final = 2**20


class StoredBody(NamedTuple):
    """A body as browsers send it."""

    body: bytes
    is_gzip: bool = True

    def expand(self) -> bytes:
        return gzip.decompress(self.body)


View = Sequence[StoredBody]


def read_views() -> list[View]:
    """Returns the bodies of each recorded view of the shop."""
    views: dict[str, list[StoredBody]] = {}
    for release in RELEASES:
        for body in gzip.decompress((FOLDER / f"{release}.ndjson.gz").read_bytes()).splitlines():
            view_id = str(decode_envelope(body, Limits()).viewId)
            views.setdefault(view_id, []).append(StoredBody(gzip.compress(body)))
    return list(views.values())


def fold_views(views: Sequence[View]) -> float:
    """Returns the processor ms per view of folding by the pure twin."""
    funcs, began_s = FuncTable(), time.process_time()
    for bodies in views:
        view = ViewFold()
        for body in bodies:
            fold = fold_trace(decode_envelope(body.expand(), Limits()), page=PAGE, funcs=funcs)
            view.add(fold, is_truncated=False)
    return 1_000 * (time.process_time() - began_s) / len(views)


def read_vitals(views: Sequence[View], module: ModuleType | None) -> float:
    """Returns the processor ms per view of reading vitals."""
    reader, began_s = open_reader(module, FuncTable(), Limits(), max_bytes=MAX_BYTES), time.process_time()
    for bodies in views:
        reader.read(bodies, page=PAGE, choose=lambda windows: windows, with_scripts=True)
    return 1_000 * (time.process_time() - began_s) / len(views)


def main() -> None:
    ArgumentParser(description=__doc__).parse_args()
    views, module = read_views(), find_kernel().module
    for _ in range(ROUNDS):
        compiled = "" if module is None else f", {read_vitals(views, module):.2f} ms by the kernel"
        print(
            f"{len(views):,} page views; per view {fold_views(views):.2f} ms to fold, "
            f"{read_vitals(views, None):.2f} ms to read vitals{compiled}"
        )
