"""Limits of what a project may send: rates in each web process, and bounds on what waits to be folded."""

import shutil
import threading
import time
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import connection

from ingest.models import PENDING

PENDING_CHECK_S: Final = 5.0
PENDING_CHECK_SHARE: Final = 0.02  # of a process's time at most: counting two million pending receipts takes a second
TRACES_RATE: Final = "INGEST_RATE_PER_S"
ABSENT_RATE: Final = "INGEST_ABSENT_RATE_PER_S"
ALL_PROJECTS: Final = 0  # no project has this id

_lock = threading.Lock()
_buckets: dict[tuple[str, int], tuple[float, float]] = {}  # by the setting with the rate, and the project
_pending: dict[int, tuple[float, bool]] = {}  # by project: until when the answer holds, and whether there is room


def take_rate(project_id: int, rate: str = TRACES_RATE) -> float:
    """Takes one out of the project's bucket of a rate (one second deep); returns 0, or the seconds to wait."""
    with _lock:
        filled = _refill(project_id, rate)
        wait_s = 0.0 if filled >= 1 else (1 - filled) / getattr(settings, rate)
        _buckets[rate, project_id] = (filled if wait_s else filled - 1, time.monotonic())
    return wait_s


def charge_rate(project_id: int, count: int) -> None:
    """Takes `count` more traces out of the bucket, even into debt: a body that was read is not refused for its rate."""
    with _lock:
        _buckets[TRACES_RATE, project_id] = (_refill(project_id, TRACES_RATE) - count, time.monotonic())


def _refill(project_id: int, rate: str) -> float:
    per_s = float(getattr(settings, rate))
    now = time.monotonic()
    filled, at = _buckets.get((rate, project_id), (per_s, now))
    return min(per_s, filled + (now - at) * per_s)


def has_room(project_id: int) -> bool:
    """Tells whether the project's queue is below its bounds: traces, bytes, and the age of the oldest one."""
    return _remember(project_id, lambda: _is_below_bounds(project_id))


def has_store_room() -> bool:
    """Tells whether all projects' queues together are below their bound, and the disk has room."""
    return _remember(ALL_PROJECTS, lambda: _has_free_disk() and _is_below_total())


def _remember(key: int, look: Callable[[], bool]) -> bool:
    """Returns what `look` returned last, and looks again every few seconds.

    Pending traces are counted, so a long queue takes long. The longer it took, the longer the answer holds.
    """
    now = time.monotonic()
    with _lock:
        holds_until, is_free = _pending.get(key, (now, True))
        if now < holds_until:
            return is_free
        _pending[key] = (now + PENDING_CHECK_S, is_free)  # one thread looks, the others use the old answer
    is_free = look()
    done = time.monotonic()
    _pending[key] = (max(now + PENDING_CHECK_S, done + (done - now) / PENDING_CHECK_SHARE), is_free)
    return is_free


def _is_below_bounds(project_id: int) -> bool:
    """Traces that a refold made pending again are weeks old, and say nothing about the workers."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), coalesce(sum(body_bytes), 0),
                       coalesce(extract(epoch FROM now() - min(received_at) FILTER (WHERE fold_version IS NULL)), 0)
                FROM (SELECT body_bytes, received_at, fold_version FROM ingest_tracereceipt
                      WHERE project_id = %s AND state = {PENDING} LIMIT %s) AS p""",
            [project_id, settings.INGEST_MAX_PENDING],
        )
        row = cursor.fetchone()
    assert row is not None  # an aggregate has one
    return bool(
        row[0] < settings.INGEST_MAX_PENDING
        and row[1] < settings.INGEST_MAX_PENDING_BYTES
        and row[2] < settings.INGEST_MAX_PENDING_AGE_S
    )


def _is_below_total() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT coalesce(sum(body_bytes), 0) FROM (SELECT body_bytes FROM ingest_tracereceipt
                                                          WHERE state = {PENDING} LIMIT %s) AS p""",
            [2 * settings.INGEST_MAX_PENDING],
        )
        row = cursor.fetchone()
    return row is not None and row[0] < settings.INGEST_MAX_TOTAL_PENDING_BYTES


def _has_free_disk() -> bool:
    """Tells whether the data folder's disk has room. PostgreSQL's data may lie on another one, which nobody can ask."""
    try:
        return shutil.disk_usage(settings.DATA_DIR).free >= settings.INGEST_MIN_FREE_BYTES
    except OSError:
        return True  # there is no data folder here


def clear_admission() -> None:
    """Empties buckets and look-ups, between tests."""
    _buckets.clear()
    _pending.clear()
