"""A page in a real browser for the tests of the snippet."""

import time
from collections.abc import Callable

from playwright.sync_api import Page

from tests.ingest.snippet.site import WAIT_S

# Work that keeps its stack, for so many milliseconds.
BUSY = """
function spin(ms) {
  const end = performance.now() + ms;
  let n = 0;
  while (performance.now() < end) n += 1;
  return n;
}
"""
# Tells the page that it is hidden, or seen again: headless Chromium keeps all its tabs visible.
HIDE = """(isHidden) => {
    Object.defineProperty(document, 'hidden', {value: isHidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


def wait_until(page: Page, is_so: Callable[[], bool]) -> None:
    """Lets the browser's events through until they have made it so."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        page.wait_for_timeout(20)
