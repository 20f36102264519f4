"""Lock stripes: the views of a group divided by sixteen, so that several workers fold one large group at the same time.

All traces of a view are in one stripe, by the last byte of its id. A claim takes some stripes of a group that has
more pending traces than a batch. Its fold shares the group's lock with others, and holds those of its stripes
(`aggregate.fold.locks`). What stripes have in common are sums, which a fold adds to at its end, and pieces, which
it appends: their ids tell stripes apart, so that two folds never choose the same one.
"""

import random
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from aggregate.sql import select_rows
from aggregate.worker_leases import LIVE
from ingest.models import PENDING

# This number of workers can fold one group without waiting for each other. All that fold at a time must agree on it.
STRIPES: Final = 16
# By stripe, in the part of the queue that a claim looks at: whether others have claims there, how many traces are
# free, and their bytes.
QUEUE: Final = f"""
WITH {LIVE}, queue AS (
    SELECT get_byte(uuid_send(r.view_id), 15) %% %s AS stripe, r.body_bytes, r.claimed_until > now() AND EXISTS (
        SELECT 1 FROM live WHERE live.token = r.claim_token) AS is_claimed
    FROM ingest_tracereceipt r
    WHERE r.project_id = %s AND r.group_id = %s AND r.state = %s AND r.received_at <= %s)
SELECT bool_or(is_claimed), stripe, count(*) FILTER (WHERE is_claimed IS NOT TRUE),
       sum(body_bytes) FILTER (WHERE is_claimed IS NOT TRUE)
FROM queue GROUP BY stripe HAVING NOT bool_and(is_claimed IS TRUE)
"""


def stripe_of(view_id: UUID) -> int:
    """Returns the stripe of a view."""
    return view_id.bytes[15] % STRIPES


def choose_stripes(project_id: int, group_id: int, *, until: datetime, room: int, room_bytes: int) -> list[int]:
    """Returns stripes of a group in which a batch may find `room` traces, or `room_bytes` bytes of them.

    Those in which no others have claims come first, and alone if there are any: who claims in the same stripe waits
    when it writes. They are drawn by chance, because two workers may choose at the same moment.
    """
    rows = select_rows(QUEUE, [STRIPES, project_id, group_id, PENDING, until])
    random.shuffle(rows)
    free = [row for row in rows if not row[0]]
    chosen: list[int] = []
    traces = size = 0
    for _, stripe, of_stripe, of_stripe_bytes in free or sorted(rows, key=lambda row: -row[2]):
        chosen.append(stripe)
        traces, size = traces + of_stripe, size + of_stripe_bytes
        if traces >= room or size >= room_bytes:
            break
    return sorted(chosen)


def next_piece(known: Iterable[int], stripe: int | None) -> int:
    """Returns the id of a new piece behind those that are known.

    A fold that holds only stripes of a group gives the id that its first stripe has there: it does not know what
    others, in other stripes, are about to append.
    """
    newest = max(known, default=0)
    return newest + 1 if stripe is None else newest + 1 + (stripe - newest - 1) % STRIPES


def stripes_of(view_ids: Sequence[UUID]) -> list[int]:
    """Returns the stripes of some views, in ascending order."""
    return sorted({stripe_of(view_id) for view_id in view_ids})
