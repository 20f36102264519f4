"""Evaluating the watches that are due: one at a time, each in one transaction that also holds its claim.

A worker that is killed in the middle leaves nothing: neither a state, nor a look, nor a notice. The row's lock goes
with its connection, and the next sweep finds the watch due.

What is read from raw traces takes seconds, too long for a transaction. Such a watch is put off first. Then one day is
read, and a second transaction judges it. After a kill in between, the watch is due again when it was put off to.

A watch that fails is put off as well, so that it does not stop others. `evaluated_at` stays: it is when an evaluation
last went well, and new cost judges the days since then.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Final

from django.conf import settings
from django.db import connection, transaction

from aggregate.metrics import note
from aggregate.stopping import Stopping
from aggregate.time_budget import TurnOver, end_step
from alerts.budgets import evaluate_budget, is_read_from_traces, judge_next_day
from alerts.models import Watch
from alerts.new_third_parties.new_third_parties import evaluate_new_costs
from alerts.releases import evaluate_releases
from alerts.rules import make_release_watches
from projects.lifecycle import hold_project

logger = logging.getLogger(__name__)

DUE_AT_ONCE: Final = 500  # watches that one statement finds; the next ones follow in the same turn
MAX_PROBLEM_CHARS: Final = 200
_random: Final = Random()  # noqa: S311  # spreads watches over time

EVALUATE: Final[Mapping[str, Callable[[Watch, datetime], None]]] = {
    Watch.Kind.RELEASE: evaluate_releases,
    Watch.Kind.BUDGET: evaluate_budget,
    Watch.Kind.NEW_COST: evaluate_new_costs,
}


def evaluate_due(now: datetime) -> int:
    """Evaluates the watches that are due, and returns how many. Raises `TurnOver`."""
    make_release_watches(now)
    done = 0
    while due := list_due(now):
        worked = 0
        for project_id, watch_id in due:
            worked += evaluate_one(project_id, watch_id, now)
            end_step()
        done += worked
        if not worked:  # others are at them
            break
    return done


def list_due(now: datetime) -> list[tuple[int, int]]:
    """Returns the project and id of watches that are due, of all projects, the longest due first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT project_id, id FROM alerts_watch WHERE is_on AND due_at <= %s ORDER BY due_at LIMIT %s",
            [now, DUE_AT_ONCE],
        )
        return list(cursor.fetchall())


def evaluate_one(project_id: int, watch_id: int, now: datetime) -> bool:
    """Evaluates one watch if it is still due and nobody else is at it. Returns whether it was.

    One that fails is logged, and tried again when it is due the next time: a statement that always takes too long, too.
    If the database does not answer any more, its fault is raised.
    """
    try:
        with transaction.atomic():
            watch = _claim(project_id, watch_id, now)
            if watch is None:
                return False
            _put_off(watch, now)
            if not is_read_from_traces(watch):
                EVALUATE[watch.kind](watch, now)
                _update(watch, evaluated_at=now, problem=None)
        if is_read_from_traces(watch):
            judge_next_day(watch, now)
    except Stopping:
        raise TurnOver from None
    except Exception as error:
        if not connection.is_usable():  # nothing can be written, neither for this watch nor for the next one
            raise
        logger.exception("Watch %s of project %s could not be evaluated.", watch_id, project_id)
        with transaction.atomic():
            watch = _hold(project_id, watch_id)
            if watch is not None:
                _put_off(watch, now)
                _update(watch, problem=f"{type(error).__name__}: {error}"[:MAX_PROBLEM_CHARS])
    note("watches")
    return True


def _claim(project_id: int, watch_id: int, now: datetime) -> Watch | None:
    """Locks a watch until the transaction ends. None if it is not due, or somebody else holds it."""
    watch = _hold(project_id, watch_id, due_at__lte=now)
    return watch if watch is not None and hold_project(project_id) else None


def _hold(project_id: int, watch_id: int, **only: object) -> Watch | None:
    rows = Watch.objects.select_for_update(skip_locked=True)
    return rows.filter(project_id=project_id, id=watch_id, is_on=True, **only).first()


def _put_off(watch: Watch, now: datetime) -> None:
    """Sets when a watch is due again, a little later or sooner than others."""
    _update(watch, due_at=now + timedelta(seconds=settings.GUARD_EVERY_S * _random.uniform(0.9, 1.1)))


def _update(watch: Watch, **fields: object) -> None:
    Watch.objects.filter(project_id=watch.project_id, id=watch.id).update(**fields)
