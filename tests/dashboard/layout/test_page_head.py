"""The head of a page: filters and title take little room, and removing or picking a filter takes one click."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from profcore.trace.dimensions import DIMENSIONS
from tests.builders import make_call_tree, make_cell, make_func, make_hotspot, make_project, make_receipt
from tests.e2e.axe import find_violations
from tests.e2e.browser import lend_chromium, open_page

pytestmark = [pytest.mark.e2e, pytest.mark.slow(10), pytest.mark.django_db(transaction=True)]
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
TABS = ("", "functions/", "flame-graph/", "compare/", "views/", "quality/")
RELEASES = ("2026.11.20-4b7e1f0", "2026.11.13-9c2a7d4")
FILTERS = f"?release={RELEASES[0]}&page=/product/:id/reviews&device=desktop-high"
MOST_PX = 160
MOST_ON_A_PHONE_PX = 220  # title, how fresh, and actions take a row each
# From below the tabs to the first thing that is neither filter nor title.
HEAD_PX = """() => {
  const firsts = [...document.querySelectorAll("main section, main .card, main [aria-busy], main .filters")];
  const tops = firsts.filter((each) => each.offsetHeight).map((each) => each.getBoundingClientRect().top);
  return Math.min(...tops) - document.querySelector(".tabs").getBoundingClientRect().bottom;
}"""


@pytest.fixture
def session(client: Client, transactional_db: None) -> str:
    """The session of a superuser, to whom a project without members belongs: `shop`, with two releases."""
    project = make_project("shop")
    render = make_func(project, "render")
    for release in RELEASES:
        cell = make_cell(project, release=release, page="/product/:id/reviews", views=30, js_us=9_000)
        make_hotspot(cell, render, self_us=9_000, total_us=9_000)
        make_call_tree(cell, [(-1, render, 9_000)])
    make_receipt(project)
    client.force_login(User.objects.create_superuser("root"))
    return client.cookies["sessionid"].value


@contextmanager
def visit(browser: Browser, server: LiveServer, session: str, **options: object) -> Iterator[Page]:
    with open_page(browser, **options) as page:
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        yield page


def test_the_head_of_a_page_is_low_with_filters_and_without(live_server: LiveServer, session: str) -> None:
    with lend_chromium() as browser, visit(browser, live_server, session, viewport=DESKTOP) as page:
        heights, widths = {}, set()
        for tab in TABS:
            for filters in ("", FILTERS):
                page.goto(f"{live_server.url}/projects/shop/{tab}{filters}")
                heights[tab + filters] = page.evaluate(HEAD_PX)
                widths.add(page.evaluate("document.querySelector('main').clientWidth"))
        assert {address: px for address, px in heights.items() if px > MOST_PX} == {}
        assert len(widths) == 1
        page.goto(f"{live_server.url}/projects/shop/functions/")
        facets = page.locator(".facet")  # take one row
        expect(facets).to_have_count(6 + sum(dimension.in_bar for dimension in DIMENSIONS))
        assert len({round(facet.bounding_box()["y"]) for facet in facets.all()}) == 1  # type: ignore[index]


def test_on_a_phone_the_answer_is_before_every_form_and_a_name_filters_at_once(
    live_server: LiveServer, session: str
) -> None:
    with lend_chromium() as browser, visit(browser, live_server, session, viewport=PHONE, has_touch=True) as page:
        heights = {}
        for tab in TABS:
            page.goto(f"{live_server.url}/projects/shop/{tab}{FILTERS}")
            expect(page.get_by_role("button", name="Filter")).to_be_visible()  # which takes one row
            heights[tab] = page.evaluate(HEAD_PX)
        assert {address: px for address, px in heights.items() if px > MOST_ON_A_PHONE_PX} == {}
        page.goto(f"{live_server.url}/projects/shop/functions/?display=none&view=5b1d7a0e-6a41-5a3f-9d9e-0c7a7f1d2b11")
        page.get_by_role("button", name="Filter").tap()
        page.locator(".facet summary", has_text="Release").tap()
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        page.get_by_role("link", name=RELEASES[1]).tap()
        page.wait_for_url(f"**release={RELEASES[1]}**")
        page.get_by_role("button", name="Filter").tap()
        page.get_by_role("link", name="Remove Display rules").tap()
        page.wait_for_url(lambda url: "display=" not in url)


@pytest.mark.parametrize("has_script", [True, False])
def test_a_click_on_a_name_filters_at_once_and_a_cross_removes_it(
    live_server: LiveServer, session: str, *, has_script: bool
) -> None:
    with (
        lend_chromium() as browser,
        visit(browser, live_server, session, viewport=DESKTOP, java_script_enabled=has_script) as page,
    ):
        page.goto(f"{live_server.url}/projects/shop/functions/?release={RELEASES[1]}&sort=total_ms")
        release = page.locator(".facet", has_text="Release")
        release.locator("summary").click()
        release.get_by_role("link", name=RELEASES[0]).click()
        page.wait_for_url(f"**/functions/?release={RELEASES[0]}&sort=total_ms")
        expect(release.locator("summary")).to_have_text(f"Release {RELEASES[0]}")
        release.locator("summary").click()
        release.get_by_label(f"Select {RELEASES[1]}").check()
        release.get_by_role("button", name="Apply filters").click()
        page.wait_for_url(f"**release={RELEASES[0]}&release={RELEASES[1]}**")
        expect(release.locator("summary")).to_contain_text("+1")
        release.get_by_role("link", name="Remove Release").click()
        page.wait_for_url("**/functions/?sort=total_ms")
        expect(page.locator(".facet.is-set")).to_have_count(0)
