"""Fixtures of the tests with a browser: one Chromium and one running Fieldflame for each module."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browser import find_chromium, open_chromium, open_page
from tests.e2e.stack import Stack, run_stack


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    find_chromium()  # skips here, before a minute is spent on starting everything
    with run_stack() as stack:
        yield stack


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with open_chromium() as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with open_page(chromium, viewport={"width": 1200, "height": 900}) as page:
        yield page
