"""How much a project may send: a rate in each web process, and a bound on what waits to be folded."""

import threading
import time
from typing import Final

from django.conf import settings
from django.db import connection

PENDING_CHECK_S: Final = 5.0
PENDING_CHECK_SHARE: Final = 0.02  # of a process's time at most: two million waiting receipts take a second to count

_lock = threading.Lock()
_buckets: dict[int, tuple[float, float]] = {}
_pending: dict[int, tuple[float, bool]] = {}  # until when it holds, and whether there is room


def take_rate(project_id: int) -> float:
    """Takes one trace out of the project's bucket (one second deep); returns 0, or the seconds to wait."""
    with _lock:
        filled = _refill(project_id)
        wait_s = 0.0 if filled >= 1 else (1 - filled) / settings.INGEST_RATE_PER_S
        _buckets[project_id] = (filled if wait_s else filled - 1, time.monotonic())
    return wait_s


def charge_rate(project_id: int, count: int) -> None:
    """Takes `count` more out of the bucket, into debt if need be: no body is refused for its rate once it is read."""
    with _lock:
        _buckets[project_id] = (_refill(project_id) - count, time.monotonic())


def _refill(project_id: int) -> float:
    rate = float(settings.INGEST_RATE_PER_S)
    now = time.monotonic()
    filled, at = _buckets.get(project_id, (rate, now))
    return min(rate, filled + (now - at) * rate)


def has_room(project_id: int) -> bool:
    """Tells whether the project's queue is below its bound; looked up every few seconds.

    What waits is counted, so a long queue takes long: the longer it took, the longer the answer holds.
    """
    now = time.monotonic()
    with _lock:
        holds_until, is_free = _pending.get(project_id, (now, True))
        if now < holds_until:
            return is_free
        _pending[project_id] = (now + PENDING_CHECK_S, is_free)  # one thread looks, the others go by what was
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM (SELECT 1 FROM ingest_receipt WHERE project_id = %s AND state = 0 LIMIT %s) AS p""",
            [project_id, settings.INGEST_MAX_PENDING],
        )
        row = cursor.fetchone()
    is_free = row is not None and row[0] < settings.INGEST_MAX_PENDING
    done = time.monotonic()
    _pending[project_id] = (max(now + PENDING_CHECK_S, done + (done - now) / PENDING_CHECK_SHARE), is_free)
    return is_free


def forget_admission() -> None:
    """Empties buckets and look-ups, between tests."""
    _buckets.clear()
    _pending.clear()
