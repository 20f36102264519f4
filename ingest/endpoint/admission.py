"""What a project may send: rates in each web process, bounds on what waits to be folded, and quotas of a UTC day.

What is refused is counted so. The quota of traces is exact. Those of bytes, and what waits, are looked up every few
seconds, and may be exceeded by what a project sends meanwhile.
"""

import math
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection

from ingest.endpoint.requests import IngestRequest, TryLater
from ingest.models import PENDING
from ingest.storage.pending_chunks import has_span_room
from profcore.caching import keep
from profcore.errors import Reason, TraceError
from profcore.times import next_midnight
from projects.key_cache import KeyConfig, find_key, is_origin_allowed

PENDING_CHECK_S: Final = 5.0
PENDING_CHECK_SHARE: Final = 0.02  # of a process's time at most: counting two million pending receipts takes a second
QUOTA_CHECK_S: Final = 5.0  # between two look-ups of a project's bytes in one process
TRACES_RATE: Final = "INGEST_RATE_PER_S"
ABSENT_RATE: Final = "INGEST_ABSENT_RATE_PER_S"
REPORTS_RATE: Final = "INGEST_REPORTS_RATE_PER_S"
ALL_PROJECTS: Final = 0  # no project has this id
MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class BytesUsed:
    """The bytes of a project's raw traces, as stored: those of today (UTC), and all within their retention."""

    today: int
    kept: int


def find_sender(public_key: str) -> KeyConfig:
    """Returns the facts of the key that a request names. Raises `TraceError` if it is no live key."""
    key = find_key(public_key)
    if key is None:
        raise TraceError(Reason.UNKNOWN_KEY, "$", "The `key` parameter names no live public key.")
    return key


def check_sender(post: IngestRequest, key: KeyConfig) -> None:
    """Raises `TraceError` if the key's project is archived, or if the key may not be used from the request's origin."""
    if key.is_archived:
        raise TraceError(Reason.PROJECT_ARCHIVED, "$", "This project is archived, and accepts no traces.")
    if not is_origin_allowed(post.origin, key.origins):
        raise TraceError(Reason.ORIGIN_NOT_ALLOWED, "$", "This key may not be used from this origin.")


class Admission:
    """What this process knows of the rates, the room and the bytes of projects."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, int], tuple[float, float]] = {}  # by the setting with the rate, and the project
        # By what was looked up, and the project: until when the answer holds, and the answer.
        self._room: dict[tuple[Callable[[int], bool], int], tuple[float, bool]] = {}
        self._used: dict[tuple[int, int], tuple[float, BytesUsed]] = {}  # by project and retention: as above

    def check(self, key: KeyConfig, at: datetime) -> None:
        """Checks rate, room and quotas before a body is read; takes one trace out of the rate. Raises `TryLater`."""
        wait_s = self.take_rate(key.project_id)
        if wait_s:
            detail = "Rate limit exceeded for this project."
            raise TryLater(Reason.RATE_LIMITED, "$", detail, retry_after_s=math.ceil(wait_s))
        if not self.has_room(key.project_id):
            raise TryLater(Reason.TOO_MANY_PENDING, "$", "Too many traces of this project wait to be folded.")
        full = self.find_full_quota(key, at)
        if full is not None:
            raise TryLater(Reason.QUOTA_EXCEEDED, "$", full, retry_after_s=seconds_to_next_day(at))
        if not self.has_room(ALL_PROJECTS):
            detail = "The server has no room for more traces at the moment; please post again later."
            raise TryLater(Reason.UNAVAILABLE, "$", detail)

    def charge(self, key: KeyConfig, at: datetime, *, sent: int, accepted: int) -> int:
        """Takes a body's traces out of the rate and out of the day's quota; returns how many the quota still had.

        `check` took the first one that was sent. The others may leave a debt: a body that was read is not refused for
        its rate.
        """
        self.take_rate(key.project_id, count=sent - 1, may_owe=True)
        return take_quota(key, accepted, at)

    def take_rate(self, project_id: int, rate: str = TRACES_RATE, *, count: int = 1, may_owe: bool = False) -> float:
        """Takes `count` out of the project's bucket of a rate (one second deep); returns 0, or the seconds to wait."""
        per_s = float(getattr(settings, rate))
        with self._lock:
            now = time.monotonic()
            filled, at = self._buckets.get((rate, project_id), (per_s, now))
            filled = min(per_s, filled + (now - at) * per_s)
            wait_s = 0.0 if filled >= 1 or may_owe else (1 - filled) / per_s
            self._buckets[rate, project_id] = (filled if wait_s else filled - count, now)
        return wait_s

    def has_room(self, project_id: int) -> bool:
        """Returns whether a project's queue is below its bounds: traces, bytes, and the age of the oldest one.

        For `ALL_PROJECTS`: whether all queues together are below their bound, and the disk has room. The answer is that
        of some seconds ago. Pending traces are counted, so a long queue takes long. The longer it took, the longer the
        answer holds.
        """
        return self._recall(_is_below_total if project_id == ALL_PROJECTS else _is_below_bounds, project_id)

    def has_span_room(self, project_id: int) -> bool:
        """Returns whether a project may have more spans that name pages, as of some seconds ago."""
        return self._recall(has_span_room, project_id)

    def _recall(self, look: Callable[[int], bool], project_id: int) -> bool:
        now = time.monotonic()
        with self._lock:
            holds_until, is_free = self._room.get((look, project_id), (now, True))
            if now < holds_until:
                return is_free
            # One thread looks, the others use the old answer.
            self._room[look, project_id] = (now + PENDING_CHECK_S, is_free)
        is_free = look(project_id)
        done = time.monotonic()
        self._room[look, project_id] = (max(now + PENDING_CHECK_S, done + (done - now) / PENDING_CHECK_SHARE), is_free)
        return is_free

    def find_full_quota(self, key: KeyConfig, at: datetime) -> str | None:
        """Returns a sentence about a quota of bytes that the project has used up, None if there is none."""
        per_day = settings.INGEST_MAX_MB_PER_DAY if key.max_mb_per_day is None else key.max_mb_per_day
        kept = settings.INGEST_MAX_KEPT_MB if key.max_kept_mb is None else key.max_kept_mb
        if not per_day and not kept:
            return None
        now = time.monotonic()
        days = settings.KEEP_RAW_DAYS if key.keep_raw_days is None else key.keep_raw_days
        holds_until, used = self._used.get((key.project_id, days), (now, BytesUsed(0, 0)))
        if now >= holds_until:
            used = select_bytes(key.project_id, at, days)
            self._used[key.project_id, days] = (now + QUOTA_CHECK_S, used)
        if per_day and used.today >= per_day * MB:
            return f"The project may send {per_day} MB of traces a day (UTC), compressed."
        if kept and used.kept >= kept * MB:
            return f"The project may keep {kept} MB of raw traces, compressed. Older ones expire day by day."
        return None

    def clear(self) -> None:
        """Empties buckets and look-ups."""
        self._buckets.clear()
        self._room.clear()
        self._used.clear()


