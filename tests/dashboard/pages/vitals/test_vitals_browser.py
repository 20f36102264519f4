"""Vitals and savings of recorded visits in a real browser, in every look, and the way from page to page."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.aggregate.jobs.running_jobs import run_jobs
from tests.dashboard.pages.vitals.shop_visits import VISITS, make_visited_shop
from tests.e2e.axe import find_faults, find_violations
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, open_as

pytestmark = [pytest.mark.e2e, pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]


def test_somebody_finds_what_to_fix_and_reads_all_views_by_keys(
    chromium: Browser, live_server: LiveServer, settings: Settings
) -> None:
    settings.VITALS_MAX_VIEWS = VISITS // 2
    make_visited_shop()
    user = User.objects.get(username="member")
    with open_as(chromium, live_server.url, user, LOOKS[0]) as (page, errors):
        find_what_delays_interactions(page, live_server.url)
        find_what_to_fix(page, live_server.url)
        read_all_views(page, live_server.url)
        assert errors.complaints == []


def find_what_delays_interactions(page: Page, url: str) -> None:
    page.goto(f"{url}/projects/shop/vitals/")
    expect(page.get_by_role("heading", name="Processing")).to_be_visible()
    assert find_faults(page) == [], "a sample"
    save_screenshot(page, "pages/vitals")
    page.get_by_role("link", name="Slow waits only").click()
    expect(page.get_by_role("heading", name="Longest interaction (INP)")).to_be_visible()


def find_what_to_fix(page: Page, url: str) -> None:
    page.goto(f"{url}/projects/shop/")
    page.get_by_role("link", name="What to fix first").click()
    rows = page.locator("table.list tbody tr")
    expect(rows).to_have_count(25)
    assert find_faults(page) == [], "savings"
    save_screenshot(page, "pages/savings")
    rows.first.get_by_role("link").first.click()
    # Parts above it that come later would push it away before it asks for its content.
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.get_by_role("heading", name="What would it save?").scroll_into_view_if_needed()
    expect(page.get_by_role("link", name="number 1 of what to fix first")).to_be_visible()


def read_all_views(page: Page, url: str) -> None:
    page.goto(f"{url}/projects/shop/vitals/")
    button = page.get_by_role("button", name="Read all page views")
    expect(button).to_be_visible()
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Waiting for a worker…")).to_be_visible()
    assert find_violations(page) == [], "a job"
    run_jobs()
    expect(page.get_by_text(f"From all {VISITS} page views")).to_be_visible()  # the page asks by itself
    assert find_faults(page) == [], "all views"
    save_screenshot(page, "pages/vitals-all")
    page.goto(page.url)
    expect(page.get_by_role("heading", name="Processing")).to_be_visible()
    page.get_by_role("link", name="A sample").click()
    expect(page.get_by_text("From an even sample")).to_be_visible()
