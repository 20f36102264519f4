"""Previews of new third parties: the same answers as the evaluation day by day, and honest about days without
history.
"""

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from alerts.days import DayCosts
from alerts.evaluating import evaluate_one
from alerts.models import AlertRule, StateChange
from alerts.new_third_parties import rules
from alerts.new_third_parties.previews import DayUse, NewThirdPartiesPreview, preview_new_third_parties
from alerts.queries import AlertQuery
from alerts.rules import create_alert
from profcore.alerts.states import State
from profcore.times import start_of_day
from projects.models import Project
from tests.alerts.costly_days import APP, TODAY, add_functions
from tests.builders import make_project

pytestmark = pytest.mark.django_db
ASKED: dict[str, Any] = {"measure": "time", "by": "party", "limit": 10.0}
OLD = "https://www.google-analytics.com/analytics.js"
TAG = "https://www.googletagmanager.com/gtag/js"
PIXEL = "https://connect.facebook.net/en_US/fbevents.js"


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


def day(days_ago: int) -> date:
    return (TODAY - timedelta(days=days_ago)).date()


def preview(project: Project, **question: Any) -> NewThirdPartiesPreview:
    return preview_new_third_parties(project.pk, AlertQuery(**{**ASKED, **question}), TODAY)


def test_it_tells_what_was_new_and_cost_more_and_on_which_day(project: Project) -> None:
    for days_ago in range(12, 0, -1):
        new = {TAG: 0.2} if days_ago <= 6 else {}
        cheap = {PIXEL: 0.004} if days_ago <= 4 else {}
        add_functions(project, days_ago, {APP: 0.5, OLD: 0.3, **new, **cheap})
    answer = preview(project)
    tag, pixel = answer.parties
    assert (answer.alerts, answer.reported) == (1, [tag])
    assert (tag.first_on, tag.reported_on, tag.state) == (day(6), [day(5)], State.CONFIRMED)
    assert tag.value == pytest.approx(21.0, abs=2.0)
    assert tag.low is not None
    assert tag.high is not None
    assert tag.low < tag.value < tag.high
    assert (pixel.first_on, pixel.reported_on, pixel.low) == (day(4), [], None)
    assert pixel.value == pytest.approx(0.42, abs=0.1)
    by_day = {row.on: row for row in answer.days}
    assert [(on, row.new) for on, row in by_day.items() if row.new] == [(day(6), 1), (day(4), 1)]
    assert [on for on, row in by_day.items() if row.alerts] == [day(5)]


def test_days_without_history_or_views_are_not_judged_and_say_so(project: Project) -> None:
    for days_ago in (4, 3, 1):
        add_functions(project, days_ago, {APP: 0.5, f"https://a{days_ago}.example/a.js": 0.3})
    answer = preview(project)
    uses = {row.on: row.use for row in answer.days}
    assert (uses[day(4)], uses[day(3)], uses[day(2)]) == (DayUse.NO_HISTORY, DayUse.JUDGED, DayUse.TOO_FEW)
    assert (answer.judged_days, answer.days_without_history, answer.days_with_few_views) == (2, 1, 27)
    assert answer.thin_days == 2  # the project began some days before
    assert [row.days_before for row in answer.days][-3:] == [1, 2, 3]
    assert "a4.example" not in {party.name for party in answer.parties}


@pytest.mark.slow(20)
def test_what_ran_within_four_weeks_is_not_new_and_after_them_it_is(project: Project) -> None:
    for days_ago in range(45, 0, -1):
        add_functions(project, days_ago, {APP: 0.5, **({TAG: 0.2} if days_ago in (45, 44, 17, 15, 14) else {})})
    answer = preview(project)
    assert answer.parties == []  # day 17 is 27 days after day 44
    assert answer.thin_days < answer.judged_days
    for days_ago in (73, 72):
        add_functions(project, days_ago, {APP: 0.5})
    assert preview_new_third_parties(project.pk, AlertQuery(**ASKED), TODAY + timedelta(days=2)).parties == []


@pytest.mark.slow(20)
def test_it_agrees_with_the_evaluation_day_by_day(project: Project) -> None:
    start = TODAY - timedelta(days=29)
    alert = create_alert(project=project, kind="new_third_parties", name="New", question=ASKED, now=start)
    ran = {TAG: {20, 19, 18, 9, 8, 7, 6}, PIXEL: {16, 15, 14, 13, 12, 11}, OLD: set(range(34, 0, -1))}
    for days_ago in range(34, 0, -1):
        if days_ago not in {17, 10}:
            add_functions(project, days_ago, {APP: 0.4, **{uri: 0.2 for uri, days in ran.items() if days_ago in days}})
    for days_ago in range(28, -1, -1):
        now = start_of_day(TODAY - timedelta(days=days_ago)) + timedelta(hours=4)
        AlertRule.objects.filter(id=alert.id).update(due_at=now)
        assert evaluate_one(project.pk, alert.id, now)
    confirmed = StateChange.objects.filter(state=State.CONFIRMED).order_by("id")
    reported = sorted((on, party.name) for party in preview(project).reported for on in party.reported_on)
    assert reported == sorted(((change.at - timedelta(days=1)).date(), change.subject) for change in confirmed)
    assert len(reported) >= 2


def test_days_that_cannot_be_judged_are_not_estimated(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for days_ago in range(8, 0, -1):
        add_functions(project, days_ago, {APP: 0.5, OLD: 0.3, **({PIXEL: 0.004} if days_ago < 5 else {})})
    estimated: list[date] = []

    def note(_project: int, _question: AlertQuery, on: date) -> DayCosts:
        estimated.append(on)
        return DayCosts(is_too_few=False, costs={})

    monkeypatch.setattr(rules, "select_costs", note)
    assert [party.state for party in preview(project).parties] == [State.OK]
    assert estimated == []
    add_functions(project, 0, {APP: 0.5, TAG: 0.2})
    later: datetime = TODAY + timedelta(days=1)
    preview_new_third_parties(project.pk, AlertQuery(**ASKED), later)
    assert estimated == [TODAY.date()]
