"""The entries for Celery: notifications, sweeps and maintenance. Each makes one service call and returns nothing."""

import logging
import time
from typing import Any, Final

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.db import InterfaceError, OperationalError

from aggregate.fold.linger import LINGER
from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance.background_refold import refold_in_background
from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.packs.tidying import tidy_packs
from aggregate.maintenance.project_deletion import DELETE_TASK, delete_marked_projects
from aggregate.maintenance.retention import expire_all
from aggregate.maintenance.store_sizes import measure_store
from aggregate.semaphores import try_semaphore
from aggregate.sourcemaps.labelling import label_in_turn
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from aggregate.stopping import is_stopping, tell_to_stop
from aggregate.task_turns import log_tally, work_in_turns
from aggregate.worker_leases import drop_dead_leases
from ingest.notify import clear_flag, keep_flag, notify_worker
from projects.clock import database_now

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

    While there is more, it keeps one notification in the queue: other processes take part, and the next turn comes
    behind the tasks that wait already. So a backlog delays jobs and expiry by a turn, and a stop by a batch.
    """
    clear_flag()  # before claiming: a trace that arrives from now on notifies a worker again
    _fold_for(settings.FOLD_TURN_S)


@shared_task(name="aggregate.sweep", ignore_result=True)
def sweep() -> None:
    """Folds a batch of traces that a lost notification left pending. Sends a new notification if none is under way.

    Each notification sends the next while there is more to fold. If sweeps added theirs, more and more turns of folding
    would be in the queue before other tasks.
    """
    _fold_for(0)


def _fold_for(turn_s: float) -> None:
    with log_tally("Folded"):
        _fold_until(turn_s)


def _fold_until(turn_s: float) -> None:
    drop_dead_leases()
    ends_at_s = time.monotonic() + turn_s
    while not is_stopping():
        if fold_pending_batch(LINGER) is BatchOutcome.NOTHING_PENDING:
            if LINGER.wait():
                continue
            return
        if not notify_worker():
            keep_flag()
        if time.monotonic() >= ends_at_s:
            return


@shared_task(name=SYMBOLICATE_TASK, ignore_result=True, **RETRIES)
def symbolicate() -> None:
    """Labels funcs by source maps, for new funcs and new maps. Without a slot, the sweep tries again."""
    clear_flag(SYMBOLICATE_FLAG)
    with try_semaphore() as has_slot:
        with log_tally("Labelled"):
            has_more = has_slot and label_in_turn()
        if has_more:
            notify_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)


@shared_task(name="aggregate.merge_hours", ignore_result=True)
def merge_hours() -> None:
    """Merges hour cells of past days into day cells."""
    work_in_turns(merge_hours.name, merge_old_hours)


@shared_task(name="aggregate.roll_up_hours", ignore_result=True)
def roll_up_hours_that_ended() -> None:
    """Adds hours that are over to the roll-up of their day."""
    work_in_turns(roll_up_hours_that_ended.name, roll_up_hours)


@shared_task(name="aggregate.expire", ignore_result=True)
def expire() -> None:
    """Deletes data older than its retention."""
    work_in_turns(expire.name, expire_all)


@shared_task(name="aggregate.measure_store", ignore_result=True)
def measure_store_now() -> None:
    """Stores the size of the database."""
    measure_store(database_now())


@shared_task(name="aggregate.refold", ignore_result=True)
def refold() -> None:
    """Refolds in the background what older rules folded."""
    work_in_turns(refold.name, refold_in_background)


@shared_task(name="aggregate.tidy_packs", ignore_result=True)
def tidy_packs_of_erased() -> None:
    """Deletes what no row names any more from the object store."""
    work_in_turns(tidy_packs_of_erased.name, tidy_packs)


@shared_task(name=DELETE_TASK, ignore_result=True)
def delete_projects() -> None:
    """Deletes projects that are marked for it."""
    work_in_turns(DELETE_TASK, delete_marked_projects)
