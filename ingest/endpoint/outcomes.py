"""Counting outcomes: in metrics, and refusals by project, hour and reason too, so that shares stay honest.

Tags of metrics are closed sets: never a route, release or URL.
"""

import collections
import logging
import random
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import Error, connection
from prometheus_client import Counter

from profcore.errors import Reason
from profcore.times import start_of_hour

logger = logging.getLogger(__name__)

INGEST_ENVELOPES: Final = Counter(
    "fieldflame_ingest_envelopes_total",
    "Envelopes the endpoint answered, by outcome (accepted, refused) and reason (a profcore.errors.Reason, or empty)",
    ["outcome", "reason"],
)
INGEST_ABSENCES: Final = Counter(
    "fieldflame_ingest_absences_total",
    "Reports of page views that recorded nothing, by outcome (counted, refused) and reason (as above, or empty)",
    ["outcome", "reason"],
)
INGEST_REPORTS: Final = Counter(
    "fieldflame_ingest_reports_total",
    "Reports of browsers, by outcome (counted, ignored), and refused posts with them, by reason (as above, or empty)",
    ["outcome", "reason"],
)
SHARDS: Final = 8  # a flood of refusals for one reason spreads over this many rows


def count_refusals(project_id: int, reasons: Iterable[Reason], at: datetime) -> None:
    """Adds refusals to the project's counts. If this fails, the failure is logged and the post is still answered.

    The statement does not wait for the disk. Else it would hold its row, and with it a connection of the pool, for the
    whole write, and a flood of bad posts would take the connections from the good ones. A crash may lose half a second
    of counts.
    """
    counts = collections.Counter(str(reason) for reason in reasons)
    if not counts:
        return
    rows = sorted(counts.items())
    shard = random.randrange(SHARDS)  # noqa: S311  # no secret
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO ingest_refusal (project_id, hour_at, reason, shard, count)
                   SELECT %s, %s, r.reason, %s, r.count
                   FROM unnest(%s::text[], %s::bigint[]) AS r (reason, count),
                        (SELECT set_config('synchronous_commit', 'off', true)) AS quick
                   ON CONFLICT (project_id, hour_at, reason, shard)
                   DO UPDATE SET count = ingest_refusal.count + excluded.count""",
                [project_id, start_of_hour(at), shard, [r for r, _ in rows], [n for _, n in rows]],
            )
    except Error:
        logger.exception("Refusals of project %s could not be counted.", project_id)
