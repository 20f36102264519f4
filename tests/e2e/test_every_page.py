"""Every page of the dashboard in a real browser, both themes and a phone: browser, policy and axe complain of none."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.state_changes import change_state
from tests.e2e.axe import find_faults, is_wider_than_the_window
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, SLUG, BrowserErrors, fill_site, open_as, page_addresses

pytestmark = [pytest.mark.e2e, pytest.mark.slow(50), pytest.mark.django_db(transaction=True)]

# So many are there at least: pages that are not found would not be missed.
LEAST_PAGES = 20
# Parts that are asked for when they are seen have been asked for then.
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def visit(page: Page, errors: BrowserErrors, address: str) -> Iterator[str]:
    """Opens a page, and yields a line for everything that is wrong with it."""
    answer = page.goto(address)
    assert answer is not None
    if answer.status != 200:
        yield f"answered {answer.status}"
    page.evaluate(TWO_FRAMES)
    expect(page.locator("[aria-busy=true]"), "a part never came").to_have_count(0)
    if is_wider_than_the_window(page):
        yield "wider than the window"
    yield from find_faults(page)
    yield from errors.complaints
    errors.complaints.clear()


# One test, since the site takes seconds to fill and the pages do not change it.
def test_every_page_is_clean_in_every_look(chromium: Browser, live_server: LiveServer) -> None:
    user = fill_site()
    change_state(Project.objects.get(slug=SLUG), State.CONFIRMED)  # the page of alerts has rows then
    addresses = page_addresses(user)
    assert len(addresses) >= LEAST_PAGES, addresses
    faults: list[str] = []
    with open_as(chromium, live_server.url, user, LOOKS[0]) as (page, errors):
        for name, path in addresses:
            faults += [f"{name}: {fault}" for fault in visit(page, errors, live_server.url + path)]
            save_screenshot(page, f"pages/{name}")
    assert faults == []
