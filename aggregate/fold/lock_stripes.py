"""Sections: the views of a group divided by sixteen, so that several workers fold one large group at the same time.

All traces of a view are in one section, by the last byte of its id. A claim takes some sections of a group that has
more pending traces than a batch. Its fold shares the group's lock with others, and holds those of its sections
(`aggregate.fold.locks`). What sections have in common are sums, which a fold adds to at its end, and pieces, which
it appends: their ids tell sections apart, so that two folds never choose the same one.
"""

import random
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings

from aggregate.sql import select_rows
from ingest.models import PENDING

# This number of workers can fold one group without waiting for each other. All that fold at a time must agree on it.
SECTIONS: Final = 16
# By section, in the part of the queue that a claim looks at: whether others have claims there, how many traces are
# free, and their bytes.
QUEUE: Final = """
WITH live AS MATERIALIZED (
    SELECT token FROM aggregate_workerlease WHERE heartbeat_at > now() - make_interval(secs => %s)
), queue AS (
    SELECT get_byte(uuid_send(r.view_id), 15) %% %s AS section, r.body_bytes, r.claimed_until > now() AND EXISTS (
        SELECT 1 FROM live WHERE live.token = r.claim_token) AS is_claimed
    FROM ingest_tracereceipt r
    WHERE r.project_id = %s AND r.group_id = %s AND r.state = %s AND r.received_at <= %s)
SELECT bool_or(is_claimed), section, count(*) FILTER (WHERE is_claimed IS NOT TRUE),
       sum(body_bytes) FILTER (WHERE is_claimed IS NOT TRUE)
FROM queue GROUP BY section HAVING NOT bool_and(is_claimed IS TRUE)
"""


def section_of(view_id: UUID) -> int:
    """Returns the section of a view."""
    return view_id.bytes[15] % SECTIONS


def choose_sections(project_id: int, group_id: int, *, until: datetime, room: int, room_bytes: int) -> list[int]:
    """Returns sections of a group in which a batch may find `room` traces, or `room_bytes` bytes of them.

    Those in which no others have claims come first, and alone if there are any: who claims in the same section waits
    when it writes. They are drawn by chance, because two workers may choose at the same moment.
    """
    rows = select_rows(QUEUE, [settings.CLAIM_SILENCE_S, SECTIONS, project_id, group_id, PENDING, until])
    random.shuffle(rows)
    free = [row for row in rows if not row[0]]
    chosen: list[int] = []
    traces = size = 0
    for _, section, of_section, of_section_bytes in free or sorted(rows, key=lambda row: -row[2]):
        chosen.append(section)
        traces, size = traces + of_section, size + of_section_bytes
        if traces >= room or size >= room_bytes:
            break
    return sorted(chosen)


def next_piece(known: Iterable[int], section: int | None) -> int:
    """Returns the id of a new piece behind those that are known.

    A fold that holds only sections of a group gives the id that its first section has there: it does not know what
    others, in other sections, are about to append.
    """
    newest = max(known, default=0)
    return newest + 1 if section is None else newest + 1 + (section - newest - 1) % SECTIONS


def sections_of(view_ids: Sequence[UUID]) -> list[int]:
    """Returns the sections of some views, in ascending order."""
    return sorted({section_of(view_id) for view_id in view_ids})
