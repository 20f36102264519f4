"""Channels that get only the messages of some alerts, or about some pages."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.exceptions import ValidationError

from alerts.channels import Terms, change_channel, create_channel, find_alert_ids, terms_of
from alerts.delivery.bodies import encode_change
from alerts.delivery.gathering import describe_changes
from alerts.models import Channel, Notice
from alerts.rules import delete_alert
from profcore.alerts.states import State
from projects.descriptions import change_issue_link, change_owners
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


def test_a_channel_of_owners_gets_what_is_about_their_functions(project: Project) -> None:
    change_owners(project, "src/ @all\nsrc/cart/ @cart @shop\n")
    for name, owners in (("every", None), ("cart", ("@cart",)), ("two", ("@all", "@shop")), ("none", ("@list",))):
        make(project, name, owners=owners)
    change_state(project, State.CONFIRMED, name="sum in src/cart/sum.ts")
    assert names_of_notices() == {"every", "cart", "two"}
    for subject in ("", "go in https://tags.example/src/tag.js", "fetch"):  # a page, a foreign script, a built-in
        Notice.objects.all().delete()
        change_state(project, State.CONFIRMED, page=f"/{subject[:2]}", name=subject)
        assert names_of_notices() == {"every"}
    for wrong in ((), ("",), ("a b",), ("@" + "x" * 100,), ("@a",) * 51):
        with pytest.raises(ValidationError) as refused:
            make(project, "wrong", owners=wrong)
        assert list(refused.value.message_dict) == ["owners"]


def test_messages_name_the_owners_and_offer_an_issue(project: Project) -> None:
    change_owners(project, "src/cart/ @cart @shop\n")
    change_issue_link(project, "https://git.example/new?title={title}&body={body}")
    change = change_state(project, State.CONFIRMED, name="sum in src/cart/sum.ts")
    assert change is not None
    (described,) = describe_changes(project, [change])
    assert described.said.lines()[-1] == ("Owners", "@cart, @shop")
    assert encode_change(described)["owners"] == ["@cart", "@shop"]
    (title,), (body,) = parse_qs(urlsplit(described.links.issue).query).values()
    assert title == "1.1 made sum in src/cart/sum.ts on /cart slower: +13 ms per view"
    assert "- Owners: @cart, @shop\n- Page: " in body


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
