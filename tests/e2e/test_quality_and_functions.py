"""The pages "Quality" and "Functions" in a real browser: parts that come by themselves, keys, a phone, and paper."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from ingest.count_models import Refusal
from tests.aggregate.posting import fold_all, post
from tests.builders import MONDAY, make_project
from tests.e2e.axe import find_faults, find_violations
from tests.e2e.browser import lend_chromium, open_page, save_screenshot
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.e2e, pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 800}
DESK = {"width": 1200, "height": 900}


@pytest.fixture
def session(client: Client, transactional_db: None) -> str:
    """The session of a superuser, to whom a project without members belongs: thirty views of forty functions."""
    project = make_project("shop")
    picture = "\n".join(f"main f{n}" for n in range(40))
    post("KEY-shop", *(make_envelope(f"v{n}", picture, requestedInterval=10) for n in range(30)))
    fold_all()
    Refusal.objects.create(project=project, hour_at=MONDAY, reason="rate_limited", shard=0, count=7)
    client.force_login(User.objects.create_superuser("root"))
    return client.cookies["sessionid"].value


@contextmanager
def visit(browser: Browser, server: LiveServer, session: str, path: str, **options: object) -> Iterator[Page]:
    """A page of the project; at its end nothing may have been complained of."""
    complaints: list[str] = []
    with open_page(browser, **options) as page:
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": server.url}])
        page.goto(f"{server.url}/projects/shop/{path}")
        yield page
    assert complaints == []


def open_parts(page: Page) -> None:
    """Opens the folded parts of the page "Quality"; other pages have none."""
    for summary in page.locator(".part > summary").all():
        summary.click()


def test_both_pages_can_be_read_in_every_look(live_server: LiveServer, session: str) -> None:
    with lend_chromium() as browser:
        for path, shown in (("quality/", "Wrong intervals"), ("functions/?group_by=file", "app.js")):
            with visit(browser, live_server, session, path, viewport=DESK) as page:
                open_parts(page)
                expect(page.get_by_text(shown).first).to_be_visible()
                assert find_faults(page) == [], path
                save_screenshot(page, path.partition("/")[0])


def test_what_a_figure_is_of_opens_and_closes_by_keys(live_server: LiveServer, session: str) -> None:
    with lend_chromium() as browser, visit(browser, live_server, session, "functions/", viewport=DESK) as page:
        summary = page.locator("#row-2 .explain summary")
        summary.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#row-2 .explain dl")).to_be_visible()
        expect(page.locator("#row-2 .explain dl")).to_contain_text("n = 30 of 30 page views")
        assert find_violations(page) == []
        page.keyboard.press("Escape")
        expect(page.locator("#row-2 .explain dl")).to_be_hidden()
        expect(summary).to_be_focused()
        page.keyboard.press("Enter")
        page.locator("h1").click()
        expect(page.locator("#row-2 .explain dl")).to_be_hidden()


def test_on_a_phone_rows_are_a_name_and_a_line_and_the_rest_is_a_tap_away(
    live_server: LiveServer, session: str
) -> None:
    with (
        lend_chromium() as browser,
        visit(browser, live_server, session, "functions/", viewport=PHONE, has_touch=True, is_mobile=True) as page,
    ):
        expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollHeight") < 4_500  # 25 rows; a hundred were 21,800
        row = page.locator("#row-3")
        assert row.evaluate("row => row.offsetHeight") < 120
        row.locator(".explain summary").tap()
        expect(row.locator("dl")).to_contain_text("95 % interval")
        page.locator("#row-5 .explain summary").tap()
        expect(row.locator("dl")).to_be_visible()  # it lies in the page, and stays
        page.get_by_role("link", name="Show more rows").tap()
        page.wait_for_url("**limit=100#row-25")
        expect(page.locator(".functions tbody tr")).to_have_count(41)


def test_on_paper_a_page_is_light_and_says_what_it_shows(live_server: LiveServer, session: str) -> None:
    with (
        lend_chromium() as browser,
        visit(
            browser, live_server, session, "functions/?device=unknown&q=f1", color_scheme="dark", viewport=DESK
        ) as page,
    ):
        expect(page.locator(".on-paper")).to_be_hidden()
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        expect(page.locator(".on-paper")).to_contain_text("shop · Device unknown, Search f1")
        expect(page.locator(".on-paper")).to_contain_text(
            f"{live_server.url}/projects/shop/functions/?device=unknown&q=f1"
        )
        expect(page.locator(".freshness time")).to_have_text(re.compile(r"^[-0-9]+ [0-9:]+ UTC$"))
        for hidden in (".tabs", ".slice-bar", ".top", ".card-head > .actions", ".table-ways", "#row-1 .explain"):
            expect(page.locator(hidden)).to_be_hidden()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        expect(page.locator(".functions tbody tr")).to_have_count(11)
        save_screenshot(page, "functions-on-paper")
        page.emulate_media(media="screen")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        expect(page.locator(".freshness time")).to_have_text(re.compile("ago|just now"))


def test_without_script_the_parts_are_a_link_away(live_server: LiveServer, session: str) -> None:
    with lend_chromium() as browser:
        for path, shown in (("quality/", "Wrong intervals"), ("functions/?group_by=file", "app.js")):
            with visit(browser, live_server, session, path, java_script_enabled=False) as page:
                open_parts(page)
                page.get_by_role("link", name="Show without JavaScript").click()
                expect(page.get_by_text(re.compile(shown)).first).to_be_visible()
