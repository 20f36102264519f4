"""A page in a real browser for the tests of the snippet."""

from collections.abc import Callable

from playwright.sync_api import Page

from ingest.snippet.views import SNIPPET_PATH
from tests.ingest.snippet.site import ENDPOINT_PATH, Site
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


def add_bare_page(site: Site, *, options: str = "", before: str = "", after: str = "") -> None:
    """Adds a page that runs `before`, starts the bare core as a module, and runs `after` in the same module."""
    site.files["/bare.mjs"] = SNIPPET_PATH.with_name("bare.mjs").read_text()
    site.pages["/"] = (
        f"<!doctype html><title>page</title><link rel=icon href='data:,'><script>{before}</script>"
        "<script type=module>import { start, fieldflame } from '/bare.mjs';"
        f"start({{key: 'site-key', release: 'r1', endpoint: '{ENDPOINT_PATH}', {options}}});{after}</script>"
    )
