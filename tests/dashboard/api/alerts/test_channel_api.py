"""Channels by the API: addresses and secrets go in and do not come out, tests are bounded, deliveries are replayed."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from alerts.delivery.gathering import gather_due
from alerts.models import Channel, Message
from alerts.sealing import open_seal
from profcore.alerts.states import State
from projects.models import AuditEntry, Project
from tests.alerts.state_changes import NOON, change_state
from tests.dashboard.api.alerts.asking import BUDGET, WEBHOOK, Asker, ask_with
from tests.dashboard.conftest import People

pytestmark = pytest.mark.django_db
MAIL: dict[str, Any] = {"kind": "mail", "name": "Mail", "addresses": ["anna@shop.example", "ben@shop.example"]}


def test_the_secret_of_a_webhook_is_answered_once_and_its_address_never(coder: Asker, shop: Project) -> None:
    first = coder.ask("PUT", "channels/team", WEBHOOK)
    assert first.status_code == 201
    made = first.json()
    assert made["secret"] == open_seal(Channel.objects.get().sealed).secret
    assert "no-store" in first["Cache-Control"]
    assert made["address"] == "https://hooks.example/…"
    again = coder.ask("PUT", "channels/team", WEBHOOK)
    assert (again.status_code, again.json()) == (200, {**made, "secret": None})
    answers = [again, *(coder.ask("GET", address) for address in ("channels", "channels/team"))]
    entries = [entry.about for entry in AuditEntry.objects.all()]
    text = json.dumps([*(answer.json() for answer in answers), entries])
    assert made["secret"] not in text
    assert "very-secret" not in text
    assert [entry["name"] for entry in entries if "channel" in entry] == ["Team"]  # the second time wrote nothing


def test_a_lost_secret_is_renewed_and_signs_from_then_on(coder: Asker, shop: Project) -> None:
    before = coder.ask("PUT", "channels/team", WEBHOOK).json()["secret"]
    answer = coder.ask("POST", "channels/team/secret")
    secret = answer.json()["secret"]
    assert secret not in ("", before)
    assert "no-store" in answer["Cache-Control"]
    sealed = open_seal(Channel.objects.get().sealed)
    assert (sealed.secret, list(sealed.addresses)) == (secret, WEBHOOK["addresses"])
    coder.ask("PUT", "channels/mail", MAIL)
    assert coder.ask("POST", "channels/mail/secret").json()["field"] == "kind"


def test_mail_addresses_are_shown_in_part_only(coder: Asker, shop: Project) -> None:
    made = coder.ask("PUT", "channels/mail", MAIL).json()
    assert (made["address"], made["secret"]) == ("a…@shop.example, b…@shop.example", None)


def test_alerts_and_pages_are_named_kept_and_taken_away(coder: Asker, shop: Project) -> None:
    change_state(shop, State.OK)  # makes the alert on releases
    coder.ask("PUT", "alerts/cart", BUDGET)
    wanted = {**WEBHOOK, "alerts": ["release", "cart"], "pages": ["/cart", "/checkout/*"]}
    made = coder.ask("PUT", "channels/team", wanted).json()
    number = coder.ask("GET", "alerts/cart").json()["id"]
    assert (made["alerts"], made["pages"]) == ([0, number], ["/cart", "/checkout/*"])
    assert coder.ask("PUT", "channels/team", {**wanted, "alerts": [number, 0]}).json()["alerts"] == [0, number]
    assert AuditEntry.objects.filter(act="channel.changed").count() == 0
    coder.ask("DELETE", "alerts/cart")
    kept = coder.ask("PATCH", "channels/team", {"is_digest": True}).json()
    assert kept["alerts"] == [0, number]  # a deleted one is no reason to get all, or to refuse a change
    freed = coder.ask("PATCH", "channels/team", {"alerts": None, "pages": None}).json()
    assert (freed["alerts"], freed["pages"]) == (None, None)
    for field, wrong in (
        ("alerts", ["cart"]),
        ("alerts", "cart"),
        ("alerts", [True]),
        ("pages", "/cart"),
        ("pages", []),
    ):
        refused = coder.ask("PATCH", "channels/team", {field: wrong})
        assert (refused.status_code, refused.json()["field"]) == (400, field), wrong


def test_terms_and_addresses_are_changed_and_what_is_not_given_stays(coder: Asker, shop: Project) -> None:
    coder.ask("PUT", "channels/team", {**WEBHOOK, "quiet_from": "22:00", "quiet_to": "07:30", "is_digest": True})
    changed = coder.ask("PATCH", "channels/team", {"tells_suspected": True}).json()
    assert (changed["quiet_from"], changed["quiet_to"], changed["is_digest"]) == ("22:00", "07:30", True)
    assert changed["tells_suspected"] is True
    assert list(open_seal(Channel.objects.get().sealed).addresses) == WEBHOOK["addresses"]
    secret = open_seal(Channel.objects.get().sealed).secret
    coder.ask("PATCH", "channels/team", {"addresses": ["https://other.example/in"]})
    assert open_seal(Channel.objects.get().sealed).addresses == ("https://other.example/in",)
    assert open_seal(Channel.objects.get().sealed).secret == secret
    moved = [entry.about["address"] for entry in AuditEntry.objects.filter(act="channel.changed").order_by("pk")]
    assert moved == [False, True]
    replaced = coder.ask("PUT", "channels/team", WEBHOOK).json()
    assert (replaced["quiet_from"], replaced["is_digest"], replaced["tells_suspected"]) == (None, False, False)


def test_after_another_secret_key_a_put_brings_the_addresses_back(
    coder: Asker, shop: Project, settings: Settings
) -> None:
    coder.ask("PUT", "channels/team", WEBHOOK)
    token = coder.headers
    settings.SECRET_KEY = "another"
    asker = Asker(Client(), token)
    assert asker.ask("POST", "channels/team/secret").json()["field"] == "addresses"
    answer = asker.ask("PUT", "channels/team", WEBHOOK)
    assert (answer.status_code, bool(answer.json()["secret"])) == (200, True)
    assert list(open_seal(Channel.objects.get().sealed).addresses) == WEBHOOK["addresses"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "pager"}, "kind"),
        ({"kind": 7}, "kind"),
        ({"name": " "}, "name"),
        ({"addresses": None}, "addresses"),
        ({"addresses": "https://a.example/"}, "addresses"),
        ({"addresses": [7]}, "addresses"),
        ({"addresses": []}, "addresses"),
        ({"addresses": ["https://a.example/"] * 81}, "addresses"),
        ({"addresses": ["http://10.0.0.1/very-secret"]}, "addresses"),
        ({"addresses": ["https://a.example/\ud800"]}, "addresses"),
        ({"addresses": ["https://u:very-secret@a.example/"]}, "addresses"),
        ({"kind": "mail", "addresses": ["a\ud800@b.example"]}, "addresses"),
        ({"is_on": None}, "is_on"),
        ({"quiet_from": "25:00"}, "quiet_from"),
        ({"quiet_from": 7}, "quiet_from"),
        ({"quiet_from": "22:00"}, "quiet_to"),
        ({"time_zone": "Nowhere"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": "a\ud800\0"}, "time_zone"),
        ({"secret": "x"}, "secret"),
    ],
    ids=ascii,
)
def test_a_wrong_field_is_named_and_no_secret_with_it(coder: Asker, change: dict[str, Any], field: str) -> None:
    answer = coder.ask("PUT", "channels/team", {**WEBHOOK, **change})
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert "very-secret" not in answer.content.decode()
    assert not Channel.objects.exists()


def test_a_project_has_a_bound_of_channels_for_the_api_too(coder: Asker, settings: Settings) -> None:
    settings.ALERTS_MAX_CHANNELS = 1
    assert coder.ask("PUT", "channels/one", MAIL).status_code == 201
    assert coder.ask("PUT", "channels/two", MAIL).json()["field"] == "name"
    assert coder.ask("PUT", "channels/9", MAIL).status_code == 404
    assert coder.ask("DELETE", "channels/one").status_code == 204
    assert coder.ask("DELETE", "channels/one").status_code == 404


def test_tests_are_sent_and_bounded_by_the_hour(coder: Asker, settings: Settings) -> None:
    settings.ALERTS_ASKED_PER_HOUR = 2
    coder.ask("PUT", "channels/mail", MAIL)
    answers = [coder.ask("POST", "channels/mail/test") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert 0 < int(answers[2]["Retry-After"]) <= 3_600
    assert "at most 2 tests and replays in an hour" in answers[2].json()["detail"]
    assert answers[0].json()["state"] == "waiting"
    listed = coder.ask("GET", "channels/mail/deliveries").json()["deliveries"]
    assert {row["id"] for row in listed} == {answer.json()["id"] for answer in answers[:2]}
    assert len(coder.ask("GET", "channels/mail/deliveries?limit=1").json()["deliveries"]) == 1


def test_a_delivery_is_replayed_with_its_id(coder: Asker, shop: Project) -> None:
    coder.ask("PUT", "channels/mail", MAIL)
    change_state(shop, State.CONFIRMED)
    gather_due(NOON)
    problem = "The mail server did not take it: 550 b'<anna@shop.example> is unknown'"
    Message.objects.update(state=Message.State.FAILED, attempts=12, tries=12, problem=problem)
    [failed] = coder.ask("GET", "channels/mail/deliveries").json()["deliveries"]
    assert (failed["state"], failed["attempts"], len(failed["change_ids"])) == ("failed", 12, 1)
    assert failed["problem"] == "The mail server did not take it: 550 b'<a…@shop.example> is unknown'"
    address = f"channels/mail/deliveries/{failed['id']}/replay"
    sent = coder.ask("POST", address)
    assert (sent.status_code, sent.json()["id"], sent.json()["state"]) == (202, failed["id"], "waiting")
    assert Message.objects.get().due_at <= datetime.now(UTC)
    assert coder.ask("POST", address).status_code == 202  # it is on its way
    coder.ask("PUT", "channels/other", MAIL)
    assert coder.ask("POST", address.replace("/mail/", "/other/")).status_code == 404


def test_members_see_the_list_and_nothing_else(people: People, coder: Asker) -> None:
    coder.ask("PUT", "channels/mail", MAIL)
    client = Client()
    client.force_login(people.member)
    member = Asker(client, {})
    assert member.ask("GET", "channels").json()["channels"][0]["address"].startswith("a…@")
    assert member.ask("GET", "channels/mail/deliveries").status_code == 403
    for method, address in (
        ("PUT", "channels/mail"),
        ("PATCH", "channels/mail"),
        ("DELETE", "channels/mail"),
        ("POST", "channels/mail/secret"),
        ("POST", "channels/mail/test"),
    ):
        assert member.ask(method, address, MAIL).status_code == 403
    client.force_login(people.stranger)
    assert member.ask("GET", "channels").status_code == 404


def test_a_channel_of_another_project_is_not_found(people: People, coder: Asker) -> None:
    coder.ask("PUT", "channels/mail", MAIL)
    other = ask_with(Project.objects.get(slug="elsewhere"), "alerts")
    assert other.ask("GET", "channels/mail").status_code == 404
    assert other.ask("POST", "channels/mail/test").status_code == 404
