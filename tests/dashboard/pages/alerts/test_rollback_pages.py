"""Rollbacks on pages: an admin says on an alarm that a release was rolled back, and takes it back."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from aggregate.selectors.project.announcements import select_said_rollbacks
from alerts.models import AlertRule, AlertState
from alerts.rules import make_release_alert
from profcore.alerts.states import State
from projects.models import AuditEntry, Project
from projects.releases import announce_release
from tests.alerts.state_changes import NOON, change_state
from tests.dashboard.pages.reading import text_of, text_of_posted

pytestmark = pytest.mark.django_db
PAGE = "/projects/shop/alerts/"


def test_an_admin_says_that_a_release_was_rolled_back_and_takes_it_back(
    owner: Client, member: Client, stranger: Client, shop: Project
) -> None:
    release = "<script>alert(1)</script>"
    change_state(shop, State.CONFIRMED, release=release)
    (asks,) = re.findall(r'href="(/projects/shop/alerts/[^"]+accept/)"', owner.get(PAGE).content.decode())
    assert "Or was it rolled back?" in text_of(owner, asks)
    address, form = PAGE + "rolled-back/", {"release": release}
    assert member.post(address, form).status_code == stranger.post(address, form).status_code == 404
    assert Client().post(address, form).status_code == 302
    assert owner.get(address).status_code == 405
    assert select_said_rollbacks(shop.pk, datetime.now(UTC)) == {}
    said = text_of_posted(owner, address, release=release)
    assert "It counts as rolled back." in said
    assert release not in said
    assert list(select_said_rollbacks(shop.pk, datetime.now(UTC))) == [release]
    assert "Rolled back" in text_of(member, PAGE)
    assert "In use again" not in text_of(member, PAGE)  # only admins may
    assert "It counts as in use again." in text_of_posted(owner, address, release=release, in_use="1")
    assert select_said_rollbacks(shop.pk, datetime.now(UTC)) == {}
    assert "release: 1 to" in text_of_posted(owner, address)


def test_saying_it_again_keeps_since_when_unless_that_is_to_come(owner: Client, shop: Project) -> None:
    now = datetime.now(UTC)
    earlier, planned = now - timedelta(hours=2), now + timedelta(hours=2)
    for at, is_kept in ((earlier, True), (planned, False)):
        announce_release(shop.pk, "1.1", now, {"rolled_back_at": at})
        assert "It counts as rolled back." in text_of_posted(owner, PAGE + "rolled-back/", release="1.1")
        assert (select_said_rollbacks(shop.pk, datetime.now(UTC))["1.1"] == at) is is_kept
    assert AuditEntry.objects.filter(act="release.rolled_back").count() == 3


def test_nothing_is_promised_while_no_alert_looks_at_releases(owner: Client, shop: Project) -> None:
    make_release_alert(shop.pk, NOON)
    AlertRule.objects.filter(project=shop).update(is_on=False)
    text = text_of_posted(owner, PAGE + "rolled-back/", release="1.1")
    assert "Its alarms end once the alert on new releases is switched on." in text
    assert "within minutes" not in text
    text = text_of_posted(owner, PAGE + "rolled-back/", release="1.1", in_use="1")
    assert "It counts as in use again. The alert on new releases is switched off." in text
    assert "open again" not in text


def test_a_budget_is_not_asked_about_a_rollback(owner: Client, shop: Project) -> None:
    change_state(shop, State.CONFIRMED)
    AlertState.objects.update(base_release="", release="")
    (asks,) = re.findall(r'href="(/projects/shop/alerts/[^"]+accept/)"', owner.get(PAGE).content.decode())
    assert "rolled back" not in text_of(owner, asks)
