"""Celery's entries: a wake-up and the sweep. Ids in, one service call, nothing out."""

import logging
from datetime import UTC, datetime
from typing import Any, Final

from celery import shared_task
from django.db import InterfaceError, OperationalError

from aggregate.merging import merge_old_hours
from aggregate.retention import expire_all
from aggregate.rolling import roll_up_hours
from aggregate.services import BatchOutcome, fold_pending_batch
from aggregate.sourcemaps.labelling import label_in_turn
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from ingest.wake import clear_flag, wake_worker

logger = logging.getLogger(__name__)


# The database's faults are transient: a few tries with jitter, then the sweep is the retry.
RETRIES: Final[dict[str, Any]] = {
    "autoretry_for": (OperationalError, InterfaceError),
    "max_retries": 5,
    "retry_backoff": 1,
    "retry_backoff_max": 30,
    "retry_jitter": True,
}


@shared_task(name="aggregate.fold_pending", ignore_result=True, **RETRIES)
def fold_pending() -> None:
    """Folds until nothing is pending; wakes another worker while there is more, so that all of them join in."""
    clear_flag()  # before claiming: a trace that comes from now on announces itself
    while fold_pending_batch() is not BatchOutcome.NOTHING_PENDING:
        wake_worker()


@shared_task(name="aggregate.sweep", ignore_result=True)
def sweep() -> None:
    """Finds what a lost wake-up left pending."""
    fold_pending()


@shared_task(name=SYMBOLICATE_TASK, ignore_result=True, **RETRIES)
def symbolicate() -> None:
    """Labels the funcs of scripts with maps, new ones of either."""
    clear_flag(SYMBOLICATE_FLAG)
    if label_in_turn():
        wake_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)


@shared_task(name="aggregate.merge_hours", ignore_result=True)
def merge_hours() -> None:
    """Merges the hours of past days into days."""
    merge_old_hours(datetime.now(UTC))


@shared_task(name="aggregate.roll_up_hours", ignore_result=True)
def roll_up_hours_that_ended() -> None:
    """Adds the hotspots of hours that are over to those of their day."""
    roll_up_hours(datetime.now(UTC))


@shared_task(name="aggregate.expire", ignore_result=True)
def expire() -> None:
    """Deletes what is older than its retention."""
    expire_all(datetime.now(UTC))
