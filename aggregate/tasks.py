"""The entries for Celery: wake-ups, sweeps and regular upkeep. Each makes one service call and returns nothing."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.db import InterfaceError, OperationalError

from aggregate.claimants import drop_dead_claimants
from aggregate.folding.fold import BatchOutcome, fold_pending_batch
from aggregate.folding.rests import RESTS
from aggregate.folding.rolling import roll_up_hours
from aggregate.guard.delivery.sending import send_due
from aggregate.guard.evaluating import evaluate_due
from aggregate.metrics import tallied
from aggregate.packs.tidying import tidy_packs
from aggregate.slots import try_slot
from aggregate.sourcemaps.labelling import label_in_turn
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from aggregate.stopping import is_stopping, tell_to_stop
from aggregate.turns import TurnOver, in_turn
from aggregate.upkeep.background_refold import refold_in_background
from aggregate.upkeep.merging import merge_old_hours
from aggregate.upkeep.project_deletion import DELETE_TASK, delete_marked_projects
from aggregate.upkeep.retention import expire_all
from aggregate.upkeep.store_sizes import measure_store
from ingest.clock import database_now
from ingest.wake import clear_flag, keep_flag, wake_worker

logger = logging.getLogger(__name__)


@worker_shutting_down.connect
def stop_soon(**_: object) -> None:
    """Tells the processes of this worker, whose main process got the signal, to stop after their batch."""
    tell_to_stop()


# Faults of the database are transient: a few retries with jitter, after that the sweep tries again.
RETRIES: Final[dict[str, Any]] = {
    "autoretry_for": (OperationalError, InterfaceError),
    "max_retries": 5,
    "retry_backoff": 1,
    "retry_backoff_max": 30,
    "retry_jitter": True,
}


@shared_task(name="aggregate.fold_pending", ignore_result=True, **RETRIES)
def fold_pending() -> None:
    """Folds for a turn of FOLD_TURN_S, or until nothing is pending.

    While there is more, it keeps one wake-up in the queue: other processes take part, and the next turn comes behind
    the tasks that wait already. So a backlog delays jobs and expiry by a turn, and a stop by a batch.
    """
    clear_flag()  # before claiming: a trace that arrives from now on wakes a worker again
    _fold_for(settings.FOLD_TURN_S)


@shared_task(name="aggregate.sweep", ignore_result=True)
def sweep() -> None:
    """Folds a batch of traces that a lost wake-up left pending, and sends another wake-up if none is under way.

    Each wake-up begets the next while there is more to fold. If sweeps added theirs, more and more turns of folding
    would be in the queue before other tasks.
    """
    _fold_for(0)


def _fold_for(turn_s: float) -> None:
    with _saying("Folded"):
        _fold_until(turn_s)


@contextmanager
def _saying(verb: str) -> Iterator[None]:
    """Logs what the block did, in one line; nothing if it found nothing to do."""
    began_s = time.monotonic()
    with tallied() as tally:
        try:
            yield
        finally:
            if tally:
                words = ", ".join(f"{name} {count}" for name, count in tally.items())
                extra = {"did": dict(tally), "seconds": round(time.monotonic() - began_s, 3)}
                logger.info("%s: %s.", verb, words, extra=extra)


def _fold_until(turn_s: float) -> None:
    drop_dead_claimants()
    ends_at_s = time.monotonic() + turn_s
    while not is_stopping():
        if fold_pending_batch(RESTS) is BatchOutcome.NOTHING_PENDING:
            if RESTS.wait():
                continue
            return
        if not wake_worker():
            keep_flag()
        if time.monotonic() >= ends_at_s:
            return


@shared_task(name=SYMBOLICATE_TASK, ignore_result=True, **RETRIES)
def symbolicate() -> None:
    """Labels funcs by source maps, for new funcs and new maps. Without a slot, the sweep tries again."""
    clear_flag(SYMBOLICATE_FLAG)
    with try_slot() as has_slot:
        with _saying("Labelled"):
            has_more = has_slot and label_in_turn()
        if has_more:
            wake_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)


@shared_task(name="aggregate.merge_hours", ignore_result=True)
def merge_hours() -> None:
    """Merges hour cells of past days into day cells."""
    _keep_up(merge_hours.name, merge_old_hours)


@shared_task(name="aggregate.roll_up_hours", ignore_result=True)
def roll_up_hours_that_ended() -> None:
    """Adds hours that are over to the roll-up of their day."""
    _keep_up(roll_up_hours_that_ended.name, roll_up_hours)


@shared_task(name="aggregate.expire", ignore_result=True)
def expire() -> None:
    """Deletes data older than its retention."""
    _keep_up(expire.name, expire_all)


@shared_task(name="aggregate.measure_store", ignore_result=True)
def measure_store_now() -> None:
    """Stores the size of the database."""
    measure_store(database_now())


@shared_task(name="aggregate.refold", ignore_result=True)
def refold() -> None:
    """Refolds in the background what older rules folded."""
    _keep_up(refold.name, refold_in_background)


@shared_task(name="aggregate.tidy_packs", ignore_result=True)
def tidy_packs_of_erased() -> None:
    """Deletes what no row names any more from the object store."""
    _keep_up(tidy_packs_of_erased.name, tidy_packs)


@shared_task(name="aggregate.guard", ignore_result=True)
def guard() -> None:
    """Evaluates the watches that are due."""
    _keep_up(guard.name, evaluate_due)


@shared_task(name="aggregate.send_messages", ignore_result=True)
def send_messages() -> None:
    """Sends messages about states that changed."""
    _keep_up(send_messages.name, send_due)


@shared_task(name=DELETE_TASK, ignore_result=True)
def delete_projects() -> None:
    """Deletes projects that are marked for it."""
    _keep_up(DELETE_TASK, delete_marked_projects)


def _keep_up(task: str, work: Callable[[datetime], object]) -> None:
    """Works for a turn. If that is not enough, the task is sent again, behind those that wait.

    The time is the database's: upkeep compares it with what other hosts have noted.
    """
    flag = f"fieldflame:wake-{task}"
    clear_flag(flag)
    try:
        with _saying("Kept up"), in_turn(settings.FOLD_TURN_S):
            work(database_now())
    except TurnOver:
        if not is_stopping():
            wake_worker(task, flag)
