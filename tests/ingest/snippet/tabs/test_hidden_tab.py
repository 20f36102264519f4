"""A tab that is really hidden, seen again, and frozen: what has been recorded leaves at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ingest.snippet.browsing import BUSY
from tests.ingest.snippet.site import Site
from tests.ingest.snippet.tabs.pipe import Chromium, Tab, start_chromium
from tests.runner.waiting import wait_until

pytestmark = pytest.mark.e2e
WORK = BUSY + "setInterval(() => spin(30), 100);"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    with start_chromium(tmp_path / "profile") as browser:
        yield browser


def reasons_of(site: Site) -> list[str]:
    return [envelope["reason"] for envelope in site.envelopes]


def open_recorded(site: Site, browser: Chromium) -> Tab:
    site.add_page(after=WORK)
    tab = browser.open_tab(site.url())
    wait_until(lambda: len(site.posts) > 0)
    assert tab.evaluate("document.visibilityState") == "visible"
    return tab


def test_what_a_hidden_tab_recorded_leaves_and_it_goes_on_when_seen(site: Site, browser: Chromium) -> None:
    tab = open_recorded(site, browser)
    front = browser.open_tab("about:blank")
    wait_until(lambda: "hidden" in reasons_of(site))
    assert tab.evaluate("document.visibilityState") == "hidden"
    hidden_posts = len(site.posts)
    front.close()
    tab.send("Page.bringToFront")  # the browser may choose the empty tab that it began with
    wait_until(lambda: len(site.posts) > hidden_posts)
    assert tab.evaluate("document.visibilityState") == "visible"
    envelopes = site.envelopes
    assert len({envelope["viewId"] for envelope in envelopes}) == 1
    numbers = [envelope["seq"] for envelope in envelopes]
    assert sorted(set(numbers)) == list(range(max(numbers) + 1))


def test_a_hidden_tab_records_nothing(site: Site, browser: Chromium) -> None:
    tab = open_recorded(site, browser)
    browser.open_tab("about:blank")
    wait_until(lambda: "hidden" in reasons_of(site))
    assert tab.evaluate("new Promise((done) => setTimeout(() => done(document.hidden), 3000))") is True
    assert reasons_of(site)[-1] == "hidden"


def test_a_frozen_tab_has_sent_all_it_had(site: Site, browser: Chromium) -> None:
    tab = open_recorded(site, browser)
    browser.open_tab("about:blank")
    wait_until(lambda: "hidden" in reasons_of(site))
    tab.evaluate("addEventListener('freeze', () => { document.title = 'frozen'; }, true)")
    tab.send("Page.setWebLifecycleState", state="frozen")
    before = len(site.posts)
    tab.send("Page.setWebLifecycleState", state="active")
    wait_until(lambda: tab.evaluate("document.title") == "frozen")
    assert len(site.posts) == before
