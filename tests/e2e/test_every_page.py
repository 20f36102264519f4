"""Every page of the dashboard in a real browser, both themes and a phone: browser, policy and axe complain of none."""

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from tests.e2e.axe import find_violations
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, Look, fill_site, open_as, page_addresses

pytestmark = [pytest.mark.e2e, pytest.mark.slow(60), pytest.mark.django_db(transaction=True)]
pytestmark.append(pytest.mark.usefixtures("plain_static_files"))

# So many are there at least: pages that are not found would not be missed.
LEAST_PAGES = 20


def is_wider_than_the_window(page: Page) -> bool:
    found: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return found


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_every_page_is_clean(chromium: Browser, live_server: LiveServer, look: Look) -> None:
    user = fill_site()
    found: list[str] = []
    with open_as(chromium, live_server.url, user, look) as (page, watch):
        addresses = page_addresses(user)
        assert len(addresses) >= LEAST_PAGES, addresses
        for name, path in addresses:
            answer = page.goto(live_server.url + path, wait_until="networkidle")
            assert answer is not None
            if answer.status != 200:
                found.append(f"{name}: answered {answer.status}")
            if is_wider_than_the_window(page):
                found.append(f"{name}: wider than the window")
            if page.locator("[aria-busy=true]").count():
                found.append(f"{name}: a part never came")
            found += [f"{name}: {violation}" for violation in find_violations(page)]
            found += [f"{name}: {complaint}" for complaint in watch.complaints]
            watch.complaints.clear()
            save_screenshot(page, f"pages/{look.name}/{name}")
    assert found == []
