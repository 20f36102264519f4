"""A worker's loop in a process of its own, which a poisonous trace kills as a segmentation fault would."""

import os
import signal

import django

django.setup()

from aggregate.folding import batch  # noqa: E402
from aggregate.folding.fold import BatchOutcome, fold_pending_batch  # noqa: E402
from profcore.sums.fold import TraceFold, fold_trace  # noqa: E402
from profcore.trace.funcs import FuncTable  # noqa: E402
from profcore.trace.wire import Envelope  # noqa: E402


def fold_or_die(envelope: Envelope, *, page: str, funcs: FuncTable) -> TraceFold:
    if envelope.release in ("poison", "hang"):
        os.kill(os.getpid(), signal.SIGSEGV)
    return fold_trace(envelope, page=page, funcs=funcs)


batch.fold_trace = fold_or_die  # type: ignore[attr-defined]  # the module's own name for it
batch.ISOLATED_MODULE = "tests.poisoned.isolated"

while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
    pass
