"""What the address of the flame graph says, and the menu of a bar, in a real browser."""

import re

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.builders import make_call_tree, make_cell, make_func
from tests.dashboard.pages.flamegraph.graph import CANVAS, DETAILS, ROW, open_tree
from tests.e2e.axe import find_violations
from tests.e2e.browser import save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(10)]

MENU = "[role=menu]"


@pytest.fixture(autouse=True)
def recursive(shop: Project) -> Project:
    """The shop with a release 3.0.0 of /cart: main calls walk and visit by turns, then hash; and a short tick."""
    cell = make_cell(shop, release="3.0.0", js_us=20_000)
    main, walk, visit, hashed, tick = (make_func(shop, name) for name in ("main", "walk", "visit", "hash", "tick"))
    calls = [(-1, main, 1_000), (0, walk, 1_000), (1, visit, 0), (2, walk, 0), (3, visit, 2_000), (4, hashed, 12_000)]
    make_call_tree(cell, [*calls, (-1, tick, 4_000)])
    return shop


def wait_for_query(page: Page, pattern: str) -> None:
    page.wait_for_url(re.compile(pattern), timeout=60_000)


def choose(page: Page, depth: int) -> None:
    page.locator(CANVAS).focus()
    for _ in range(depth):
        page.keyboard.press("ArrowDown")


def test_zoom_and_choice_are_in_the_address_and_back_zooms_out(live_server: LiveServer, member: Client) -> None:
    with open_tree(live_server, member, "release=3.0.0") as page:
        expect(page.locator(CANVAS)).to_be_visible()
        choose(page, 1)
        wait_for_query(page, r"&selected=\w+$")
        page.keyboard.press("Enter")
        wait_for_query(page, r"&focus=\w+$")
        choose(page, 2)
        page.keyboard.press("Enter")
        wait_for_query(page, r"&focus=\w+\.\w+\.\w+$")
        choose(page, 1)
        wait_for_query(page, r"&focus=\w+\.\w+\.\w+&selected=\.\w+$")
        address = page.url
        page.reload()
        expect(page.locator(DETAILS)).to_contain_text("walk")
        expect(page.get_by_role("button", name="Zoom out")).to_be_visible()
        assert page.url == address
        kept = page.locator("form.slice-bar input[name=focus]")
        expect(kept).to_have_value(re.compile(r"^\w+\.\w+\.\w+$"))
        page.go_back()
        wait_for_query(page, r"&focus=\w+$|&focus=\w+&")
        page.locator(CANVAS).focus()
        page.keyboard.press("Escape")  # as "Back" does
        wait_for_query(page, r"release=3\.0\.0(&selected=\w+)?$")
        expect(page.get_by_role("button", name="Zoom out")).to_be_hidden()
        page.go_forward()
        wait_for_query(page, r"&focus=\w+")
        expect(page.get_by_role("button", name="Zoom out")).to_be_visible()


def test_a_menu_by_mouse_and_keys(live_server: LiveServer, member: Client) -> None:
    with open_tree(live_server, member, "release=3.0.0") as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        canvas, menu = page.locator(CANVAS), page.locator(MENU)
        canvas.click(button="right", position={"x": 300, "y": 2 * ROW + 8})
        items = menu.locator("[role^=menuitem]")
        expect(items).to_have_text(
            [
                re.compile(word)
                for word in ("^Zoom in", "^Callers and", "^Open f", "^Copy name", "^Copy stack", "^Collapse")
            ]
        )
        expect(items.first).to_be_focused()
        assert find_violations(page) == []
        save_screenshot(page, "flame-menu")
        for _ in range(4):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(menu).to_be_hidden()
        expect(page.locator("#open-status")).to_have_text("Stack copied.")
        assert page.evaluate("navigator.clipboard.readText()").startswith("walk (https://shop.example/assets/app.js:1:")
        expect(canvas).to_be_focused()
        page.keyboard.press("Shift+F10")
        expect(menu).to_be_visible()
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()
        expect(canvas).to_be_focused()
        page.keyboard.press("ContextMenu")
        page.keyboard.press("End")
        expect(items.last).to_be_focused()
        page.keyboard.press("Space")
        wait_for_query(page, "collapse=1")
        canvas.click(button="right", position={"x": 300, "y": 2 * ROW + 8})
        expect(items.last).to_have_attribute("aria-checked", "true")
        page.locator("h1").click()
        expect(menu).to_be_hidden()


def test_a_long_press_opens_the_menu_and_does_not_zoom(live_server: LiveServer, member: Client) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with open_tree(live_server, member, "release=3.0.0", **phone) as page:
        canvas = page.locator(CANVAS)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box
        point = {"x": box["x"] + 60, "y": box["y"] + 40}
        session = page.context.new_cdp_session(page)
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
        menu = page.locator(MENU)
        expect(menu).to_be_visible(timeout=60_000)
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        expect(menu).to_be_visible()
        assert "focus=" not in page.url
        expect(menu.locator("[role=menuitem]").first).to_be_focused()
        page.keyboard.press("Enter")
        wait_for_query(page, "focus=")
