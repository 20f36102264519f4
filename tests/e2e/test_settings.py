"""An admin at a project's settings, in a real browser: by mouse and keys, narrow, without scripts.

How the pages look is tested in test_every_page; here, what comes of a form.
"""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from aggregate.sourcemaps.labelling import label_all
from dashboard.pages.settings.layout import SECTIONS
from projects.models import IngestKey, Membership, Project
from tests.aggregate.sourcemaps.shop import BUNDLE, intern, write_shop_map
from tests.builders import make_cell, make_project
from tests.e2e.axe import find_violations, is_wider_than_the_window
from tests.e2e.browser import lend_chromium

T = TypeVar("T")
pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(25)]

PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(autouse=True)
def _without_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wakes no worker."""
    monkeypatch.setattr("aggregate.sourcemaps.uploading.notify_worker", lambda *_: False)


def aside(ask: Callable[[], T]) -> T:
    """Asks the database in another thread: Playwright keeps an event loop in this one."""

    def ask_and_close() -> T:
        try:
            return ask()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask_and_close).result()


@pytest.fixture
def session(client: Client, transactional_db: None) -> str:
    """The session of an admin of a project with pages."""
    project = make_project("shop", name="The shop")
    for page in ("/product/red", "/product/blue"):
        make_cell(project, page=page, views=20)
    ann = User.objects.create_superuser("ann", password="correct horse")  # an account that was opened
    Membership.objects.create(project=project, user=ann, role="admin")
    client.force_login(ann)
    return client.cookies["sessionid"].value


@pytest.fixture
def browser(session: str) -> Iterator[Browser]:
    with lend_chromium() as browser:
        yield browser


class Visit:
    """A page of the admin's, and what the browser complains of meanwhile: errors, and what the policy forbids."""

    def __init__(self, browser: Browser, live_server: LiveServer, session: str, **options: object) -> None:
        context = browser.new_context(**options)  # type: ignore[arg-type]  # Playwright types each option apart
        context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.root = f"{live_server.url}/projects/shop/settings/"

    def open(self, section: str = "") -> None:
        self.page.goto(self.root + section)

    def check(self) -> None:
        """Nothing is broken: not for who sees the page, nor for who hears it, nor on its edge."""
        assert find_violations(self.page) == []
        assert not is_wider_than_the_window(self.page)
        # A form that is told to be wrong is answered 400, which the browser calls an error of loading.
        assert [line for line in self.complaints if "400 (Bad Request)" not in line] == []


def test_every_section_is_a_tap_away_on_a_phone(browser: Browser, live_server: LiveServer, session: str) -> None:
    visit = Visit(browser, live_server, session, **PHONE)
    visit.open()
    for _, word in SECTIONS:
        visit.page.get_by_role("navigation", name="Settings").get_by_role("link", name=word, exact=True).click()
        expect(visit.page.get_by_role("heading", level=1, name=word)).to_be_visible()
        expect(visit.page.locator(".sections [aria-current]")).to_be_in_viewport()
        assert not is_wider_than_the_window(visit.page)


def test_a_key_is_made_copied_and_revoked_by_keyboard(browser: Browser, live_server: LiveServer, session: str) -> None:
    visit = Visit(browser, live_server, session, permissions=["clipboard-read", "clipboard-write"])
    page = visit.page
    visit.open("keys/")
    page.get_by_label("Allowed origins").fill("shop.example")
    page.get_by_role("button", name="Create key").focus()
    page.keyboard.press("Enter")
    field = page.get_by_label("Allowed origins")
    expect(field).to_be_focused()
    expect(field).to_have_accessible_description(re.compile("Did you mean https://shop.example"))
    visit.check()
    field.fill("https://shop.example")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_role("status").first).to_contain_text("The key is created.")
    key = aside(lambda: IngestKey.objects.latest("pk"))
    card = page.get_by_role("region", name=key.public_key)
    card.get_by_role("button", name="Copy").first.focus()
    page.keyboard.press("Enter")
    expect(card.get_by_role("button", name="Copied")).to_be_visible()
    assert f'data-key="{key.public_key}"' in page.evaluate("navigator.clipboard.readText()")
    card.get_by_role("link", name="Revoke").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Revoke")
    visit.check()
    page.get_by_role("button", name="Revoke key").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The key is revoked.")).to_be_visible()
    assert aside(lambda: IngestKey.objects.get(pk=key.pk)).revoked_at is not None


