"""Saved views in a real browser: saved from the filters, found in the menu and the palette."""

import re

import pytest
from django.test import Client
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.dashboard.conftest import make_people
from tests.dashboard.pages.search.browsing import open_shop
from tests.e2e.axe import PHONE, find_dark_violations, find_violations, is_wider_than_the_window
from tests.e2e.browser import save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(5)]


@pytest.fixture
def member(client: Client, shop: Project) -> Client:
    client.force_login(make_people(shop).member)
    return client


def test_a_page_is_saved_as_its_address_is_now(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "flame-graph/?release=1.0.0") as page:
        page.evaluate("history.replaceState(null, '', '?release=1.0.0&find=dr')")  # as the graph's scripts do
        page.keyboard.press("Control+k")
        page.keyboard.type("save")
        page.get_by_role("option", name="Save this view…").click()
        expect(page.locator("#save-view-name")).to_be_focused()
        expect(page.locator(".saved-none")).to_be_visible()
        page.keyboard.type("Draws")
        page.keyboard.press("Enter")
        expect(page.get_by_text("View “Draws” saved.")).to_be_visible()
        assert page.url.endswith("/projects/shop/flame-graph/?release=1.0.0&find=dr")
        page.goto(f"{live_server.url}/projects/shop/")
        page.locator("#saved-views summary").click()
        expect(page.locator(".saved-list a")).to_have_text(re.compile("Draws"))
        assert find_violations(page) == []
        assert find_dark_violations(page) == []
        page.set_viewport_size(PHONE)  # there, the menu covers parts of the page: axe says that they are small
        assert not is_wider_than_the_window(page)
        save_screenshot(page, "saved-phone")
        page.keyboard.press("Control+k")
        page.keyboard.type("draws")
        expect(page.locator("#palette [aria-selected=true]")).to_have_text(re.compile("Draws"))
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{live_server.url}/projects/shop/flame-graph/?release=1.0.0&find=dr")
        expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_without_a_script_views_are_saved_renamed_and_deleted(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "quality/?release=1.0.0", java_script_enabled=False) as page:
        page.locator("#saved-views summary").click()
        page.locator("#save-view-name").fill("Quality of 1.0.0")
        page.get_by_role("button", name="Save view").click()
        expect(page.get_by_text("View “Quality of 1.0.0” saved.")).to_be_visible()
        page.locator("#saved-views summary").click()
        page.get_by_role("link", name="Manage").click()
        page.get_by_label("Name of Quality of 1.0.0").fill("Data")
        page.get_by_role("button", name="Save Quality of 1.0.0").click()
        expect(page.get_by_role("link", name="Data", exact=True)).to_be_visible()
        page.get_by_role("button", name="Delete Data").click()
        expect(page.get_by_text("View “Data” deleted.")).to_be_visible()
