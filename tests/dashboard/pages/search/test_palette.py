"""The command palette in a real browser: keys, the way back, every look. More in tests/dashboard/scripts/search."""

import re

import pytest
from django.test import Client
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.dashboard.conftest import make_people
from tests.dashboard.pages.search.browsing import open_shop
from tests.e2e.axe import find_faults
from tests.e2e.browser import save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(5)]
CHOSEN = "#palette [aria-selected=true]"


@pytest.fixture
def member(client: Client, shop: Project) -> Client:
    client.force_login(make_people(shop).member)
    return client


def test_keys_find_choose_and_open(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "quality/?release=1.0.0") as page:
        page.locator(".tabs a").first.focus()
        page.keyboard.press("Control+k")
        expect(page.locator(CHOSEN)).to_have_text(re.compile("Overview"))
        page.keyboard.press("ArrowDown")
        expect(page.locator(CHOSEN)).to_have_text(re.compile("Functions"))
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")  # from the first to the last
        expect(page.locator(CHOSEN)).to_have_text("API documentation")
        page.keyboard.press("Escape")
        expect(page.locator("#palette")).to_be_hidden()
        assert page.evaluate("document.activeElement.textContent") == "Overview"
        page.keyboard.press("Control+k")
        page.keyboard.type("dra")
        expect(page.locator(CHOSEN)).to_contain_text("draw")
        active = page.locator("#palette-find").get_attribute("aria-activedescendant")
        assert page.locator(CHOSEN).get_attribute("id") == active
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{live_server.url}/projects/shop/functions/2/?release=1.0.0")
        page.go_back(wait_until="commit")
        expect(page.locator("#palette")).to_be_hidden()
        page.locator("#search-button").click()
        page.keyboard.type("dra")
        expect(page.locator(CHOSEN)).to_contain_text("draw")
        assert find_faults(page) == []
        save_screenshot(page, "palette")
        page.mouse.click(5, 5)
        expect(page.locator("#palette")).to_be_hidden()


def test_without_a_script_the_button_leads_to_the_search_page(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "?release=1.0.0", java_script_enabled=False) as page:
        page.get_by_role("link", name="Search…").click()
        page.get_by_role("searchbox").fill("draw")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="draw app.js").click()
        expect(page).to_have_url(f"{live_server.url}/projects/shop/functions/2/?release=1.0.0")
