"""Fixtures of the tests with a browser: one running Fieldflame with the demo for each module, and a page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from config.up.running import RunningStack, run_stack
from tests.e2e.browser import find_chromium, open_page


@pytest.fixture(scope="module")
def stack() -> Iterator[RunningStack]:
    find_chromium()  # skips here, before a minute is spent on starting everything
    with run_stack(with_demo=True) as stack:
        yield stack
        assert stack.stop() == 0


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with open_page(chromium, viewport={"width": 1200, "height": 900}) as page:
        yield page
