"""A page in a real browser for the tests of the snippet."""

from collections.abc import Callable

from playwright.sync_api import Page

from tests.runner import waiting

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
    waiting.wait_until(is_so, sleep=lambda seconds: page.wait_for_timeout(1_000 * seconds))
