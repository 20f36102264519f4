"""Counting hangs: by day, release, page, reason and call stack.

Anybody may post any page and any stack. A project's rows of a day are therefore bounded; what is beyond counts under
"(other)", without a stack.
"""

from collections.abc import Sequence
from dataclasses import astuple
from datetime import datetime, timedelta
from typing import Final

import msgspec
from django.conf import settings
from django.db import connection

from ingest.storage.groups import OTHER
from profcore.hangs.reports import Hang, sign_frames

NO_STACK: Final = sign_frames(())
# Several reports of a post may have one place, also by becoming "(other)". Rows are in the order of their key, so that
# two posts at the same time wait for each other, and do not deadlock.
COUNT: Final = """
INSERT INTO ingest_hangcount AS h (
    project_id, day_on, release, page, reason, signature, stack_state, frames, reports, first_at, last_at)
SELECT %(project)s, p.day_on, p.release, p.page, p.reason, p.signature, min(p.stack_state),
       (array_agg(p.frames))[1]::jsonb, count(*), min(p.at), max(p.at)
FROM (SELECT s.day_on, s.reason, s.at,
             CASE WHEN s.has_room THEN s.release ELSE %(other)s END AS release,
             CASE WHEN s.has_room THEN s.page ELSE %(other)s END AS page,
             CASE WHEN s.has_room THEN s.signature ELSE %(no_stack)s::uuid END AS signature,
             CASE WHEN s.has_room THEN s.stack_state ELSE 0 END AS stack_state,
             CASE WHEN s.has_room THEN s.frames ELSE '[]' END AS frames
      FROM (SELECT w.*, (w.at AT TIME ZONE 'UTC')::date AS day_on, (
                       SELECT count(*) FROM ingest_hangcount c
                       WHERE c.project_id = %(project)s AND c.day_on = (w.at AT TIME ZONE 'UTC')::date
                   ) + w.number <= %(most)s
                   OR EXISTS (SELECT FROM ingest_hangcount k
                              WHERE k.project_id = %(project)s AND k.day_on = (w.at AT TIME ZONE 'UTC')::date
                                AND k.release = w.release AND k.page = w.page AND k.reason = w.reason
                                AND k.signature = w.signature) AS has_room
            FROM unnest(%(ats)s::timestamptz[], %(releases)s::text[], %(pages)s::text[], %(reasons)s::smallint[],
                        %(signatures)s::uuid[], %(states)s::smallint[], %(frames)s::text[])
                 WITH ORDINALITY AS w (at, release, page, reason, signature, stack_state, frames, number)) AS s) AS p
GROUP BY p.day_on, p.release, p.page, p.reason, p.signature
ORDER BY p.day_on, p.release, p.page, p.reason, p.signature
ON CONFLICT (project_id, day_on, release, page, reason, signature) DO UPDATE
SET reports = h.reports + excluded.reports, first_at = least(h.first_at, excluded.first_at),
    last_at = greatest(h.last_at, excluded.last_at)
"""


def count_hangs(project_id: int, hangs: Sequence[Hang], *, received_at: datetime) -> None:
    """Adds the hangs of a post to the rows of their days. One statement. Raises `django.db.Error`."""
    with connection.cursor() as cursor:
        cursor.execute(
            COUNT,
            {
                "project": project_id,
                "other": OTHER,
                "no_stack": NO_STACK,
                "most": settings.INGEST_MAX_HANG_ROWS,
                "ats": [received_at - timedelta(milliseconds=hang.age_ms) for hang in hangs],
                "releases": [hang.release for hang in hangs],
                "pages": [hang.page for hang in hangs],
                "reasons": [hang.reason for hang in hangs],
                "signatures": [hang.signature for hang in hangs],
                "states": [hang.stack_state for hang in hangs],
                "frames": [msgspec.json.encode([astuple(frame) for frame in hang.frames]).decode() for hang in hangs],
            },
        )
