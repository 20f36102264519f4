"""The slice bar, and times, as a person's browser has them: addresses, back and forward, a phone, keys, a time zone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.builders import make_call_tree, make_cell, make_func, make_hotspot, make_project, make_receipt
from tests.e2e.axe import find_dark_violations, find_violations
from tests.e2e.browser import lend_chromium, open_page, save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]
LIBRARY = "https://shop.example/node_modules/d3/d3.js"
PHONE = {"width": 390, "height": 800}


@pytest.fixture
def session(client: Client, transactional_db: None) -> str:
    """The session of a superuser, to whom a project without members belongs: `shop`, with two functions."""
    project = make_project("shop")
    cell = make_cell(project, js_us=9_000)
    render, push = make_func(project, "render", uri=LIBRARY), make_func(project, "push", uri=None, line=None)
    make_hotspot(cell, render, self_us=2_000, total_us=9_000)
    make_hotspot(cell, push, self_us=7_000, total_us=7_000)
    make_call_tree(cell, [(-1, render, 2_000), (0, push, 7_000)])
    make_receipt(project)
    client.force_login(User.objects.create_superuser("root"))
    return client.cookies["sessionid"].value


@contextmanager
def visit(browser: Browser, server: LiveServer, session: str, path: str, **options: object) -> Iterator[Page]:
    """A page of the project in New York; at its end nothing may have been complained of."""
    complaints: list[str] = []
    with open_page(browser, timezone_id="America/New_York", locale="en-US", **options) as page:
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        page.goto(f"{server.url}/projects/shop/{path}")
        yield page
    assert complaints == []


def go(page: Page, steps: int) -> None:
    """Goes back or forward. A page from the browser's memory loads nothing, which Playwright's own way waits for."""
    page.evaluate(f"setTimeout(() => history.go({steps}), 0)")


def test_category_and_search_live_in_the_address_and_back_and_forward_restore_them(
    live_server: LiveServer, session: str
) -> None:
    with lend_chromium() as browser, visit(browser, live_server, session, "functions/") as page:
        page.locator(".slice-bar summary", has_text="Category").focus()
        page.keyboard.press("Enter")
        for key in ("Tab", "Tab", "Tab", "Tab", "Tab", "Tab", "Space"):  # the list, then its third box behind two names
            page.keyboard.press(key)
        page.mouse.click(1_270, 300)  # beside the list: what was changed is sent
        page.wait_for_url("**/functions/?category=library")
        expect(page.locator(".functions tbody tr")).to_have_count(1)
        page.get_by_role("searchbox", name="Search functions").fill("ren")
        page.keyboard.press("Enter")
        page.wait_for_url("**/functions/?category=library&q=ren")
        page.get_by_role("link", name="Flame graph").click()
        expect(page.get_by_role("searchbox", name="Search functions")).to_have_value("ren")
        expect(page.locator("#flame-found")).to_have_text("1 function, 100 % of script time")
        page.get_by_role("searchbox", name="Search functions").fill("rend")
        page.wait_for_url("**/flame-graph/?category=library&q=rend")  # by history.replaceState
        page.get_by_role("link", name="Functions").click()
        expect(page.get_by_role("searchbox", name="Search functions")).to_have_value("rend")
        go(page, -1)
        page.wait_for_url("**/flame-graph/?category=library&q=rend", wait_until="commit")
        expect(page.get_by_role("searchbox", name="Search functions")).to_have_value("rend")
        go(page, -3)
        page.wait_for_url("**/functions/", wait_until="commit")
        expect(page.locator("[name=category]:checked")).to_have_count(0)  # it had been checked when it was left
        go(page, 1)
        page.wait_for_url("**/functions/?category=library", wait_until="commit")
        expect(page.locator("[name=category]:checked")).to_have_count(1)
        expect(page.get_by_role("searchbox", name="Search functions")).to_have_value("")


def test_on_a_phone_the_bar_is_one_button_that_says_what_is_chosen(live_server: LiveServer, session: str) -> None:
    filters = "functions/?category=first-party&q=r"
    with lend_chromium() as browser, visit(browser, live_server, session, filters, viewport=PHONE) as page:
        button = page.get_by_role("button", name="Filter First party, r")
        expect(button).to_have_attribute("aria-expanded", "false")
        expect(page.get_by_role("searchbox", name="Search functions")).to_be_hidden()
        assert find_violations(page) == [], "folded"
        button.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(page.get_by_role("link", name="Remove Search r")).to_be_visible()
        assert find_violations(page) == [], "unfolded"
        assert find_dark_violations(page) == [], "unfolded, dark"
        save_screenshot(page, "slice-bar-phone")
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_times_are_the_readers_and_go_into_the_address_as_utc(live_server: LiveServer, session: str) -> None:
    with (
        lend_chromium() as browser,
        visit(browser, live_server, session, "functions/?from=2026-11-16T09:00Z") as page,
    ):
        expect(page.locator(".facet time")).to_have_text("Nov 16, 2026, 4:00 AM")
        expect(page.locator(".facet time")).to_have_attribute("title", "2026-11-16 09:00 UTC")
        expect(page.locator(".freshness time")).to_have_text("1 min. ago")
        expect(page.locator(".freshness time")).to_have_attribute("title", re.compile(r"\([-0-9]+ [0-9:]+ UTC\)$"))
        page.locator(".slice-bar summary", has_text="Time").click()
        expect(page.get_by_label("From")).to_have_value("2026-11-16T04:00")
        page.get_by_label("From").fill("2026-11-15T22:00")
        page.locator(".choice[open]").get_by_role("button", name="Apply filters").click()
        page.wait_for_url("**/functions/?from=2026-11-16T03%3A00Z")
        page.get_by_role("link", name="Clear filters").click()
        page.wait_for_url("**/functions/")
        expect(page.locator(".facet.is-set")).to_have_count(0)


def test_without_script_times_are_utc_and_the_bar_is_a_form(live_server: LiveServer, session: str) -> None:
    with (
        lend_chromium() as browser,
        visit(browser, live_server, session, "functions/?from=2026-11-16T09:00Z", java_script_enabled=False) as page,
    ):
        expect(page.locator(".facet time")).to_have_text("2026-11-16 09:00 UTC")
        page.locator(".slice-bar summary", has_text="Time").click()
        expect(page.get_by_label("From")).to_have_value("2026-11-16T09:00Z")
        page.get_by_role("searchbox", name="Search functions").fill("push")
        page.get_by_role("searchbox", name="Search functions").press("Enter")
        page.wait_for_url("**q=push")
        expect(page.locator(".functions tbody tr")).to_have_count(1)
