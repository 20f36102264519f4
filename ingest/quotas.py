"""Quotas: how many traces a project may send in a UTC day. What is beyond is refused, and counted as such."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from ingest.keys import KeyFacts


def quota_of(key: KeyFacts) -> int:
    """Returns the project's quota, 0 for none."""
    own = key.max_traces_per_day
    return int(settings.INGEST_MAX_TRACES_PER_DAY) if own is None else own


def take_quota(key: KeyFacts, count: int, at: datetime) -> int:
    """Takes `count` traces out of the day's quota; returns how many it still had. One short statement, for quotas only.

    Posted again, a trace counts again: whether it is known is only known once it is stored.
    """
    quota = quota_of(key)
    if not quota or not count:
        return count
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH made AS (
                   INSERT INTO ingest_daycount (project_id, day_on, traces) VALUES (%(project)s, %(day)s, 0)
                   ON CONFLICT DO NOTHING)
               SELECT 1""",
            {"project": key.project_id, "day": at.date()},
        )
        cursor.execute(
            """UPDATE ingest_daycount d SET traces = least(d.traces + %(count)s, greatest(d.traces, %(quota)s))
               FROM (SELECT traces FROM ingest_daycount WHERE project_id = %(project)s AND day_on = %(day)s FOR UPDATE)
                    AS old
               WHERE d.project_id = %(project)s AND d.day_on = %(day)s RETURNING d.traces - old.traces""",
            {"project": key.project_id, "day": at.date(), "count": count, "quota": quota},
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def has_quota(key: KeyFacts, count: int, at: datetime) -> bool:
    """Tells whether `count` traces are left of the day's quota. Takes nothing and waits for nobody: it may change."""
    quota = quota_of(key)
    if not quota:
        return True
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT traces FROM ingest_daycount WHERE project_id = %s AND day_on = %s", [key.project_id, at.date()]
        )
        row = cursor.fetchone()
    return count + (row[0] if row else 0) <= quota


def seconds_to_next_day(at: datetime) -> int:
    """Returns the seconds until the next quota."""
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return max(int((midnight - at).total_seconds()), 1)
