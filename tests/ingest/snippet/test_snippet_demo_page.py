"""What the demo page tells a person, in a real browser, whatever the browser and the server can do."""

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import open_page
from tests.ingest.snippet.site import Site

pytestmark = pytest.mark.e2e

ANSWER_LIMIT_MS = 120_000  # four seconds of recording, on a machine that other tests load


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with open_page(chromium, viewport={"width": 390, "height": 844}) as page:
        yield page


def expect_state(page: Page, step: str, state: str, sentence: str) -> None:
    expect(page.locator(f"#step-{step}")).to_have_attribute("data-state", state, timeout=ANSWER_LIMIT_MS)
    expect(page.locator(f"#step-{step}")).to_contain_text(sentence)


def wait_for_names(site: Site, page: Page, names: set[str]) -> None:
    """Waits until some chunk has each name: a slow machine spreads the work over several chunks."""
    end = time.monotonic() + ANSWER_LIMIT_MS / 1000
    seen: set[str] = set()
    while not seen >= names:
        assert time.monotonic() < end, f"no chunk names {sorted(names - seen)}"
        page.wait_for_timeout(20)
        seen = {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]}


def test_an_accepted_trace_opens_the_way_to_the_dashboard(site: Site, page: Page) -> None:
    said: list[str] = []
    complaints: list[str] = []
    page.on("console", lambda message: said.append(message.text.rstrip()))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(site.url("/demo/"))
    to_dashboard = page.get_by_role("link", name="See it in the dashboard")
    expect(to_dashboard).to_be_hidden()
    expect_state(page, "record", "running", "Recording the first 4 seconds")
    expect_state(page, "send", "done", "Accepted (202)")
    expect_state(page, "record", "done", "Recorded")
    expect_state(page, "work", "done", "duplicate orders")
    expect(to_dashboard).to_be_visible()
    expect(to_dashboard).to_have_attribute("href", "../projects/demo/")
    envelope = site.envelopes[0]
    assert (envelope["page"], envelope["release"], envelope["seq"]) == ("/demo", "demo-1", 0)
    wait_for_names(site, page, {"findDuplicateOrders", "layoutCards", "measureCard", "countFolders"})
    assert complaints == []
    assert set(said) == {"fieldflame: 202"}  # of the chunks together


def test_a_narrow_screen_needs_no_sideways_scrolling(site: Site, page: Page) -> None:
    page.goto(site.url("/demo/"))
    expect_state(page, "work", "running", "round")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390


def test_the_button_records_another_page_view(site: Site, page: Page) -> None:
    page.goto(site.url("/demo/"))
    expect_state(page, "send", "done", "Accepted (202)")
    page.get_by_role("button", name="Run the work again").click()
    expect_state(page, "send", "waiting", "when the recording ends")
    expect_state(page, "send", "done", "Accepted (202)")
    first, second = dict.fromkeys(envelope["viewId"] for envelope in site.envelopes)
    assert first != second


def test_a_missing_demo_project_is_explained(site: Site, page: Page) -> None:
    site.answers = [(401, {})] * 100  # every chunk's: a view sends several
    page.goto(site.url("/demo/"))
    expect_state(page, "send", "failed", "./run create_project")
    expect(page.get_by_role("link", name="See it in the dashboard")).to_be_hidden()


def test_a_browser_without_the_api_is_told_so_at_once(site: Site, page: Page) -> None:
    page.add_init_script("delete window.Profiler")
    page.goto(site.url("/demo/"))
    expect_state(page, "record", "failed", "no JS Self-Profiling API")
    expect_state(page, "send", "failed", "Nothing to send")
