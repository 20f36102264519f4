"""A worker's loop in a process of its own, which a poisonous trace kills as a segmentation fault would."""

import os
import signal

import django

django.setup()

from aggregate.fold import batch  # noqa: E402
from aggregate.fold.claims import ClaimedTrace  # noqa: E402
from aggregate.fold.interning import CellKey  # noqa: E402
from aggregate.fold.pending import BatchOutcome, fold_pending_batch  # noqa: E402
from aggregate.raw_bodies import StoredBody  # noqa: E402
from profcore.sums.batch_sums import BatchSums, Intervals  # noqa: E402
from tests.fault_injection.isolated import HANG, POISON  # noqa: E402

original = batch.add_here


def add_or_die(sums: BatchSums[CellKey], key: CellKey, trace: ClaimedTrace, body: StoredBody, page: str) -> Intervals:
    if any(word in body.expand() for word in (POISON, HANG)):
        os.kill(os.getpid(), signal.SIGSEGV)
    return original(sums, key, trace, body, page)


batch.add_here = add_or_die
batch.ISOLATED_MODULE = "tests.fault_injection.isolated"

while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
    pass
