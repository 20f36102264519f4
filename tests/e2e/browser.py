"""A real Chromium, driven by Playwright, for the tests that check what a person's browser does."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

# Processes that Chromium starts for each profile, so for each page that a test opens: one for the omnibox's pop-up, and
# one for the site that may be opened next. They took half of a page's 0.9 s of a processor.
NEEDLESS_FEATURES = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
# Playwright's own list, which a second one replaces.
PLAYWRIGHTS_UNWANTED_FEATURES = (
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *(
        "HttpsFirstBalancedModeAutoEnable",
        "LensOverlay",
        "MediaRouter",
        "PaintHolding",
        "ThirdPartyStoragePartitioning",
    ),
    *("AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"),
    "AimEnabled",
)
# Every host below .test is this machine, so that pages can have origins of their own, and insecure ones.
CHROMIUM_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join((*PLAYWRIGHTS_UNWANTED_FEATURES, *NEEDLESS_FEATURES))}",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
)
# Playwright turns the back/forward cache off, but a user's browser has it, and without it a page that is left ends
# before its profiler has stopped (measured: 0 of 25 traces arrive without the cache, 25 of 25 with it).
UNWANTED_FLAGS = ("--disable-back-forward-cache",)
# Playwright's own 5 s of an expectation and 30 s of the rest are soon over on a machine that other tests load.
DEADLINE_MS = 120_000
expect.set_options(timeout=DEADLINE_MS)
SCREENSHOTS_NAME = "FIELDFLAME_TEST_SCREENSHOTS"
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
    """A Chromium of one's own. Playwright keeps an event loop in this thread while it runs."""
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


class SharedChromium:
    """The one Chromium of this process, started by the first test that needs it: a start takes 2 s of a processor."""

    def __init__(self) -> None:
        self.opened = ExitStack()
        self.browser: Browser | None = None

    def start(self) -> Browser:
        if self.browser is None:
            # From here on there is an event loop in this thread: Django would refuse its database there, and has
            # another connection for it. One that stays behind would keep the database from being dropped.
            connections.close_all()
            self.browser = self.opened.enter_context(open_chromium())
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        return self.browser

    def close(self) -> None:
        self.opened.close()
        self.browser = None


SHARED = SharedChromium()


@contextmanager
def lend_chromium() -> Iterator[Browser]:
    """Lends the Chromium of this process. What is opened in it meanwhile is closed at the end."""
    browser = SHARED.start()
    kept = list(browser.contexts)
    try:
        yield browser
    finally:
        for context in browser.contexts:
            if context not in kept:
                context.close()


@contextmanager
def open_page(browser: Browser, **options: object) -> Iterator[Page]:
    """A page with a profile of its own: no cookies, cache or storage of an earlier test."""
    context = browser.new_context(**options)  # type: ignore[arg-type]  # Playwright types each option apart
    context.set_default_timeout(DEADLINE_MS)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def open_signed_in(
    server: LiveServer, client: Client, path: str, options: Mapping[str, object], *, is_calm: bool = True
) -> Iterator[Page]:
    """Opens a page of the server with a client's session; no database beyond this point.

    Any complaint of the browser fails the test, unless it has a reason to complain (`is_calm`).
    """
    complaints: list[str] = []
    with lend_chromium() as browser, open_page(browser, **options) as page:
        page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": server.url}])
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(server.url + path)
        yield page
    assert complaints == [] or not is_calm


def save_screenshot(page: Page, name: str) -> None:
    """Writes tests/output/NAME.png, to be looked at, if FIELDFLAME_TEST_SCREENSHOTS is set; each takes 0.3 s."""
    if os.environ.get(SCREENSHOTS_NAME):
        path = SCREENSHOT_DIR / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=path, full_page=True)
