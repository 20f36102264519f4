"""Quotas: how many traces and bytes a project may send in a UTC day, and how many bytes it may keep.

Traces beyond them are refused, and counted so. The quota of traces is exact. Those of bytes are looked up every few
seconds, and may be exceeded by what a project sends meanwhile.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection

from profcore.times import next_midnight
from projects.key_cache import KeyFacts

QUOTA_CHECK_S: Final = 5.0  # between two look-ups of a project's bytes in one process
MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class BytesUsed:
    """The bytes of a project's raw traces, as stored: those of today (UTC), and all within their retention."""

    today: int
    kept: int


_used: dict[tuple[int, int], tuple[float, BytesUsed]] = {}  # by project and retention: until when it holds


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


def find_full_quota(key: KeyFacts, at: datetime) -> str | None:
    """Returns a sentence about a quota of bytes that the project has used up, None if there is none."""
    per_day, kept = mb_quotas(key)
    if not per_day and not kept:
        return None
    used = _look_up_bytes(key, at)
    if per_day and used.today >= per_day * MB:
        return f"The project may send {per_day} MB of traces a day (UTC), packed."
    if kept and used.kept >= kept * MB:
        return f"The project may keep {kept} MB of raw traces, packed. Older ones expire day by day."
    return None


def _look_up_bytes(key: KeyFacts, at: datetime) -> BytesUsed:
    """Returns what the project has used, as it was some seconds ago."""
    now = time.monotonic()
    days = settings.KEEP_RAW_DAYS if key.keep_raw_days is None else key.keep_raw_days
    holds_until, used = _used.get((key.project_id, days), (now, BytesUsed(0, 0)))
    if now >= holds_until:
        used = select_bytes(key.project_id, at, days)
        _used[key.project_id, days] = (now + QUOTA_CHECK_S, used)
    return used


def mb_quotas(key: KeyFacts) -> tuple[int, int]:
    """Returns the project's quotas of megabytes, a day and kept; 0 for none."""
    per_day = settings.INGEST_MAX_MB_PER_DAY if key.max_mb_per_day is None else key.max_mb_per_day
    kept = settings.INGEST_MAX_KEPT_MB if key.max_kept_mb is None else key.max_kept_mb
    return int(per_day), int(kept)


def select_bytes(project_id: int, at: datetime, keep_raw_days: int) -> BytesUsed:
    """Returns the bytes that a project had stored: on the day of `at`, and within the days that raw traces are kept."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT coalesce(sum(bytes) FILTER (WHERE day_on = %(day)s), 0)::bigint, coalesce(sum(bytes), 0)::bigint
               FROM ingest_daybytes WHERE project_id = %(project)s AND day_on >= %(since)s""",
            {"project": project_id, "day": at.date(), "since": (at - timedelta(days=keep_raw_days)).date()},
        )
        row = cursor.fetchone()
    assert row is not None  # an aggregate has one
    return BytesUsed(*row)


def clear_quotas() -> None:
    """Empties the memory of used bytes, between tests."""
    _used.clear()


def seconds_to_next_day(at: datetime) -> int:
    """Returns the seconds until the next day's quota."""
    return max(int((next_midnight(at) - at).total_seconds()), 1)