def test_a_build_folder_becomes_a_tar_and_its_labels_show_up_live(
    browser: Browser, live_server: LiveServer, session: str, tmp_path: Path
) -> None:
    folder = tmp_path / "dist"
    deep = "/".join(["assets", *["a-long-folder-name" for _ in range(6)]])  # beyond the 100 bytes of a tar's name
    (folder / deep).mkdir(parents=True)
    (folder / deep / "deep.js").write_bytes(b"deep()")
    (folder / "assets" / "main.js").write_bytes(BUNDLE)
    (folder / "assets" / "main.js.map").write_bytes(write_shop_map())
    (folder / "index.html").write_text("not sent")
    visit = Visit(browser, live_server, session)
    page = visit.page
    visit.open("source-maps/")
    page.get_by_label("Release", exact=True).fill("1.0.0")
    page.get_by_label("Where the files are served").fill("https://shop.example/")
    page.get_by_label("Or a build folder").set_input_files(folder)
    expect(page.locator("#upload-status")).to_contain_text("3 scripts and maps")
    page.get_by_role("button", name="Upload files").click()
    expect(page.get_by_role("heading", name="Upload result")).to_be_focused()
    expect(page.get_by_text(f"{deep}/deep.js", exact=True)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="assets/main.js.map")).to_contain_text("sourceMappingURL")
    expect(page.get_by_text("1 script pending: a worker will label its functions.")).to_be_visible()
    visit.check()
    shop_id = aside(lambda: Project.objects.get().pk)
    aside(lambda: intern(shop_id))
    aside(lambda: label_all(shop_id))
    expect(page.locator("#releases-of-maps").get_by_text("1 of 2")).to_be_visible()
    expect(page.locator("#releases-of-maps")).not_to_contain_text("pending")
    page.get_by_role("link", name="1.0.0", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="main.js")).to_contain_text("labelled")
    visit.check()


def test_previews_have_the_focus_and_a_token_is_shown_once(
    browser: Browser, live_server: LiveServer, session: str
) -> None:
    visit = Visit(browser, live_server, session)
    page = visit.page
    visit.open("routes/")
    page.get_by_label("Rules").fill("/product/:sku")
    page.get_by_role("button", name="Preview changes").click()
    expect(page.get_by_role("heading", name="What would change")).to_be_focused()
    expect(page.get_by_role("row").filter(has_text="/product/:sku")).to_contain_text("/product/red")
    visit.check()
    visit.open("code/")
    packages = page.get_by_role("region", name="Own packages")
    packages.get_by_role("button", name="Add rule").click()
    expect(packages.get_by_label("Folders").nth(2)).to_be_focused()
    for number in range(3):
        packages.get_by_label("Folders").nth(number).fill(f"folder{number}/*")
    page.get_by_role("button", name="Save rules").click()
    expect(page.get_by_text("The rules are saved.")).to_be_visible()
    expect(packages.get_by_label("Folders").nth(2)).to_have_value("folder2/*")
    visit.check()
    visit.open()
    page.get_by_label("Link to a source").fill("https://git.example/{path}#L{line}")
    expect(page.get_by_role("link", name="https://git.example/src/cart/total.ts#L12")).to_be_visible()
    visit.open("tokens/")
    page.get_by_label("Purpose").fill("CI")
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_role("heading", name="Copy the token now")).to_be_focused()
    visit.check()
    token = page.get_by_label("Token", exact=True).inner_text()
    visit.open("tokens/")
    expect(page.get_by_text(token[:12])).to_be_visible()
    expect(page.get_by_text(token)).to_have_count(0)


def test_without_scripts_settings_are_changed_all_the_same(
    browser: Browser, live_server: LiveServer, session: str
) -> None:
    visit = Visit(browser, live_server, session, java_script_enabled=False)
    page = visit.page
    visit.open("routes/")
    page.get_by_label("Rules").fill("help")
    page.get_by_role("button", name="Save rules").click()
    expect(page.get_by_text("Line 1: it must begin with /")).to_be_visible()
    page.get_by_label("Rules").fill("/help/*")
    page.get_by_role("button", name="Save rules").click()
    expect(page.get_by_text("The rules are saved.")).to_be_visible()
    visit.open("members/")
    page.get_by_label("User name").fill("bob")
    page.get_by_label("Create an account").check()
    page.get_by_role("button", name="Add member", exact=True).click()
    expect(page.get_by_role("heading", name="Link for bob")).to_be_visible()
    page.get_by_role("link", name="Show members").click()
    page.get_by_label("Role of bob").select_option("admin")
    page.get_by_role("button", name="Save role of bob").click()
    expect(page.get_by_text("bob is now an admin.")).to_be_visible()
    page.get_by_role("link", name="Remove member bob").click()
    page.get_by_role("button", name="Remove member").click()
    expect(page.get_by_text("bob is no longer a member.")).to_be_visible()
    visit.open("retention/")
    page.get_by_label("Days to keep raw traces").fill("60")
    page.get_by_role("button", name="Save limits").click()
    expect(page.get_by_text("The limits are saved.")).to_be_visible()
    shop = aside(Project.objects.get)
    assert (shop.keep_raw_days, shop.route_rules) == (60, ["/help/*"])
