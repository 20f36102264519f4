"""Evaluating the alerts that are due: one at a time, each in one transaction that also holds its claim.

A worker that is killed in the middle leaves nothing: neither a state, nor a look, nor a notice. The row's lock goes
with its connection, and the next sweep finds the alert due.

What is read from raw traces takes seconds, too long for a transaction. Such an alert is put off first. Then one day is
read, and a second transaction judges it. After a kill in between, the alert is due again when it was put off to.

An alert that fails is put off as well, so that it does not stop others. `evaluated_at` stays: it is when an evaluation
last went well, and new third parties judges the days since then.
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
from aggregate.time_budget import BudgetSpent, end_step
from alerts.budgets import evaluate_budget, is_read_from_traces, judge_next_day
from alerts.models import AlertRule
from alerts.new_third_parties.evaluating import evaluate_new_third_parties
from alerts.releases import evaluate_releases
from alerts.rules import make_release_alerts
from projects.lifecycle import hold_project

logger = logging.getLogger(__name__)

DUE_AT_ONCE: Final = 500  # alerts that one statement finds; the next ones follow in the same turn
MAX_PROBLEM_CHARS: Final = 200
_random: Final = Random()  # noqa: S311  # spreads alerts over time

EVALUATE: Final[Mapping[str, Callable[[AlertRule, datetime], None]]] = {
    AlertRule.Kind.RELEASE: evaluate_releases,
    AlertRule.Kind.BUDGET: evaluate_budget,
    AlertRule.Kind.NEW_THIRD_PARTIES: evaluate_new_third_parties,
}


def evaluate_due(now: datetime) -> int:
    """Evaluates the alerts that are due, and returns how many. Raises `BudgetSpent`."""
    make_release_alerts(now)
    done = 0
    while due := list_due(now):
        worked = 0
        for project_id, alert_id in due:
            worked += evaluate_one(project_id, alert_id, now)
            end_step()
        done += worked
        if not worked:  # others are at them
            break
    return done


def list_due(now: datetime) -> list[tuple[int, int]]:
    """Returns the project and id of alerts that are due, of all projects, the longest due first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT project_id, id FROM alerts_alertrule WHERE is_on AND due_at <= %s ORDER BY due_at LIMIT %s",
            [now, DUE_AT_ONCE],
        )
        return list(cursor.fetchall())


def evaluate_one(project_id: int, alert_id: int, now: datetime) -> bool:
    """Evaluates one alert if it is still due and no other worker evaluates it. Returns whether it was.

    One that fails is logged, and tried again when it is due the next time: a statement that always takes too long, too.
    If the database does not answer any more, its fault is raised.
    """
    try:
        with transaction.atomic():
            alert = _claim(project_id, alert_id, now)
            if alert is None:
                return False
            _put_off(alert, now)
            if not is_read_from_traces(alert):
                EVALUATE[alert.kind](alert, now)
                _update(alert, evaluated_at=now, problem=None)
        if is_read_from_traces(alert):
            judge_next_day(alert, now)
    except Stopping:
        raise BudgetSpent from None
    except Exception as error:
        if not connection.is_usable():  # nothing can be written, neither for this alert nor for the next one
            raise
        logger.exception("Alert %s of project %s could not be evaluated.", alert_id, project_id)
        with transaction.atomic():
            alert = _hold(project_id, alert_id)
            if alert is not None:
                _put_off(alert, now)
                _update(alert, problem=f"{type(error).__name__}: {error}"[:MAX_PROBLEM_CHARS])
    note("alerts")
    return True


def _claim(project_id: int, alert_id: int, now: datetime) -> AlertRule | None:
    """Locks an alert until the transaction ends. None if it is not due, or another worker holds it."""
    alert = _hold(project_id, alert_id, due_at__lte=now)
    return alert if alert is not None and hold_project(project_id) else None


def _hold(project_id: int, alert_id: int, **only: object) -> AlertRule | None:
    rows = AlertRule.objects.select_for_update(skip_locked=True)
    return rows.filter(project_id=project_id, id=alert_id, is_on=True, **only).first()


def _put_off(alert: AlertRule, now: datetime) -> None:
    """Sets when an alert is due again, a little later or sooner than others."""
    _update(alert, due_at=now + timedelta(seconds=settings.ALERTS_EVERY_S * _random.uniform(0.9, 1.1)))


def _update(alert: AlertRule, **fields: object) -> None:
    AlertRule.objects.filter(project_id=alert.project_id, id=alert.id).update(**fields)
