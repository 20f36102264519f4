"""The command palette in a real browser: keys, slow answers, the way back, both themes and a phone."""

import re

import pytest
from django.test import Client
from playwright.sync_api import Route, expect
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.dashboard.conftest import make_people
from tests.dashboard.pages.search.browsing import open_shop
from tests.e2e.axe import find_violations
from tests.e2e.browser import save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(15)]
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


def test_a_slow_answer_is_waited_for_and_an_older_one_is_dropped(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member) as page:
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route(re.compile("find=(nothing|draw)"), hold)
        page.locator("#search-button").click()
        expect(page.locator(CHOSEN)).to_have_text(re.compile("Overview"))
        with page.expect_request(re.compile("find=nothing")):
            page.keyboard.type("nothing")
        expect(page.locator("#palette-said")).to_have_text("Searching…")
        page.locator("#palette-find").fill("")
        with page.expect_request(re.compile("find=draw")):
            page.keyboard.type("draw")
        expect(page.locator("#palette-said")).to_have_text("Searching…")
        page.keyboard.press("Enter")  # before the results: opens the first of them
        held[-1].continue_()
        expect(page).to_have_url(re.compile("/functions/2/"))
        expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_what_is_not_found_is_said_and_a_failure_too(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member) as page:
        page.keyboard.press("Control+k")
        page.keyboard.type("nowhere")
        expect(page.locator("#palette-said")).to_have_text("Nothing found for “nowhere”.")
        page.keyboard.press("Control+k")  # closes it, too
        expect(page.locator("#palette")).to_be_hidden()
        page.keyboard.press("Control+k")
        expect(page.locator(CHOSEN)).to_have_text(re.compile("Overview"))
        page.mouse.click(5, 5)
        expect(page.locator("#palette")).to_be_hidden()


def test_only_what_the_page_can_do_is_offered(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "settings/") as page:
        page.keyboard.press("Control+k")
        expect(page.locator(CHOSEN)).to_have_text(re.compile("Overview"))
        expect(page.get_by_role("option", name="Copy page link")).to_have_count(1)
        expect(page.get_by_role("option", name="Open in Firefox Profiler")).to_have_count(0)


def test_axe_finds_nothing_in_both_themes_and_on_a_phone(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member) as page:
        for name, scheme, width in (("light", "light", 1200), ("dark", "dark", 1200), ("narrow", "dark", 390)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of two words
            page.set_viewport_size({"width": width, "height": 844})
            page.locator("#search-button").click()
            page.keyboard.type("dra")
            expect(page.locator(CHOSEN)).to_contain_text("draw")
            assert find_violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            save_screenshot(page, f"palette-{name}")
            page.keyboard.press("Escape")


def test_without_a_script_the_button_leads_to_the_search_page(live_server: LiveServer, member: Client) -> None:
    with open_shop(live_server, member, "?release=1.0.0", java_script_enabled=False) as page:
        page.get_by_role("link", name="Search…").click()
        page.get_by_role("searchbox").fill("draw")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="draw app.js").click()
        expect(page).to_have_url(f"{live_server.url}/projects/shop/functions/2/?release=1.0.0")
