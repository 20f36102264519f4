"""What tasks of Celery share: a line of the log about what was done, and work in turns."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings

from aggregate.metrics import tallied
from aggregate.stopping import is_stopping
from aggregate.time_budget import BudgetSpent, in_time_budget
from ingest.notify import clear_flag, notify_worker
from projects.clock import database_now

logger = logging.getLogger(__name__)


@contextmanager
def log_tally(verb: str) -> Iterator[None]:
    """Logs what the block did, in one line; nothing if it found nothing to do."""
    began_s = time.monotonic()
    with tallied() as tally:
        try:
            yield
        finally:
            if tally:
                counts = ", ".join(f"{name} {count}" for name, count in tally.items())
                extra = {"did": dict(tally), "seconds": round(time.monotonic() - began_s, 3)}
                logger.info("%s: %s.", verb, counts, extra=extra)


def work_in_turns(task: str, work: Callable[[datetime], object]) -> None:
    """Works for a turn. If that is not enough, the task is sent again, behind those that wait.

    The time is the database's: maintenance compares it with what other hosts have noted.
    """
    flag = f"fieldflame:notify-{task}"
    clear_flag(flag)
    try:
        with log_tally("Kept up"), in_time_budget(settings.FOLD_TURN_S):
            work(database_now())
    except BudgetSpent:
        if not is_stopping():
            notify_worker(task, flag)
