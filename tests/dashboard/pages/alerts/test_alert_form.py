"""The form of an alert: each kind has its own fields, and what belongs to another kind is not dropped silently."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from alerts.models import AlertRule
from projects.models import Project
from tests.builders import make_hang, now
from tests.dashboard.conftest import People
from tests.e2e.axe import find_violations
from tests.e2e.browser import save_screenshot
from tests.e2e.site import Look, open_as

FORM = "/projects/shop/settings/alerts/new/"
NEW_THIRD_PARTIES = {"name": "Tags", "about": "new_third_parties", "new_by": "party", "limit": "5", "is_on": "on"}
# What each kind shows besides the fields of all, with a word of its hint about the limit.
SHOWN = {
    "time": (set(), "the mean of a day"),
    "share": ({"Share of", "Its name"}, "per cent"),
    "inp_script": (set(), "three of four"),
    "forced_layout": (set(), "Forced layout: milliseconds"),
    "hangs": (set(), "reports a day"),
    "new_third_parties": ({"What is new"}, "cost more"),
}
OWN_LABELS = ("Share of", "Its name", "What is new")


@pytest.mark.django_db
@pytest.mark.parametrize("about", ["time", "inp_script", "forced_layout", "hangs", "new_third_parties"])
def test_a_name_without_a_share_is_an_error_and_not_dropped(owner: Client, shop: Project, about: str) -> None:
    for button in ({}, {"preview": "1"}):
        answer = owner.post(FORM, {**NEW_THIRD_PARTIES, "about": about, "subject": "react", **button})
        assert answer.status_code == 400
        wrong = wrong_fields(answer.content.decode())
        assert wrong == {"subject": "This name goes with the alert on a share. Empty the field, or choose that alert."}
    assert not AlertRule.objects.exclude(kind="release").exists()


@pytest.mark.django_db
def test_a_new_third_parties_is_of_packages_or_third_parties(owner: Client, shop: Project) -> None:
    for by in ("function", ""):
        answer = owner.post(FORM, {**NEW_THIRD_PARTIES, "by": "party", "new_by": by})
        assert answer.status_code == 400
        assert list(wrong_fields(answer.content.decode())) == ["new_by"]
    assert not AlertRule.objects.exclude(kind="release").exists()


@pytest.mark.django_db
def test_an_alert_on_hangs_counts_reports_of_all_devices(owner: Client, shop: Project) -> None:
    make_hang(shop, None, count=1_234, at=now() - timedelta(days=2))
    fields = {"name": "Hangs", "about": "hangs", "limit": "0", "device": "", "is_on": "on"}
    assert list(wrong_fields(owner.post(FORM, fields | {"device": "mobile"}).content.decode())) == ["device"]
    preview = owner.post(FORM, fields | {"preview": "1"}).content.decode()
    assert "have alerted once" in preview
    assert "1\u202f234</td>" in preview
    assert owner.post(FORM, fields).status_code == 302
    assert AlertRule.objects.get(name="Hangs").question == {"measure": "hangs", "limit": 0.0}


def wrong_fields(page: str) -> dict[str, str]:
    """Returns the first error of each field that has one."""
    fields = re.findall(r'<div class="field is-wrong">(.*?)</ul>', page, re.DOTALL)
    return {
        re.findall(r'name="(\w+)"', field)[0]: re.findall(r"<li>(.*)$", field)[0].split("</li>")[0] for field in fields
    }


@pytest.mark.django_db
def test_each_kind_of_alert_has_its_own_fields_on_the_page(owner: Client, shop: Project) -> None:
    page = owner.get(FORM).content.decode()
    groups = re.findall(r'<fieldset class="fields for-kind for-(\w+)"(.*?)</fieldset>', page, re.DOTALL)
    fields = {kind: re.findall(r'name="(\w+)"', group) for kind, group in groups}
    assert fields == {"share": ["by", "subject"], "new_third_parties": ["new_by"]}
    kinds = re.findall(r'<option value="(\w+)"', page.partition('name="about"')[2].partition("</select>")[0])
    assert re.findall(r'<span class="for-kind for-(\w+)">', page) == kinds


def choose(page: Page, kind: str) -> Locator:
    page.get_by_label("Alert", exact=True).select_option(kind)
    return page.locator("form.by-kind")


def check_kinds(page: Page) -> None:
    """Chooses each kind: its own fields and its hint are shown, and no others."""
    for kind, (labels, _) in SHOWN.items():
        form = choose(page, kind)
        for label in OWN_LABELS:
            expect(form.get_by_label(label, exact=True)).to_be_visible(visible=label in labels)
        for other, (_, other_word) in SHOWN.items():
            expect(form.locator("#id_limit_helptext").get_by_text(other_word)).to_be_visible(visible=other == kind)
        for label in ("Name", "Limit", "Page", "Device class"):
            expect(form.get_by_label(label, exact=True)).to_be_visible()


def clear_has(route: Route) -> None:
    """Serves a style sheet as a browser reads it that does not know `:has`: rules with it do not apply."""
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace(":has(", ":unknown("))


@pytest.mark.e2e
@pytest.mark.slow(5)
@pytest.mark.django_db(transaction=True)
def test_the_form_shows_the_fields_of_the_chosen_kind(
    chromium: Browser, live_server: LiveServer, people: People
) -> None:
    with open_as(chromium, live_server.url, people.owner, Look("light", 1200), java_script_enabled=False) as (
        page,
        alert,
    ):
        page.goto(live_server.url + FORM)
        check_kinds(page)
        assert alert.complaints == []
    with open_as(chromium, live_server.url, people.owner, Look("light", 380)) as (page, alert):
        page.goto(live_server.url + FORM)
        choose(page, "share")
        page.get_by_label("Name", exact=True).fill("React")
        page.get_by_label("Its name").fill("react")
        page.get_by_label("Limit").fill("20")
        choose(page, "time")
        expect(page.get_by_label("Its name")).not_to_be_visible()
        page.get_by_role("button", name="Create alert").click()
        expect(page.get_by_text("This name goes with the alert on a share")).to_be_visible()
        expect(page.get_by_label("Its name")).to_be_focused()
        assert find_violations(page) == []
        save_screenshot(page, "pages/alert-form-light-380-wrong")
        page.get_by_label("Its name").fill("")
        page.get_by_role("button", name="Create alert").click()
        expect(page.get_by_text("The alert is saved")).to_be_visible()
        page.route("**/settings.css*", clear_has)
        page.goto(live_server.url + FORM)
        for label in OWN_LABELS:
            expect(page.get_by_label(label, exact=True)).to_be_visible()
        for word in ("Only for the alert on a share", "Only for the alert on new ones", "three of four"):
            expect(page.get_by_text(word)).to_be_visible()
        assert find_violations(page) == []
        save_screenshot(page, "pages/alert-form-light-380-without-has")
