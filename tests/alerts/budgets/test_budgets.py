"""Budgets and new third parties: finished days, two in a row, previews by the same rules, and nothing on too few
views.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from alerts.budgets import days_to_judge, list_past, preview_budget
from alerts.models import AlertState, StateChange
from alerts.queries import clean_alert_query, read_alert_query
from alerts.reading import Standings, Unjudged, select_history, select_standings
from alerts.rules import accept, change_alert
from alerts.subjects import Subject
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.alerted_days import TIME, alert_it, evaluate, receive
from tests.alerts.costly_days import APP, TAG, TODAY, add_functions
from tests.builders import make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


def test_two_days_over_a_budget_are_confirmed_and_two_within_it_end_it(project: Project) -> None:
    alert = alert_it(project)
    for days_ago, factor in ((6, 1.0), (5, 2.0), (4, 2.0), (3, 1.0), (2, 1.0)):
        receive(project, days_ago, factor)
    assert evaluate(alert) == "RESOLVED"
    history = list(StateChange.objects.order_by("id").values_list("state", flat=True))
    assert history == [State.OK, State.SUSPECTED, State.CONFIRMED, State.RESOLVED]
    confirmed = StateChange.objects.get(state=State.CONFIRMED)
    assert (confirmed.value, confirmed.threshold, confirmed.views, confirmed.cause) == (210.0, 150.0, 60, "day")
    assert confirmed.at == datetime(2026, 11, 17, tzinfo=UTC)  # the end of the second day
    assert confirmed.began_at == datetime(2026, 11, 16, tzinfo=UTC)
    history_of = select_history(project, before=None, most=2)
    # The first day over the limit is in the slice.
    assert history_of[1].links.slice.endswith("/projects/shop/?from=2026-11-15T00%3A00Z")
    said = [entry.said.headline for entry in history_of]
    assert said == ["Script: within its limit again (105 ms)", "Script: over its limit (210 ms)"]
    days = [entry.said.since for entry in history_of]
    assert days == ["2026-11-15 UTC until 2026-11-18 UTC", "2026-11-15 UTC"]  # of days, not the midnight after them
    assert history_of[1].said.how_much == "210 ms script and hidden time per view; the limit is 150 ms"


def test_a_budget_that_was_accepted_is_reported_again_after_it_was_within_its_limit(project: Project) -> None:
    alert = alert_it(project)
    for days_ago in (6, 5):
        receive(project, days_ago, 2.0)
    receive(project, 0, 2.0)
    assert evaluate(alert, TODAY - timedelta(days=4)) == "CONFIRMED"
    accept(alert, Subject().key, TODAY)
    for days_ago in (4, 3):
        receive(project, days_ago, 2.0)
    assert evaluate(alert, TODAY - timedelta(days=2)) == "RESOLVED"
    receive(project, 2, 4.0)  # 420 ms of 150: twice as far over the limit as the accepted 210
    assert evaluate(alert, TODAY - timedelta(days=1)) == "SUSPECTED"
    accept(alert, Subject().key, TODAY)
    receive(project, 1, 1.0)
    assert evaluate(alert, TODAY) == "RESOLVED"
    assert evaluate(alert, TODAY + timedelta(days=1)) == "RESOLVED"  # one quiet day may be chance
    for days_ago, factor in ((-1, 1.0), (-2, 1.0), (-3, 2.0)):
        receive(project, days_ago, factor)
    assert evaluate(alert, TODAY + timedelta(days=3)) == "RESOLVED"
    assert evaluate(alert, TODAY + timedelta(days=4)) == "SUSPECTED"  # after two of them everything counts again


def test_each_day_is_judged_once_and_only_when_it_is_over(project: Project) -> None:
    alert = alert_it(project)
    receive(project, 1, 2.0)
    receive(project, 0, 2.0)
    assert evaluate(alert) == "SUSPECTED"
    assert evaluate(alert) == "SUSPECTED"  # the same day again
    midnight = datetime(2026, 11, 21, tzinfo=UTC)
    assert evaluate(alert, midnight + timedelta(hours=2)) == "SUSPECTED"  # late views may still come
    assert evaluate(alert, midnight + timedelta(hours=3)) == "CONFIRMED"


def test_too_few_views_change_nothing(project: Project) -> None:
    alert = alert_it(project)
    receive(project, 4, 5.0, views=20)
    assert evaluate(alert) == "UNKNOWN"
    receive(project, 3, 2.0)
    receive(project, 2, 5.0, views=10)
    receive(project, 1, 2.0)
    # The day between says nothing.
    assert evaluate(alert, TODAY + timedelta(days=1)) == "CONFIRMED"
    assert StateChange.objects.count() == 2


def test_a_day_at_the_very_budget_neither_alarms_nor_calms(project: Project) -> None:
    alert = alert_it(project)
    receive(project, 2, 150 / 105)
    assert evaluate(alert) == "OK"


def test_a_budget_is_of_its_page_and_device(project: Project) -> None:
    alert = alert_it(project, measure="time", limit=150.0, page="/cart", device="mobile-low")
    for days_ago in (3, 2):
        receive(project, days_ago, page="/cart", device="mobile-low")
        receive(project, days_ago, 9.0, page="/home", device="mobile-low")
        receive(project, days_ago, 9.0, page="/cart", device="desktop")
    assert evaluate(alert) == "OK"


def test_a_preview_says_how_often_it_would_have_alerted(project: Project) -> None:
    for days_ago in range(25, 1, -1):
        receive(project, days_ago, 2.0 if days_ago in (20, 19, 18, 9, 8) else 1.0)
    alert = alert_it(project)
    preview = preview_budget(project.pk, read_alert_query(alert), TODAY)
    assert (preview.alerts, len(preview.days)) == (2, 30)
    states = {day.on.day: state.name for day, state in preview.days if day.on.month == 11}
    assert (states[1], states[11], states[12]) == ("CONFIRMED", "SUSPECTED", "CONFIRMED")


@pytest.mark.parametrize("hour", [0, 2, 3, 23])
def test_a_preview_has_thirty_days_at_every_hour(hour: int) -> None:
    now = datetime(2026, 11, 24, hour, 11, tzinfo=UTC)
    days = list_past(now)
    last = date(2026, 11, 23 if hour >= 3 else 22)  # a day is settled three hours after its end
    assert (days[-1], len(days)) == (last, 30)
    assert days == sorted(set(days))


def test_a_share_of_a_function_has_a_budget(project: Project) -> None:
    alert = alert_it(project, measure="share", limit=0.3, by="function", name="tag.js")
    for days_ago in (3, 2):
        add_functions(project, days_ago, {APP: 0.5, TAG: 0.4})
    assert evaluate(alert) == "CONFIRMED"
    row = AlertState.objects.get()
    assert row.value == pytest.approx(0.4, abs=0.03)
    entry = select_history(project, before=None, most=1)[0]
    assert entry.said.headline.startswith("Script: over its limit (")
    assert "% to" in entry.said.how_sure
    assert entry.said.how_much.endswith(" of script and hidden time goes to tag.js; the limit is 30.0 %")
    for days_ago in (0, -1):
        add_functions(project, days_ago, {APP: 0.5})
    assert evaluate(alert, TODAY + timedelta(days=2)) == "RESOLVED"


def test_a_new_party_that_costs_is_confirmed_and_old_ones_are_not(project: Project, settings: Settings) -> None:
    alert = alert_it(project, "new_third_parties", by="party", limit=10.0)
    tag = "https://www.googletagmanager.com/gtag/js"
    old = "https://www.google-analytics.com/analytics.js"
    for days_ago in range(9, 5, -1):
        add_functions(project, days_ago, {APP: 0.5, old: 0.3})
    for days_ago in range(5, 0, -1):
        add_functions(project, days_ago, {APP: 0.5, old: 0.3, tag: 0.2})
    assert evaluate(alert) == "CONFIRMED"
    row = AlertState.objects.get()
    assert row.subject not in ("", "(none)")
    assert row.value == pytest.approx(21.0, abs=2.0)
    said = [entry.said.headline.partition(" (")[0] for entry in select_history(project, before=None, most=9)]
    assert said == [
        "Script: Google Tag Manager is new and costs more than the limit",
        "Script: Google Tag Manager is new and may cost more than the limit",
    ]
    assert select_standings(project.pk)[-1].about.startswith("Third parties that are new and take more than 10")


def test_in_the_first_days_of_a_project_nothing_is_new(project: Project) -> None:
    alert = alert_it(project, "new_third_parties", by="party", limit=1.0)
    add_functions(project, 2, {TAG: 0.5})
    assert evaluate(alert) == "UNKNOWN"
    assert not StateChange.objects.exists()


@pytest.mark.parametrize("kind", ["budget", "new_third_parties"])
def test_it_is_known_since_when_no_day_could_be_judged(project: Project, kind: str) -> None:
    alert = alert_it(project, kind, **({} if kind == "budget" else {"by": "party", "limit": 1.0}))

    def find() -> Standings:
        return select_standings(project.pk)[-1]

    assert find().unjudged is None  # it was not evaluated yet
    receive(project, 1, views=12)
    assert evaluate(alert) == "UNKNOWN"
    views = 12 if kind == "budget" else 0  # of new third parties the days before have fewer
    assert find().unjudged == Unjudged(since=date(2026, 11, 14), until=date(2026, 11, 19), views=views)
    text = f"Too few page views since 2026-11-14. The last day has {views}, at least 25 are needed."
    assert (find().word, find().note) == ("Unknown", text)
    receive(project, 0)
    receive(project, 2)
    assert evaluate(alert, TODAY + timedelta(days=1)) == ("OK" if kind == "budget" else "")
    assert find().unjudged is None
    assert find().word == ("Ok" if kind == "budget" else "Nothing new")
    evaluate(alert, TODAY + timedelta(days=2))  # a day without page views
    assert (find().unjudged is None) is (kind == "budget")  # a budget keeps the state that it had
    assert find().word == ("Ok" if kind == "budget" else "Unknown")


def test_days_when_a_alert_was_off_do_not_count_as_unjudged(project: Project) -> None:
    alert = alert_it(project)
    assert evaluate(alert) == "UNKNOWN"
    for is_on in (False, True):
        change_alert(alert, name=alert.name, question=alert.question, is_on=is_on, now=TODAY + timedelta(days=40))
    assert evaluate(alert, TODAY + timedelta(days=40)) == "UNKNOWN"
    unjudged = select_standings(project.pk)[-1].unjudged
    assert unjudged is not None
    assert unjudged.days == 7  # the days that it catches up, as after a pause of the server


def test_new_third_parties_that_could_not_be_evaluated_has_no_word_of_its_own(project: Project) -> None:
    alert = alert_it(project, "new_third_parties", by="party", limit=1.0)
    alert.evaluated_at = TODAY
    assert Standings(alert, {}).word == "Nothing new"
    alert.problem = "OperationalError"
    assert Standings(alert, {}).word == "Unknown"


def test_a_budget_that_was_never_judged_looks_at_late_page_views_once_a_day(project: Project) -> None:
    alert = alert_it(project)
    assert evaluate(alert) == "UNKNOWN"
    receive(project, 3)
    assert days_to_judge(alert, TODAY) == []
    assert evaluate(alert, TODAY + timedelta(days=1)) == "OK"
    assert StateChange.objects.get().at == datetime(2026, 11, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "fields", "wrong"),
    [
        ("release", TIME, "kind"),
        ("budget", {"measure": "joy", "limit": 1.0}, "measure"),
        ("budget", {"measure": "time", "limit": 0}, "limit"),
        ("budget", {"measure": "time", "limit": float("nan")}, "limit"),
        ("budget", {"measure": "time", "limit": True}, "limit"),
        ("budget", {"measure": "share", "limit": 1.5, "by": "party", "name": "x"}, "limit"),
        ("budget", {"measure": "share", "limit": 0.5, "by": "cat", "name": "x"}, "by"),
        ("budget", {"measure": "share", "limit": 0.5, "by": "party"}, "name"),
        ("budget", {**TIME, "device": "fridge"}, "device"),
        ("budget", {**TIME, "page": "x" * 401}, "page"),
        ("new_third_parties", {"by": "function", "limit": 1.0}, "by"),
        ("new_third_parties", {"by": "party", "limit": 1.0, "measure": "share"}, "measure"),
        ("new_third_parties", {"by": "party", "limit": 1.0, "name": "ads.example"}, "name"),
        ("budget", {**TIME, "by": "party", "name": "ads.example"}, "by"),
        ("budget", {**TIME, "name": "ads.example"}, "name"),
        ("budget", {**TIME, "limit": 3_600_001}, "limit"),
    ],
)
def test_a_wrong_question_is_refused_by_its_field(kind: str, fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError) as error:
        clean_alert_query(kind, fields)
    assert list(error.value.message_dict) == [wrong]


def test_a_project_has_a_bound_of_alerts(project: Project, settings: Settings) -> None:
    settings.ALERTS_MAX_RULES = 1
    alert_it(project)
    with pytest.raises(ValidationError):
        alert_it(project)
