"""Notifications tell a worker that there is work. They have no data, coalesce, and may be lost: the sweep finds all.

Publishing never delays an answer: there is one try with a short timeout, and after a failure none for a while.
"""

import logging
import threading
import time
from typing import Final

import redis
from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError as KombuOperationalError

logger = logging.getLogger(__name__)

FLAG: Final = "fieldflame:notify"
WAITS: Final = ":waits"  # the end of the name of a key that is there while a notification may still wait
FLAG_S: Final = 10  # two turns of folding; if a notification was lost with its worker, the sweep folds before
# Workers keep the flag of a notification in a queue for this long. Then it counts as lost, as with a host that was
# cut off: else they would keep its flag as long as there is more to fold, and only sweeps would fold, a batch each.
LOST_S: Final = 30
TIMEOUT_S: Final = 0.2
PAUSE_S: Final = 5.0
# Between two looks at the flag for posts. Under load it is nearly always there, and asking took a sixth of a post's
# time. A trace waits a twentieth of a second longer for its fold, which takes longer by itself.
NOTIFY_PAUSE_S: Final = 0.05
FOLD_TASK: Final = "aggregate.fold_pending"

_lock = threading.Lock()
_client: redis.Redis | None = None
_paused_until = 0.0


def flag_client() -> redis.Redis:
    """Returns this process's client for the flag, with short timeouts."""
    global _client
    if _client is None:
        _client = redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=None
        )
    return _client


def notify_worker(task: str = FOLD_TASK, flag: str = FLAG) -> bool:
    """Publishes one notification unless one is under way; returns whether it did. Never raises if the broker is absent.

    Each task has a flag of its own.
    """
    global _paused_until
    if time.monotonic() < _paused_until:
        return False
    try:
        if not flag_client().set(flag, 1, nx=True, ex=FLAG_S):
            return False
        flag_client().set(flag + WAITS, 1, ex=LOST_S)
        _publish(task, flag)
    except (redis.RedisError, OSError, KombuOperationalError) as error:
        with _lock:
            _paused_until = time.monotonic() + PAUSE_S
        logger.warning("No notification could be published (%s); the sweep will find the work.", type(error).__name__)
        return False
    return True


def _publish(task: str, flag: str) -> None:
    """Sends a task. If that fails, the flag is cleared: another process may be able to, and should not wait for it."""
    try:
        current_app.send_task(task, retry=False, ignore_result=True)
    except BaseException:
        clear_flag(flag)
        raise


class Notifier:
    """A thread that notifies workers for the posts of this process: at once, and then at most once in `NOTIFY_PAUSE_S`.

    Posts only leave a word here. None is lost: what is asked for after the thread began to notify is done next.
    """

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Lets the thread notify a worker soon. Never waits."""
        if self._requested.is_set():
            return
        self._idle.clear()
        self._requested.set()
        if self._thread is None or not self._thread.is_alive():
            self._start()

    def settle(self, limit_s: float) -> bool:
        """Waits until nothing is asked for; says whether that came to be in time. For tests."""
        return self._idle.wait(limit_s)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="notifier", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while self._requested.wait():
            self._requested.clear()
            try:
                notify_worker()
            except Exception:
                logger.exception("A notification failed; the sweep will find the work.")
            time.sleep(NOTIFY_PAUSE_S)
            if not self._requested.is_set():
                self._idle.set()
                if self._requested.is_set():
                    self._idle.clear()


_notifier = Notifier()


def notify_soon() -> None:
    """Notifies a worker soon, and keeps no one waiting: the broker is asked once for all posts of some milliseconds."""
    _notifier.ask()


def settle_notifications(limit_s: float) -> bool:
    """Waits until this process has published what `notify_soon` asked for. For tests."""
    return _notifier.settle(limit_s)


def keep_flag(flag: str = FLAG) -> None:
    """Keeps a flag from expiring while its notification waits in a long queue: a second one would wait there for ever.

    It does so for LOST_S at most.
    """
    try:
        if flag_client().exists(flag + WAITS):
            flag_client().expire(flag, FLAG_S)
    except (redis.RedisError, OSError):
        logger.warning("The notification flag could not be kept; there may be another notification.")


def clear_flag(flag: str = FLAG) -> None:
    """Clears a coalescing flag. A worker does this *before* it claims, so that later traces notify a worker again."""
    try:
        flag_client().delete(flag)
    except (redis.RedisError, OSError):
        logger.warning("The notification flag could not be cleared; it expires by itself.")
