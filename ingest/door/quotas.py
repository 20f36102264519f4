"""Quotas: how many traces a project may send in a UTC day. Traces beyond it are refused, and counted so."""

from datetime import datetime

from django.conf import settings
from django.db import connection

from ingest.door.keys import KeyFacts
from profcore.times import next_midnight


def quota_of(key: KeyFacts) -> int:
    """Returns the project's quota, 0 for none."""
    own = key.max_traces_per_day
    return int(settings.INGEST_MAX_TRACES_PER_DAY) if own is None else own


def take_quota(key: KeyFacts, count: int, at: datetime) -> int:
    """Takes `count` traces out of the day's quota; returns how many it still had. Short statements, only with a quota.

    A trace that is posted again counts again: only storing it shows that it is known already.
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
    """Tells whether `count` traces are left of the day's quota. It takes none, so the answer may change."""
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
    """Returns the seconds until the next day's quota."""
    return max(int((next_midnight(at) - at).total_seconds()), 1)