ADMISSION: Final = keep(Admission())


def _is_below_bounds(project_id: int) -> bool:
    """Traces that a refold made pending again are weeks old, and say nothing about the workers. Chunks wait too."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*), coalesce(sum(body_bytes), 0),
                      coalesce(extract(epoch FROM now() - min(received_at) FILTER (WHERE fold_version IS NULL)), 0)
               FROM ((SELECT body_bytes, received_at, fold_version FROM ingest_tracereceipt
                      WHERE project_id = %(project)s AND state = %(pending)s LIMIT %(most)s)
                     UNION ALL
                     (SELECT octet_length(body), received_at, NULL FROM ingest_pendingchunk
                      WHERE project_id = %(project)s AND joined_at IS NULL LIMIT %(most)s)) AS p""",
            {"project": project_id, "pending": PENDING, "most": settings.INGEST_MAX_PENDING},
        )
        row = cursor.fetchone()
    assert row is not None  # an aggregate has one
    return bool(
        row[0] < settings.INGEST_MAX_PENDING
        and row[1] < settings.INGEST_MAX_PENDING_BYTES
        and row[2] < settings.INGEST_MAX_PENDING_AGE_S
    )


def _is_below_total(_: int) -> bool:
    """Also looks at the data folder's disk. PostgreSQL's data may lie on another one, which no one can ask."""
    try:
        if shutil.disk_usage(settings.DATA_DIR).free < settings.INGEST_MIN_FREE_BYTES:
            return False
    except OSError:
        pass  # there is no data folder here
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT coalesce(sum(body_bytes), 0)
               FROM ((SELECT body_bytes FROM ingest_tracereceipt WHERE state = %(pending)s LIMIT %(most)s)
                     UNION ALL
                     (SELECT octet_length(body) FROM ingest_pendingchunk
                      WHERE joined_at IS NULL LIMIT %(most)s)) AS p""",
            {"pending": PENDING, "most": 2 * settings.INGEST_MAX_PENDING},
        )
        row = cursor.fetchone()
    return row is not None and row[0] < settings.INGEST_MAX_TOTAL_PENDING_BYTES


def quota_of(key: KeyConfig) -> int:
    """Returns the project's quota, 0 for none."""
    limit = key.max_traces_per_day
    return int(settings.INGEST_MAX_TRACES_PER_DAY) if limit is None else limit


def take_quota(key: KeyConfig, count: int, at: datetime) -> int:
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


def has_quota(key: KeyConfig, count: int, at: datetime) -> bool:
    """Returns whether `count` traces are left of the day's quota. It takes none, so the answer may change."""
    quota = quota_of(key)
    if not quota:
        return True
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT traces FROM ingest_daycount WHERE project_id = %s AND day_on = %s", [key.project_id, at.date()]
        )
        row = cursor.fetchone()
    return count + (row[0] if row else 0) <= quota


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


def seconds_to_next_day(at: datetime) -> int:
    """Returns the seconds until the next day's quota."""
    return max(int((next_midnight(at) - at).total_seconds()), 1)


def admit_report(post: IngestRequest, key: KeyConfig, rate: str) -> None:
    """Checks project, origin and rate of a report before its body is read. `rate` names the setting.

    Raises `TraceError`.
    """
    check_sender(post, key)
    if wait_s := ADMISSION.take_rate(key.project_id, rate):
        detail = "This project sends more reports a second than it may."
        raise TryLater(Reason.RATE_LIMITED, "$", detail, retry_after_s=math.ceil(wait_s))
