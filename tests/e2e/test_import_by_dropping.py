"""A person drops files onto the import page, in a real browser, and sees what came of them."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.builders import make_project
from tests.e2e.browser import lend_chromium

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SAMPLES = Path(__file__).parents[1] / "data" / "imports"
# What a file manager's drop gives a page: a transfer with files in it.
DROP = """([zone, files]) => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) transfer.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"])
    zone.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: transfer}));
}"""


@pytest.fixture(autouse=True)
def _without_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wakes no worker."""
    monkeypatch.setattr("ingest.imports.notify_worker", lambda: False)


@pytest.fixture
def session(client: Client, transactional_db: None) -> str:
    """The session of the superuser, to whom a project without members belongs."""
    make_project("shop")
    client.force_login(User.objects.create_superuser("root"))
    return client.cookies["sessionid"].value


def open_import(live_server: LiveServer, session: str, page: Page) -> list[str]:
    """Opens the page; returns the list to which the browser's complaints are added."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page.goto(f"{live_server.url}/projects/shop/import/")
    return complaints


def test_dropped_files_come_in(live_server: LiveServer, session: str) -> None:
    with lend_chromium() as browser:
        page = browser.new_page()
        complaints = open_import(live_server, session, page)
        names = ("lab.cpuprofile", "trace.json")
        files = [[name, (SAMPLES / name).read_text()] for name in names]
        page.evaluate(DROP, [page.locator("#drop").element_handle(), files])
        expect(page.locator("#files-hint")).to_have_text("lab.cpuprofile (2 kB), trace.json (1 kB)")
        page.get_by_label("Release", exact=True).fill("1.0.0")
        page.get_by_label("Page", exact=True).fill("/cart")
        page.get_by_role("button", name="Import files").click()
        expect(page.get_by_role("heading", name="Import result")).to_be_focused()
        expect(page.get_by_text("lab.cpuprofile: 1 trace imported.")).to_be_visible()
        expect(page.get_by_text("trace.json: 1 trace imported.")).to_be_visible()
        assert complaints == []


def test_files_that_are_too_large_are_named_before_they_are_sent(
    live_server: LiveServer, session: str, settings: Settings
) -> None:
    settings.IMPORT_MAX_FILE_BYTES = 1_000
    with lend_chromium() as browser:
        page = browser.new_page()
        open_import(live_server, session, page)
        page.get_by_label("Profiles").set_input_files({"name": "a", "mimeType": "", "buffer": b" " * 1_001})
        page.get_by_role("button", name="Import files").click()
        assert (
            page.locator("#files")
            .evaluate("input => input.validationMessage")
            .startswith("These files are larger than 1 kB")
        )
        expect(page.locator("#import-status")).to_be_empty()


def test_without_scripts_the_form_works(live_server: LiveServer, session: str) -> None:
    with lend_chromium() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        open_import(live_server, session, page)
        page.get_by_label("Profiles").set_input_files(SAMPLES / "envelope.json")
        page.get_by_role("button", name="Import files").click()
        expect(page.get_by_text("envelope.json: 1 trace imported.")).to_be_visible()
