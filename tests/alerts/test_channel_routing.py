"""Channels that get only the messages of some alerts, or about some pages."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from alerts.channels import Terms, change_channel, create_channel, find_alert_ids, terms_of
from alerts.models import Channel, Notice
from alerts.rules import delete_alert
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.alerted_days import alert_it, evaluate, receive
from tests.alerts.costly_days import TODAY
from tests.alerts.state_changes import NOON, change_state
from tests.builders import make_project

pytestmark = pytest.mark.django_db
HOOK = ["https://hooks.example/a"]


@pytest.fixture
def project() -> Project:
    return make_project("shop", name="Shop")


def make(project: Project, name: str, **terms: Any) -> Channel:
    return create_channel(project=project, kind="webhook", name=name, addresses=HOOK, terms=Terms(**terms), now=NOON)[0]


def names_of_notices() -> set[str]:
    ids = Notice.objects.values_list("channel_id", flat=True)
    return set(Channel.objects.filter(id__in=list(ids)).values_list("name", flat=True))


def test_a_channel_of_some_pages_gets_what_is_about_them(project: Project) -> None:
    make(project, "all")
    make(project, "cart", pages=("/ca*",))
    make(project, "list", pages=("/list", "/lists/*"))
    change_state(project, State.CONFIRMED, page="/cart")
    assert names_of_notices() == {"all", "cart"}
    Notice.objects.all().delete()
    change_state(project, State.CONFIRMED, page=None)  # all pages together
    assert names_of_notices() == {"all"}


def test_a_channel_of_some_alerts_gets_what_these_found(project: Project) -> None:
    budget = alert_it(project, limit=50.0, page="/cart")
    make(project, "releases", alert_ids=(0,))
    make(project, "budget", alert_ids=(budget.id,))
    make(project, "cart", pages=("/cart",))  # the page that the budget asks about
    make(project, "list", pages=("/list",))
    for days_ago in (3, 2):
        receive(project, days_ago)
    assert evaluate(budget) == "CONFIRMED"
    assert names_of_notices() == {"budget", "cart"}
    Notice.objects.all().delete()
    change_state(project, State.CONFIRMED, at=NOON + timedelta(hours=1))
    assert names_of_notices() == {"releases", "cart"}


def test_a_channel_of_a_deleted_alert_gets_its_end_and_never_all_others(project: Project) -> None:
    budget = alert_it(project, limit=50.0)
    for days_ago in (3, 2):
        receive(project, days_ago)
    assert evaluate(budget) == "CONFIRMED"
    channel = make(project, "budget", alert_ids=(budget.id,))
    delete_alert(budget, TODAY)
    assert names_of_notices() == {"budget"}
    Notice.objects.all().delete()
    change_state(project, State.CONFIRMED)
    assert not Notice.objects.exists()
    channel.refresh_from_db()
    assert change_channel(channel, name="budget", terms=terms_of(channel)) == ""  # the same again changes nothing


def test_wrong_alerts_and_pages_name_their_field(project: Project) -> None:
    budget = alert_it(project)
    change_state(project, State.OK)
    assert find_alert_ids(project.pk, ["release", str(budget.id), budget.id]) == (0, budget.id)
    for called in ([], ["nowhere"], [99], ["release"] * 1_000):
        with pytest.raises(ValidationError) as refused:
            find_alert_ids(project.pk, called)
        assert list(refused.value.message_dict) == ["alerts"]
    for pages in ((), ("",), ("/x" * 251,), ("/a\n",), ("/a",) * 51):
        with pytest.raises(ValidationError) as refused:
            make(project, "wrong", pages=pages)
        assert list(refused.value.message_dict) == ["pages"]
