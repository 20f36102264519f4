"""Counts of receipts that are folded or rejected, by project and hour of receipt, so that reads need not count them.

A pending receipt is in no count: the endpoint writes no count, and pending receipts are few and indexed. Each statement
that changes the state of receipts, or deletes them, also changes the counts. So `received = pending + folded +
rejected` holds at any moment.
"""

from ingest.models import FOLDED, PENDING, REJECTED


def add_receipt_counts(rows: str, *, sign: int) -> str:
    """Returns the statement that adds the folded and rejected receipts of `rows` to the counts, or subtracts them.

    `rows` is a table or CTE with project_id, received_at and state; `sign` is 1 or -1. Counts are written in the order
    of their key, at the end of a transaction, so that no two transactions wait for each other.
    """
    assert sign in (1, -1)
    return f"""INSERT INTO ingest_receiptcount AS k (project_id, hour_at, folded, rejected, last_received_at)
        SELECT project_id, date_trunc('hour', received_at, 'UTC'), {sign} * count(*) FILTER (WHERE state = {FOLDED}),
               {sign} * count(*) FILTER (WHERE state = {REJECTED}), max(received_at)
        FROM {rows} WHERE state <> {PENDING} GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (project_id, hour_at) DO UPDATE SET folded = k.folded + excluded.folded,
            rejected = k.rejected + excluded.rejected,
            last_received_at = greatest(k.last_received_at, excluded.last_received_at)"""
