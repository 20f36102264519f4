"""A share of what few page views run: judged by its exact share of all, and never taken for too few page views."""

from datetime import timedelta
from typing import Final

import pytest
from pytest_django import Settings

from aggregate.models import PageView
from alerts import days
from alerts.budgets import preview_budget
from alerts.days import Day, measure_days
from alerts.evaluating import evaluate_one
from alerts.models import AlertRule, AlertState
from alerts.queries import read_alert_query
from alerts.reading import select_standings
from alerts.rules import create_alert
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.costly_days import APP, TAG, TODAY, add_functions
from tests.builders import make_project

pytestmark = pytest.mark.django_db
ASKED: Final = {"measure": "share", "by": "function", "name": "tag.js", "limit": 0.1}


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


@pytest.fixture
def alert(project: Project) -> AlertRule:
    now = TODAY - timedelta(days=5)
    return create_alert(project=project, kind="budget", name="Tag", question=ASKED, now=now)


def evaluate(alert: AlertRule) -> State:
    AlertRule.objects.filter(id=alert.id).update(due_at=TODAY)
    assert evaluate_one(alert.project_id, alert.id, TODAY)
    return State(AlertState.objects.get(alert_id=alert.id).state)


def measure(alert: AlertRule, days_ago: int) -> Day:
    (day,) = measure_days(alert.project_id, read_alert_query(alert), [(TODAY - timedelta(days=days_ago)).date()])
    return day


def test_an_alarm_ends_while_a_few_page_views_still_run_it(project: Project, alert: AlertRule) -> None:
    for days_ago, ran_by in ((6, 60), (5, 60), (4, 3), (3, 3)):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.3}, ran_by={TAG: ran_by})
    assert evaluate(alert) is State.RESOLVED
    preview = preview_budget(project.pk, read_alert_query(alert), TODAY)
    assert [state for day, state in preview.days if day.views][-1] is State.RESOLVED
    rare = measure(alert, 3)
    assert (rare.low, rare.is_judged) == (None, True)
    assert rare.value == pytest.approx(0.3 * 3 / 60, rel=0.2)


def test_what_few_page_views_run_for_long_neither_alarms_nor_ends_an_alarm(project: Project, alert: AlertRule) -> None:
    for days_ago, ran_by, part in ((6, 60, 0.3), (5, 60, 0.3), (4, 3, 3.0), (3, 3, 3.0)):
        add_functions(project, days_ago, {APP: 0.5, TAG: part}, ran_by={TAG: ran_by})
    assert evaluate(alert) is State.CONFIRMED


def test_enough_page_views_are_never_too_few(
    project: Project, alert: AlertRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days_ago in (3, 2, 1):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.3}, ran_by={TAG: 2})
    assert evaluate(alert) is State.OK
    assert select_standings(project.pk)[-1].note == ""
    monkeypatch.setattr(days, "select_estimated", None)
    assert evaluate(alert) is State.OK  # no table is made again


def test_days_with_too_few_page_views_are_not_read_again(
    project: Project, alert: AlertRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_functions(project, 1, {APP: 0.5, TAG: 0.3}, views=20)
    monkeypatch.setattr(days, "select_estimated", None)
    assert evaluate(alert) is State.UNKNOWN
    monkeypatch.setattr(days, "_sum_days", None)
    assert evaluate(alert) is State.UNKNOWN


def test_a_share_that_only_page_views_beyond_the_sample_have_is_not_zero(
    project: Project, alert: AlertRule, settings: Settings
) -> None:
    settings.TABLE_STATISTICS_MAX_VIEWS = 30
    add_functions(project, 1, {APP: 0.5, TAG: 0.3}, ran_by={TAG: 20})
    day = measure(alert, 1)
    assert (day.low, day.high) == (None, None)
    assert day.value == pytest.approx(0.1, rel=0.2)
    add_functions(project, 2, {APP: 0.5})
    assert (measure(alert, 2).value, measure(alert, 2).high) == (0.0, 0.0)  # no view ran it: that is certain


def test_too_few_page_views_of_a_sample_rate_are_no_share_of_zero(project: Project, alert: AlertRule) -> None:
    add_functions(project, 1, {APP: 0.5, TAG: 0.3})
    few = PageView.objects.filter(project=project).values_list("view_id", flat=True)[:2]
    PageView.objects.filter(project=project, view_id__in=list(few)).update(sample_rate=0.01)
    assert measure(alert, 1) == Day(on=(TODAY - timedelta(days=1)).date(), views=60)
    assert evaluate(alert) is State.UNKNOWN
    note = select_standings(project.pk)[-1].note
    assert note == "Too few page views of some sample rates since 2026-11-14. The last day has 60 in all."
