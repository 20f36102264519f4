"""Every page of the dashboard in a real browser, both themes and a phone: browser, policy and axe complain of none."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.e2e.axe import COLOUR_RULES, find_violations
from tests.e2e.browser import save_screenshot
from tests.e2e.site import BrowserErrors, Look, fill_site, open_as, page_addresses

pytestmark = [pytest.mark.e2e, pytest.mark.slow(85), pytest.mark.django_db(transaction=True)]

# So many are there at least: pages that are not found would not be missed.
LEAST_PAGES = 20
# Colours change slowly: axe would see those in between. A part that waits to be seen pulses without end.
TRANSITIONS_ENDED = """() => document.getAnimations().every(
  each => each.playState === "finished" || each.effect.getComputedTiming().endTime === Infinity)"""
# Parts that are asked for when they are seen have been asked for then.
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def is_wider_than_the_window(page: Page) -> bool:
    is_wider: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return is_wider


def find_faults(page: Page, errors: BrowserErrors, address: str) -> Iterator[str]:
    """Opens a page, and yields a line for everything that is wrong with it."""
    answer = page.goto(address)
    assert answer is not None
    if answer.status != 200:
        yield f"answered {answer.status}"
    page.evaluate(TWO_FRAMES)
    expect(page.locator("[aria-busy=true]"), "a part never came").to_have_count(0)
    if is_wider_than_the_window(page):
        yield "wider than the window"
    yield from find_violations(page)
    yield from errors.complaints
    errors.complaints.clear()


# One test, since the site takes seconds to fill and the pages do not change it.
def test_every_page_is_clean_in_every_look(chromium: Browser, live_server: LiveServer) -> None:
    user = fill_site()
    addresses = page_addresses(user)
    assert len(addresses) >= LEAST_PAGES, addresses
    faults: list[str] = []
    for look in (Look("light", 1200), Look("light", 390)):
        with open_as(chromium, live_server.url, user, look) as (page, errors):
            for name, path in addresses:
                faults += [
                    f"{look.name} {name}: {fault}" for fault in find_faults(page, errors, live_server.url + path)
                ]
                save_screenshot(page, f"pages/{look.name}/{name}")
                if look.width == 1200:
                    page.emulate_media(color_scheme="dark")
                    page.wait_for_function(TRANSITIONS_ENDED)
                    faults += [f"dark {name}: {fault}" for fault in find_violations(page, COLOUR_RULES)]
                    save_screenshot(page, f"pages/dark-{look.width}/{name}")
                    page.emulate_media(color_scheme="light")
    assert faults == []
