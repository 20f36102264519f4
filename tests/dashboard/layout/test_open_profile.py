"""The button hands the profile to the viewer's window, to its origin alone, and says in words what goes wrong.

A real browser, this server, and a stand-in for the viewer that speaks its messages.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.test import Client
from playwright.sync_api import BrowserContext, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.dashboard.layout.viewer import STAND_IN, VIEWER
from tests.e2e.browser import lend_chromium
from tests.format_judges import MODULES, find_node

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

# Another origin that claims to be ready, from the right window.
IMPOSTOR = STAND_IN.replace(
    "<title>viewer</title>", "<script>location = 'https://impostor.test/' + location.search</script>"
)


@contextmanager
def open_page(live_server: LiveServer, member: Client, viewer: str) -> Iterator[tuple[BrowserContext, Page]]:
    """Opens the page of /cart as the member, with `viewer` served as the viewer. No database beyond this point."""
    session = member.cookies["sessionid"].value
    with lend_chromium() as browser:
        context = browser.new_context()
        context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        context.route(f"{VIEWER}/**", lambda route: route.fulfill(content_type="text/html", body=viewer))
        context.route("https://impostor.test/**", lambda route: route.fulfill(content_type="text/html", body=STAND_IN))
        page = context.new_page()
        page.goto(f"{live_server.url}/projects/shop/functions/?page=/cart")
        yield context, page


@pytest.fixture
def viewer_origin(settings: Settings) -> None:
    settings.VIEWER_ORIGIN = VIEWER


@pytest.mark.usefixtures("viewer_origin", "shop")
class TestOpenInFirefoxProfiler:
    def test_the_viewer_gets_the_slices_profile(self, live_server: LiveServer, member: Client) -> None:
        with open_page(live_server, member, STAND_IN) as (_, page):
            with page.expect_popup() as popup:
                page.get_by_role("button", name="Open in Firefox Profiler").click()
            viewer = popup.value
            expect(viewer.locator("#got")).not_to_be_empty()
            assert viewer.url == f"{VIEWER}/from-post-message/calltree/?profileName=shop%20%2Fcart"
            assert {"main", "draw"} <= set(json.loads(viewer.locator("#got").inner_text()))
            expect(page.locator("#open-status")).to_have_text("Opened in a new window.")
            expect(page.get_by_role("button", name="Open in Firefox Profiler")).to_be_enabled()
            page.locator("#open-profile").evaluate("button => { button.dataset.profileSearch = 'a & b'; }")
            with page.expect_popup() as popup:
                page.locator("#open-profile").click()
            popup.value.wait_for_url("**&search=a%20%26%20b")

    def test_the_menu_has_it_too_and_closes_and_what_it_says_takes_no_room(
        self, live_server: LiveServer, member: Client
    ) -> None:
        with open_page(live_server, member, STAND_IN) as (_, page):
            height = page.evaluate("document.documentElement.scrollHeight")
            page.locator(".exports summary").click()
            entries = page.locator(".exports li:visible").all_inner_texts()
            names = [
                "Open in Firefox Profiler",
                "Open in speedscope",
                "Open in Perfetto",
                "Copy page link",
                "Copy profile link (1\u202fh)",
                "Download",
                "Firefox",
            ]
            assert all(entry.startswith(name) for entry, name in zip(entries, names, strict=False)), entries
            with page.expect_popup():
                page.locator(".exports li button").first.click()
            expect(page.locator("#open-status")).to_have_text("Opened in a new window.")
            expect(page.locator(".exports details")).not_to_have_attribute("open", "")
            expect(page.locator(".exports summary")).to_be_focused()
            assert page.evaluate("document.documentElement.scrollHeight") == height
            page.locator("h1").click()
            expect(page.locator("#open-status")).to_be_empty()

    def test_another_origin_in_that_window_gets_nothing(self, live_server: LiveServer, member: Client) -> None:
        with open_page(live_server, member, IMPOSTOR) as (_, page):
            with page.expect_popup() as popup:
                page.get_by_role("button", name="Open in Firefox Profiler").click()
            popup.value.wait_for_url("https://impostor.test/**")
            page.wait_for_timeout(1_500)  # several times what a true viewer takes to answer
            expect(popup.value.locator("#got")).to_be_empty()
            expect(page.locator("#open-status")).to_have_text("Fetching the profile…")


@pytest.fixture
def speedscope(settings: Settings) -> Iterator[str]:
    """The address of speedscope itself, as npm has it."""
    find_node()  # skips where the packages of tests/node are missing
    folder = MODULES / "speedscope" / "dist" / "release"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFiles, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        origin = f"http://127.0.0.1:{server.server_port}"
        settings.OTHER_VIEWERS = {"speedscope": origin, "perfetto": VIEWER}
        yield origin
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class QuietFiles(SimpleHTTPRequestHandler):
    """Files without a log."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""


PERFETTO = """<!doctype html><title>perfetto</title><p id=got></p><script>
addEventListener("message", ({ data, source, origin }) => {
  if (data === "PING") source.postMessage("PONG", origin);
  if (data.perfetto) {
    const trace = JSON.parse(new TextDecoder().decode(data.perfetto.buffer));
    document.getElementById("got").textContent = `${data.perfetto.title}: ${trace.traceEvents.length > 0}`;
  }
});
</script>"""


@pytest.mark.usefixtures("shop")
def test_the_menu_opens_speedscope_and_perfetto(live_server: LiveServer, member: Client, speedscope: str) -> None:
    with open_page(live_server, member, PERFETTO) as (_, page):
        page.locator(".exports summary").click()
        with page.expect_popup() as popup:
            page.get_by_role("button", name="Open in speedscope").click()
        popup.value.wait_for_url(f"{speedscope}/#profileURL=**")
        expect(popup.value).to_have_title("shop /cart - speedscope")  # it has read the profile
        expect(page.locator("#open-status")).to_contain_text("Anyone with its address can see the profile until")
        page.locator(".exports summary").click()
        with page.expect_popup() as popup:
            page.get_by_role("button", name="Open in Perfetto").click()
        expect(popup.value.locator("#got")).to_have_text("shop /cart: true")


def test_no_page_violates_the_content_policy(live_server: LiveServer, member: Client, shop: Project) -> None:
    complaints: list[str] = []
    with open_page(live_server, member, STAND_IN) as (_, page):
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for address in ("/projects/", "/projects/shop/", "/projects/shop/functions/?page=/cart", "/api/v1/docs"):
            page.goto(live_server.url + address, wait_until="networkidle")
        expect(page.get_by_text("Fieldflame read API")).to_be_visible()
    assert complaints == []
