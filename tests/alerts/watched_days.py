"""Watches that are judged by days, and days of page views for them."""

from datetime import datetime, timedelta
from typing import Any, Final

from alerts.conditions import clean_question
from alerts.evaluating import evaluate_one
from alerts.models import Watch, WatchState
from alerts.rules import create_watch
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.costly_days import TIMES, TODAY
from tests.builders import make_timed_views

TIME: Final = {"measure": "time", "limit": 150.0}


def receive(project: Project, days_ago: int, factor: float = 1.0, views: int = 60, **cell: Any) -> None:
    """Views of one day, so many times as slow; 105 ms on average at 1."""
    times = [round(us * factor) for us in TIMES[:views]]
    make_timed_views(project, times, bucket_at=TODAY - timedelta(days=days_ago), **cell)


def watch_it(project: Project, kind: str = "budget", **question: Any) -> Watch:
    cleaned = clean_question(kind, question or TIME)
    return create_watch(project=project, kind=kind, name="Script", question=cleaned, now=TODAY - timedelta(days=5))


def evaluate(watch: Watch, now: datetime = TODAY) -> str:
    Watch.objects.filter(id=watch.id).update(due_at=now)
    assert evaluate_one(watch.project_id, watch.id, now)
    assert Watch.objects.get(id=watch.id).problem is None
    row = WatchState.objects.filter(watch_id=watch.id).first()
    return "" if row is None else State(row.state).name
