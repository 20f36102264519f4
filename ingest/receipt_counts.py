"""Counts of receipts that are folded or rejected, by project and hour of receipt, so that nobody has to count them.

A pending receipt is in no count: the door writes none, and what waits is few and indexed. Whoever changes the state
of receipts, or deletes them, changes the counts in the same statement, so `received = pending + folded + rejected`
holds at any moment.
"""


def count_settled(rows: str, *, sign: int) -> str:
    """Returns the statement that adds the folded and rejected receipts of `rows` to the counts, or takes them off.

    `rows` is a table or CTE with project_id, received_at and state; `sign` is 1 or -1. Rows are taken in the order of
    their key, at the end of a transaction: nobody waits for another who waits for him.
    """
    assert sign in (1, -1)
    return f"""INSERT INTO ingest_receiptcount AS k (project_id, hour_at, folded, rejected, last_received_at)
        SELECT project_id, date_trunc('hour', received_at, 'UTC'), {sign} * count(*) FILTER (WHERE state = 1),
               {sign} * count(*) FILTER (WHERE state = 2), max(received_at)
        FROM {rows} WHERE state <> 0 GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (project_id, hour_at) DO UPDATE SET folded = k.folded + excluded.folded,
            rejected = k.rejected + excluded.rejected,
            last_received_at = greatest(k.last_received_at, excluded.last_received_at)"""
