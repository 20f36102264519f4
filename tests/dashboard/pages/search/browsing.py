"""A browser on a page of the shop, as its member sees it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.test import Client
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from tests.e2e.browser import lend_chromium, open_page


@contextmanager
def open_shop(server: LiveServer, client: Client, path: str = "", **options: object) -> Iterator[Page]:
    """A page of the shop, with the client’s session; at its end nothing may have been complained of.

    Nothing moves: axe would see colours between two themes.
    """
    complaints: list[str] = []
    with lend_chromium() as browser, open_page(browser, reduced_motion="reduce", **options) as page:
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": server.url}])
        page.goto(f"{server.url}/projects/shop/{path}")
        yield page
    assert complaints == []
