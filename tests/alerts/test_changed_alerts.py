"""Alerts that are changed or deleted: what was found keeps its words, and what is open ends."""

from datetime import timedelta

import pytest

from alerts.channels import Terms, create_channel
from alerts.delivery.bodies import encode_change
from alerts.models import AlertRule, AlertState, Notice, StateChange
from alerts.reading import select_history
from alerts.rules import change_alert, delete_alert
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.alerted_days import TIME, alert_it, evaluate, receive
from tests.alerts.costly_days import APP, TODAY, add_functions
from tests.builders import make_project

GTM = "https://www.googletagmanager.com/gtag/js"
pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


def test_another_question_begins_anew_and_the_history_stays(project: Project) -> None:
    alert = alert_it(project)
    receive(project, 2)
    evaluate(alert)
    change_alert(alert, name="Script", question={**TIME, "limit": 90.0}, is_on=True, now=TODAY)
    assert not AlertState.objects.exists()
    delete_alert(alert, TODAY)
    assert StateChange.objects.count() == 1  # nothing was open
    said = select_history(project, before=None, most=1)[0].said
    assert (said.headline, said.how_much[:7]) == ("Script: within its limit (105 ms)", "105 ms ")


def test_what_was_found_keeps_the_words_of_its_question(project: Project) -> None:
    alert = alert_it(project, limit=50.0, device="desktop")
    receive(project, 2)
    receive(project, 3)
    evaluate(alert)
    share = {"measure": "share", "limit": 0.2, "by": "party", "name": "ads.example"}
    change_alert(alert, name="Renamed", question=share, is_on=True, now=TODAY)
    for entry in select_history(project, before=None, most=9):
        assert entry.said.headline.startswith("Renamed: ")
        assert (entry.said.where, entry.said.how_much.partition(";")[2]) == ("device desktop", " the limit is 50 ms")
        assert "device=desktop" in entry.links.slice


@pytest.mark.parametrize("way", ["changed", "deleted"])
def test_what_is_open_ends_with_its_question(project: Project, way: str) -> None:
    alert = alert_it(project, limit=50.0)
    receive(project, 2)
    receive(project, 3)
    assert evaluate(alert) == "CONFIRMED"
    create_channel(
        project=project, kind="webhook", name="Team", addresses=["https://hooks.example/"], terms=Terms(), now=TODAY
    )
    if way == "changed":
        change_alert(alert, name="Script", question={**TIME, "limit": 90.0}, is_on=True, now=TODAY)
    else:
        delete_alert(alert, TODAY)
    assert not AlertState.objects.exists()
    (entry,) = [entry for entry in select_history(project, before=None, most=9) if entry.change.cause == way]
    assert (entry.change.state, entry.change.was) == (State.RESOLVED, State.CONFIRMED)
    assert entry.said.headline == f"Script: no longer evaluated, since the alert was {way}"
    assert entry.said.since == f"2026-11-17 UTC until {TODAY:%Y-%m-%d %H:%M} UTC"
    assert Notice.objects.get().change_id == entry.change.id
    body = encode_change(entry)
    assert (body["alert"], body["key"]) == ({"id": alert.id, "kind": "budget", "name": "Script"}, entry.key)


def test_a_lower_limit_of_new_third_parties_is_held_against_the_last_days(project: Project) -> None:
    alert = alert_it(project, "new_third_parties", by="party", limit=50.0)
    for days_ago in range(9, 5, -1):
        add_functions(project, days_ago, {APP: 0.5})
    for days_ago in range(5, 0, -1):
        add_functions(project, days_ago, {APP: 0.5, GTM: 0.2})
    assert evaluate(alert) == "OK"
    change_alert(alert, name="Script", question={**alert.question, "limit": 10.0}, is_on=True, now=TODAY)
    assert evaluate(alert, TODAY + timedelta(minutes=5)) == "CONFIRMED"


def test_a_alert_that_was_deleted_meanwhile_is_not_changed(project: Project) -> None:
    alert = alert_it(project)
    AlertRule.objects.all().delete()
    delete_alert(alert, TODAY)  # twice is as once
    with pytest.raises(AlertRule.DoesNotExist):
        change_alert(alert, name="Script", question=TIME, is_on=False, now=TODAY)


def test_what_somebody_else_just_asked_is_compared_with_and_not_what_was_read_before(project: Project) -> None:
    alert = alert_it(project)
    read_before = AlertRule.objects.get(id=alert.id)
    other = {**alert.question, "limit": 90.0}
    change_alert(alert, name="Script", question=other, is_on=True, now=TODAY)
    receive(project, 2)
    evaluate(alert)
    change_alert(read_before, name="Script", question=other, is_on=True, now=TODAY)  # nothing is left to change
    assert AlertState.objects.exists()
    read_before = AlertRule.objects.get(id=alert.id)
    change_alert(alert, question={**other, "limit": 80.0}, now=TODAY)
    change_alert(read_before, is_on=False, now=TODAY)  # what is not given stays as somebody else left it
    stored = AlertRule.objects.get(id=alert.id)
    assert (stored.question["limit"], stored.is_on) == (80.0, False)
