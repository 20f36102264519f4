"""Alerts that are judged by days, and days of page views for them."""

from datetime import datetime, timedelta
from typing import Any, Final

from alerts.evaluating import evaluate_one
from alerts.models import AlertRule, AlertState
from alerts.queries import clean_alert_query
from alerts.rules import create_alert
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.costly_days import TIMES, TODAY
from tests.builders import make_timed_views

TIME: Final = {"measure": "time", "limit": 150.0}


def receive(project: Project, days_ago: int, factor: float = 1.0, views: int = 60, **cell: Any) -> None:
    """Views of one day, so many times as slow; 105 ms on average at 1."""
    times = [round(us * factor) for us in TIMES[:views]]
    make_timed_views(project, times, starts_at=TODAY - timedelta(days=days_ago), **cell)


def alert_it(project: Project, kind: str = "budget", **question: Any) -> AlertRule:
    cleaned = clean_alert_query(kind, question or TIME)
    return create_alert(project=project, kind=kind, name="Script", question=cleaned, now=TODAY - timedelta(days=5))


def evaluate(alert: AlertRule, now: datetime = TODAY) -> str:
    AlertRule.objects.filter(id=alert.id).update(due_at=now)
    assert evaluate_one(alert.project_id, alert.id, now)
    assert AlertRule.objects.get(id=alert.id).problem is None
    row = AlertState.objects.filter(alert_id=alert.id).first()
    return "" if row is None else State(row.state).name
