"""A browser on a page of the shop, as its member sees it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.test import Client
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from tests.e2e.browser import open_signed_in


@contextmanager
def open_shop(server: LiveServer, client: Client, path: str = "", **options: object) -> Iterator[Page]:
    """A page of the shop, with the client’s session; at its end nothing may have been complained of.

    Nothing moves: axe would see colours between two themes.
    """
    with open_signed_in(server, client, f"/projects/shop/{path}", {"reduced_motion": "reduce", **options}) as page:
        yield page
