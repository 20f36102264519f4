"""What a failed evaluation leaves: no judged day, the time of the last one that went well, and others go on."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from alerts import evaluating
from alerts.evaluating import evaluate_due, evaluate_one
from alerts.models import AlertRule, AlertState
from alerts.new_third_parties import rules
from alerts.rules import create_alert
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.costly_days import APP, TODAY, add_functions
from tests.builders import make_project

pytestmark = pytest.mark.django_db
ASKED: Final = {"measure": "time", "by": "party", "limit": 10.0}
TAG: Final = "https://www.googletagmanager.com/gtag/js"


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


def fail(*_: object, **__: object) -> None:
    raise ValueError("no such thing")


def evaluate(alert: AlertRule, now: datetime) -> AlertRule:
    AlertRule.objects.filter(id=alert.id).update(due_at=now)
    assert evaluate_one(alert.project_id, alert.id, now)
    return AlertRule.objects.get(project_id=alert.project_id, id=alert.id)


def test_a_day_whose_evaluation_failed_is_judged_later(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    alert = create_alert(
        project=project, kind="new_third_parties", name="New", question=ASKED, now=TODAY - timedelta(days=1)
    )
    for days_ago in range(4, 2, -1):
        add_functions(project, days_ago, {APP: 0.5})
    for days_ago in range(2, 0, -1):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.2})
    first = TODAY - timedelta(days=1)
    assert evaluate(alert, first).evaluated_at == first
    assert AlertState.objects.get(alert_id=alert.id).state == State.SUSPECTED
    with monkeypatch.context() as patched:
        patched.setattr(rules, "sum_groups", fail)
        failed = evaluate(alert, TODAY)
    assert failed.problem == "ValueError: no such thing"
    assert failed.evaluated_at == first  # the last time that it went well
    assert failed.due_at > TODAY
    after = evaluate(alert, TODAY + timedelta(hours=1))
    assert (after.problem, after.evaluated_at) == (None, TODAY + timedelta(hours=1))
    assert AlertState.objects.get(alert_id=alert.id).state == State.CONFIRMED


def test_a_alert_that_runs_into_a_timeout_does_not_stop_others(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_project("zoo", name="Zoo")
    asked: list[int] = []

    def look(alert: AlertRule, now: datetime) -> None:
        asked.append(alert.project_id)
        if alert.project_id == project.pk:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = 20")
                cursor.execute("SELECT pg_sleep(5)")

    monkeypatch.setattr(evaluating, "EVALUATE", {AlertRule.Kind.RELEASE: look})
    now = timezone.now()
    assert evaluate_due(now) == 2
    assert sorted(asked) == [project.pk, other.pk]
    late = AlertRule.objects.get(project_id=project.pk)
    assert late.problem is not None
    assert late.problem.startswith("OperationalError: canceling statement due to statement timeout")
    assert late.evaluated_at is None
    assert late.due_at > now
    assert AlertRule.objects.get(project_id=other.pk).problem is None


def test_a_lost_connection_ends_the_turn(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(alert: AlertRule, now: datetime) -> None:
        monkeypatch.setattr(connection, "is_usable", lambda: False)
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(evaluating, "EVALUATE", {AlertRule.Kind.RELEASE: lose})
    with pytest.raises(OperationalError):
        evaluate_due(datetime(2026, 11, 20, tzinfo=UTC))
    monkeypatch.undo()
    assert AlertRule.objects.get(project_id=project.pk).problem is None
