"""Sharing in two clicks from the list of projects, and reading without an account, in a real browser."""

from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.e2e.axe import find_violations
from tests.e2e.browser import open_page, save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]


@pytest.fixture
def session(member: Client) -> str:
    """The member's session cookie. No database beyond this point."""
    return member.cookies["sessionid"].value


@pytest.fixture
def guest_context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser of somebody without an account."""
    context = chromium.new_context()
    yield context
    context.close()


def log_in(page: Page, live_server: LiveServer, session: str) -> None:
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)


def test_two_clicks_share_a_page_that_reads_the_same_without_an_account(
    chromium: Browser, live_server: LiveServer, shop: Project, session: str, guest_context: BrowserContext
) -> None:
    with open_page(chromium) as page:
        log_in(page, live_server, session)
        page.goto(f"{live_server.url}/projects/")
        page.get_by_role("link", name="The shop").first.click()
        page.get_by_role("button", name="Share", exact=True).click()
        dialog = page.get_by_role("dialog", name="Share this page")
        expect(dialog.get_by_text("Link copied.")).to_be_visible()
        copied = page.evaluate("() => navigator.clipboard.readText()")
        assert dialog.get_by_label("Link to this page").input_value() == copied

        guest = guest_context.new_page()
        guest.goto(copied)
        assert "ffs_" not in guest.url
        expect(guest.get_by_text("Shared by member, read-only, until")).to_be_visible()
        expect(guest.get_by_role("heading", name="The shop")).to_be_visible()
        tabs = guest.get_by_role("navigation", name="The shop").get_by_role("link")
        assert tabs.all_inner_texts() == ["Overview", "Functions", "Flame graph", "Compare", "Quality"]
        assert find_violations(guest) == []
        save_screenshot(guest, "pages/guest-overview")


def test_the_shared_page_has_its_filters_and_ends_when_it_is_revoked(
    chromium: Browser, live_server: LiveServer, shop: Project, session: str, guest_context: BrowserContext
) -> None:
    complaints: list[str] = []
    with open_page(chromium) as page:
        log_in(page, live_server, session)
        page.goto(f"{live_server.url}/projects/shop/flame-graph/?page=/cart&release=1.0.0")
        page.get_by_role("button", name="Share", exact=True).click()
        dialog = page.get_by_role("dialog", name="Share this page")
        expect(dialog.get_by_text("Link copied.")).to_be_visible()
        assert find_violations(page) == []
        save_screenshot(page, "pages/share-popover")
        dialog.get_by_role("button", name="30 days").click()
        expect(dialog.get_by_text("(30 days)")).to_be_visible()
        url = dialog.get_by_label("Link to this page").input_value()

        guest = guest_context.new_page()
        guest.on("console", lambda message: complaints.append(message.text))
        guest.on("pageerror", lambda error: complaints.append(str(error)))
        guest.goto(url)
        assert unquote(guest.url).endswith("/projects/shop/flame-graph/?page=/cart&release=1.0.0")
        expect(guest.locator("#flame-facts")).to_contain_text("1 page view")  # the tree is fetched below the link
        expect(guest.get_by_role("form", name="Filters")).to_contain_text("/cart")
        guest.get_by_role("link", name="Functions", exact=True).click()
        expect(guest.get_by_role("link", name="draw")).to_be_visible()
        guest.get_by_role("link", name="draw").click()
        expect(guest.get_by_text("Views that ran it").first).to_be_visible()  # a part
        assert complaints == []

        dialog.get_by_role("button", name="Revoke").click()
        expect(dialog.get_by_text("The link is revoked, and no longer works.")).to_be_visible()
        expect(dialog.get_by_label("Link to this page")).to_be_hidden()
        guest.get_by_role("link", name="Overview", exact=True).click()
        expect(guest.get_by_role("heading", name="This link has ended")).to_be_visible()


def test_without_the_clipboard_the_link_is_selected(
    chromium: Browser, live_server: LiveServer, shop: Project, session: str
) -> None:
    with open_page(chromium) as page:
        log_in(page, live_server, session)
        page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        page.goto(f"{live_server.url}/projects/shop/")
        page.get_by_role("button", name="Share", exact=True).click()
        dialog = page.get_by_role("dialog", name="Share this page")
        expect(dialog.get_by_text("The link is selected")).to_be_visible()
        field = dialog.get_by_label("Link to this page")
        expect(field).to_be_focused()
        assert page.evaluate("() => String(getSelection())") == field.input_value()
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(page.get_by_role("button", name="Share", exact=True)).to_be_focused()
