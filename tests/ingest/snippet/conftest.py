"""Fixtures of the snippet's tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browser import open_page


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page of a browser that has no other."""
    with open_page(chromium) as page:
        yield page
