"""Keys of every page in a real browser: `/`, `?` and `g` with a letter, never while somebody types."""

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


@pytest.fixture
def member(client: Client, shop: Project) -> Client:
    client.force_login(make_people(shop).member)
    return client


def test_a_slash_searches_the_page_or_everything(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "functions/") as page:
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "q"
        page.keyboard.type("a/b?go")  # now they are letters
        assert page.evaluate("document.activeElement.value") == "a/b?go"
        expect(page.locator("dialog[open]")).to_have_count(0)
        page.goto(f"{live_server.url}/projects/shop/quality/")
        page.keyboard.press("/")
        expect(page.locator("#palette")).to_be_visible()
        page.keyboard.press("?")  # in an empty search
        expect(page.locator("#keys")).to_be_visible()
        expect(page.locator("#palette")).to_be_hidden()


def test_the_keys_of_the_page_are_shown_and_some_go_elsewhere(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "flame-graph/?release=1.0.0") as page:
        page.keyboard.press("?")
        expect(page.locator("#keys h3").first).to_have_text("Flame graph")
        assert find_faults(page) == []
        save_screenshot(page, "keys")
        page.keyboard.press("Escape")
        expect(page.locator("#keys")).to_be_hidden()
        page.locator("#flame-canvas").focus()
        page.keyboard.type("gs")  # not the canvas's own `s`
        expect(page).to_have_url(f"{live_server.url}/projects/shop/settings/")
        page.wait_for_load_state()  # its keys come with its scripts
        page.keyboard.type("gp")
        expect(page).to_have_url(f"{live_server.url}/projects/")
        page.go_back(wait_until="commit")
        page.go_back(wait_until="commit")
        expect(page).to_have_url(re.compile("/flame-graph/.*release=1.0.0"))
