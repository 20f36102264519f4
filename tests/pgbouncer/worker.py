"""A worker's loop in a process of its own, until nothing is pending."""

import django

django.setup()

from aggregate.fold.pending import BatchOutcome, fold_pending_batch  # noqa: E402

while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
    pass
