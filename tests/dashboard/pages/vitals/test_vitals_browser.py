"""Vitals and savings of recorded visits in a real browser, both themes and a phone, and the way from page to page."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.aggregate.jobs.running_jobs import run_jobs
from tests.dashboard.pages.vitals.shop_visits import VISITS, make_visited_shop
from tests.e2e.axe import find_violations
from tests.e2e.browser import save_screenshot
from tests.e2e.site import Look, open_as

pytestmark = [pytest.mark.e2e, pytest.mark.slow(25), pytest.mark.django_db(transaction=True)]


def test_somebody_finds_what_delays_interactions_and_what_to_fix(chromium: Browser, live_server: LiveServer) -> None:
    make_visited_shop()
    user = User.objects.get(username="member")
    for look in (Look("light", 1200), Look("dark", 390)):
        with open_as(chromium, live_server.url, user, look) as (page, alert):
            page.goto(f"{live_server.url}/projects/shop/vitals/")
            expect(page.get_by_role("heading", name="Processing")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert find_violations(page) == []
            save_screenshot(page, f"pages/vitals-{look.name}")
            page.get_by_role("link", name="Slow waits only").click()
            expect(page.get_by_role("heading", name="Longest interaction (INP)")).to_be_visible()
            page.goto(f"{live_server.url}/projects/shop/")
            page.get_by_role("link", name="What to fix first").click()
            rows = page.locator("table.list tbody tr")
            expect(rows).to_have_count(25)
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert find_violations(page) == []
            save_screenshot(page, f"pages/savings-{look.name}")
            rows.first.get_by_role("link").first.click()
            # Parts above it that come later would push it away before it asks for its content.
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
            page.get_by_role("heading", name="What would it save?").scroll_into_view_if_needed()
            expect(page.get_by_role("link", name="number 1 of what to fix first")).to_be_visible()
            assert alert.complaints == []


def test_somebody_reads_all_views_by_keys_and_shares_the_result(
    chromium: Browser, live_server: LiveServer, settings: Settings
) -> None:
    make_visited_shop()
    settings.VITALS_MAX_VIEWS = VISITS // 2
    user = User.objects.get(username="member")
    for look in (Look("light", 1200), Look("dark", 380)):
        with open_as(chromium, live_server.url, user, look) as (page, alert):
            page.goto(f"{live_server.url}/projects/shop/vitals/")
            button = page.get_by_role("button", name="Read all page views")
            expect(button).to_be_visible()
            assert find_violations(page) == []
            save_screenshot(page, f"pages/vitals-sample-{look.name}")
            button.focus()
            page.keyboard.press("Enter")
            expect(page.get_by_text("Waiting for a worker…")).to_be_visible()
            assert find_violations(page) == []
            save_screenshot(page, f"pages/vitals-job-{look.name}")
            run_jobs()
            expect(page.get_by_text(f"From all {VISITS} page views")).to_be_visible()  # the page asks by itself
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert find_violations(page) == []
            save_screenshot(page, f"pages/vitals-all-{look.name}")
            page.goto(page.url)
            expect(page.get_by_role("heading", name="Processing")).to_be_visible()
            page.get_by_role("link", name="A sample").click()
            expect(page.get_by_text("From an even sample")).to_be_visible()
            assert alert.complaints == []
