"""Below a path, in a real browser: what pages' scripts ask for is below it too, and the demo page records itself."""

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from projects.creation import create_project
from tests.deploy.below_path.serving import PASSWORD, PATH, run_below_path, set_slow_password
from tests.e2e.browser import open_page, save_screenshot
from tests.e2e.site import SLUG, BrowserErrors, fill_site

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.e2e,
    pytest.mark.stack,
    pytest.mark.slow(40),
    pytest.mark.django_db(transaction=True),
]

TABS: Final = ("Functions", "Flame graph", "Compare", "Vitals", "Views", "Quality", "Settings")


def log_in(page: Page, url: str) -> None:
    page.goto(f"{url}{PATH}/projects/{SLUG}/")
    page.get_by_label("User name", exact=True).fill("admin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{url}{PATH}/projects/{SLUG}/")


def wait_for_parts(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_pages_and_their_scripts_keep_to_the_path(chromium: Browser, tmp_path: Path) -> None:
    set_slow_password(fill_site())
    create_project(slug="demo", key="demo", origins=["*"])
    asked: list[str] = []
    with (
        run_below_path(tmp_path) as server,
        open_page(chromium, viewport={"width": 1200, "height": 900}) as page,
    ):
        url = f"http://127.0.0.1:{server.port}"
        errors = BrowserErrors()
        page.on("console", errors.add_console)
        page.on("pageerror", lambda error: errors.complaints.append(str(error)))
        page.on("requestfailed", errors.add_failure)
        page.on("request", lambda request: asked.append(request.url))
        log_in(page, url)
        for tab in TABS:
            page.get_by_role("navigation").get_by_role("link", name=tab, exact=True).first.click()
            wait_for_parts(page)
            save_screenshot(page, f"below-a-path/{tab}")
        search_and_go(page)
        with page.expect_response(lambda answer: "/ingest/v1/traces" in answer.url) as posted:
            page.goto(f"{url}{PATH}/demo/")
        assert (posted.value.status, posted.value.url) == (202, f"{url}{PATH}/ingest/v1/traces?key=demo")
    assert [address for address in asked if address.startswith(url) and not address.startswith(f"{url}{PATH}/")] == []
    assert len(asked) > 50
    assert errors.complaints == []


def search_and_go(page: Page) -> None:
    """Finds a function by the palette, and opens it by a key."""
    page.keyboard.press("/")
    page.keyboard.type("render")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    wait_for_parts(page)
    save_screenshot(page, "below-a-path/found")
