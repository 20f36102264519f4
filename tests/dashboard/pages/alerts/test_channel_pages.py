"""The pages of channels: their secret, their terms, what they get, and their deliveries."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from alerts.channels import delete_channel
from alerts.delivery.gathering import gather_due
from alerts.models import Channel, Message
from alerts.rules import create_alert
from alerts.sealing import open_seal
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.state_changes import NOON, change_state
from tests.dashboard.pages.alerts.made_channels import make_channel
from tests.dashboard.pages.reading import text_of, text_of_posted

pytestmark = pytest.mark.django_db
PAGE = "/projects/shop/alerts/"
SETTINGS = "/projects/shop/settings/"
FIELDS = {"name": "Team", "addresses": "https://hooks.example/secret", "time_zone": "UTC", "is_on": "on"}


def test_the_secret_of_a_webhook_is_shown_once(owner: Client, member: Client, shop: Project) -> None:
    assert member.get(SETTINGS + "channels/new/").status_code == 403
    answer = owner.post(
        SETTINGS + "channels/new/", {**FIELDS, "kind": "webhook", "quiet_from": "22:00", "quiet_to": "07:30"}
    )
    channel = Channel.objects.get()
    secret = open_seal(channel.sealed).secret
    assert secret in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert (channel.quiet_from, channel.quiet_to) == (22 * 60, 7 * 60 + 30)
    address = f"{SETTINGS}channels/{channel.id}/"
    page = owner.get(address).content.decode()
    assert secret not in page
    assert "hooks.example/secret" not in page
    assert 'value="22:00"' in page
    assert "https://hooks.example/…" in text_of(member, SETTINGS + "alerts/")
    assert member.get(address).status_code == 403


def test_no_page_shows_a_mail_address_in_full(owner: Client, member: Client, shop: Project) -> None:
    fields = {**FIELDS, "kind": "mail", "addresses": "anna@shop.example"}
    owner.post(SETTINGS + "channels/new/", fields)
    channel = Channel.objects.get()
    problem = "550 <anna@shop.example> is unknown"
    Message.objects.create(
        project=shop,
        id=uuid4(),
        channel_id=channel.id,
        created_at=NOON,
        due_at=NOON,
        title="A",
        problem=problem,
        change_ids=[],
    )
    for hint in (channel.hint, "anna@shop.example"):  # from before, too
        Channel.objects.update(hint=hint)
        for client, page in ((member, "alerts/"), (owner, "alerts/"), (owner, f"channels/{channel.id}/")):
            text = client.get(SETTINGS + page).content.decode()
            assert "anna@" not in text
            assert "a…@shop.example" in text


def test_a_wrong_field_of_a_channel_says_so(owner: Client, shop: Project) -> None:
    answer = owner.post(SETTINGS + "channels/new/", {**FIELDS, "kind": "slack", "addresses": "http://10.0.0.1/"})
    assert answer.status_code == 400
    assert "is not a public address" in answer.content.decode()


def test_a_channel_gets_chosen_alerts_and_pages(owner: Client, member: Client, shop: Project) -> None:
    change_state(shop, State.OK)  # makes the alert on releases
    budget = create_alert(
        project=shop, kind="budget", name="Script", question={"measure": "time", "limit": 9.0}, now=NOON
    )
    channel = make_channel(shop)
    address = f"{SETTINGS}channels/{channel.id}/"
    chosen = {**FIELDS, "addresses": "", "alert_ids": str(budget.id), "pages": "/cart\n\n /checkout/* "}
    assert "The channel is saved" in text_of_posted(owner, address, **chosen)
    channel.refresh_from_db()
    assert (channel.alert_ids, channel.pages) == ([budget.id], ["/cart", "/checkout/*"])
    assert "of Script about /cart , /checkout/*" in text_of(member, SETTINGS + "alerts/")
    owner.post(f"{SETTINGS}alerts/{budget.id}/delete/")
    page = owner.get(address).content.decode()
    assert re.search(rf'value="{budget.id}"[^>]* checked> A deleted alert', page)
    assert "/checkout/*</textarea>" in page
    assert owner.post(address, {**chosen, "pages": "x" * 501}).status_code == 400
    assert owner.post(address, {**chosen, "alert_ids": "99"}).status_code == 400
    assert "The channel is saved" in text_of_posted(owner, address, **{**FIELDS, "addresses": ""})
    channel.refresh_from_db()
    assert (channel.alert_ids, channel.pages) == (None, None)


def test_a_channel_is_changed_without_its_address_and_deleted(owner: Client, shop: Project) -> None:
    channel = make_channel(shop)
    before = open_seal(channel.sealed)
    address = f"{SETTINGS}channels/{channel.id}/"
    assert "The channel is saved" in text_of_posted(owner, address, **{**FIELDS, "addresses": "", "name": "All"})
    channel = Channel.objects.get()
    assert (channel.name, open_seal(channel.sealed)) == ("All", before)
    page = owner.post(address, {**FIELDS, "addresses": "", "renew": "1"}).content.decode()
    assert open_seal(Channel.objects.get().sealed).secret in page
    assert owner.post(address, {**FIELDS, "time_zone": "Nowhere"}).status_code == 400
    assert "The channel is deleted" in text_of_posted(owner, address + "delete/")
    assert not Channel.objects.exists()
    assert owner.get(address).status_code == 404


def test_deliveries_are_listed_and_replayed(owner: Client, shop: Project) -> None:
    channel = make_channel(shop)
    change_state(shop, State.CONFIRMED)
    gather_due(NOON)
    Message.objects.update(state=Message.State.FAILED, attempts=12, problem="It answered with status 500.", status=500)
    address = f"{SETTINGS}channels/{channel.id}/"
    assert re.search(r"Failed \(500\) It answered with status 500\. 12 ", text_of(owner, address))
    message = Message.objects.get()
    assert "sent again, with the same id" in text_of_posted(owner, address, replay=str(message.id))
    message.refresh_from_db()
    assert (message.state, message.tries) == (Message.State.WAITING, 0)
    assert "on its way already" in text_of_posted(owner, address, replay=str(message.id))
    assert owner.post(address, {"replay": "7"}).status_code == 404
    assert "A test is on its way" in text_of_posted(owner, address, test="1")
    assert Message.objects.count() == 2


def test_no_more_tests_are_sent_than_a_channel_gets_in_an_hour(
    owner: Client, shop: Project, settings: Settings
) -> None:
    settings.ALERTS_ASKED_PER_HOUR = 1
    address = f"{SETTINGS}channels/{make_channel(shop).id}/"
    assert "A test is on its way" in text_of_posted(owner, address, test="1")
    assert "at most 1 tests and replays in an hour" in text_of_posted(owner, address, test="1")
    assert Message.objects.count() == 1
    sent = Message.objects.get()
    Message.objects.update(state=Message.State.SENT)
    assert "at most 1 tests and replays in an hour" in text_of_posted(owner, address, replay=str(sent.id))
    # A new channel has no new tests.
    delete_channel(Channel.objects.get())
    address = f"{SETTINGS}channels/{make_channel(shop).id}/"
    assert "at most 1 tests and replays in an hour" in text_of_posted(owner, address, test="1")
    settings.ALERTS_ASKED_PER_HOUR, settings.ALERTS_ASKED_PER_DAY = 20, 1
    assert "at most 1 tests and replays in a day" in text_of_posted(owner, address, test="1")


def test_a_channel_says_that_links_need_the_address_of_the_server(
    owner: Client, shop: Project, settings: Settings
) -> None:
    address = f"{SETTINGS}channels/{make_channel(shop).id}/"
    settings.ADDRESS = ""
    assert "Its operator sets FIELDFLAME_ADDRESS." in text_of(owner, address)
    settings.ADDRESS = "https://profiles.example.com"
    assert "FIELDFLAME_ADDRESS" not in text_of(owner, address)
