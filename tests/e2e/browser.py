"""A real Chromium, driven by Playwright, for the tests that check what a person's browser does."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

# Every host below .test is this machine, so that pages can have origins of their own, and insecure ones.
CHROMIUM_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
)
# Playwright turns the back/forward cache off, but a user's browser has it, and without it a page that is left ends
# before its profiler has stopped (measured: 0 of 25 traces arrive without the cache, 25 of 25 with it).
UNWANTED_FLAGS = ("--disable-back-forward-cache",)
# Playwright's own 5 s of an expectation and 30 s of the rest are soon over on a machine that other tests load.
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)
SCREENSHOT_DIR = Path(__file__).resolve().parent.parent / "output"


def find_chromium() -> str:
    """Returns the path of a Chromium or Chrome; skips the test, with a reason, where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        path = shutil.which(name)
        if path:
            return path
    pytest.skip("no Chromium on this machine: install the package chromium to run the browser tests")


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Playwright keeps an event loop in this thread while it runs, so close it before the next module of tests."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            headless=True,
            chromium_sandbox=os.geteuid() != 0,
            args=list(CHROMIUM_FLAGS),
            ignore_default_args=list(UNWANTED_FLAGS),
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(browser: Browser, **options: object) -> Iterator[Page]:
    """A page with a profile of its own: no cookies, cache or storage of an earlier test."""
    context = browser.new_context(**options)  # type: ignore[arg-type]  # Playwright types each option apart
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield context.new_page()
    finally:
        context.close()


def save_screenshot(page: Page, name: str) -> Path:
    """Writes tests/output/NAME.png, which is there to be looked at."""
    path = SCREENSHOT_DIR / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path, full_page=True)
    return path
