"""Fixtures of the tests with a browser: a running Fieldflame with the demo, and a page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from ops.supervisor.running import RunningStack
from tests.e2e.browser import find_chromium, open_page


@pytest.fixture(scope="module")
def _has_chromium() -> None:
    find_chromium()  # skips here, before a minute is spent on starting everything


@pytest.fixture(scope="module")
def stack(_has_chromium: None, whole_stack: RunningStack) -> RunningStack:
    return whole_stack


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with open_page(chromium, viewport={"width": 1200, "height": 900}) as page:
        yield page
