"""A person compares two releases in a real browser: by mouse and keys, in both themes, narrow and printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from ingest.models import Membership, Project
from tests.dashboard.compared_lab import make_lab
from tests.dashboard.conftest import People
from tests.dashboard.test_flame_graph import ROW, wait_for_colour
from tests.e2e.axe import find_violations
from tests.e2e.browser import open_chromium, save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(10)]

ROWS = ".differences tbody tr"


@pytest.fixture
def lab(people: People) -> Project:
    project = make_lab(pages=("/cart", "/list"))
    Membership.objects.create(project=project, user=people.member)
    return project


@contextmanager
def open_compare(
    live_server: LiveServer, client: Client, query: str = "", *, tab: str = "compare", **options: object
) -> Iterator[Page]:
    """Opens the page with a client's session; any complaint of the browser fails."""
    complaints: list[str] = []
    session = client.cookies["sessionid"].value
    with open_chromium() as browser:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})  # type: ignore[arg-type]  # Playwright types each option apart
        context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live_server.url}/projects/lab/{tab}/?{query}")
        yield page
    assert complaints == []


@pytest.mark.usefixtures("lab")
def test_a_person_finds_the_regression_and_how_sure_it_is(live_server: LiveServer, member: Client) -> None:
    with open_compare(live_server, member) as page:
        expect(page.locator(".verdict")).to_contain_text("Release 1.1.0 costs 25.0")
        expect(page).to_have_url(f"{live_server.url}/projects/lab/compare/?base_release=1.0.0&head_release=1.1.0")
        page.get_by_role("link", name="/cart").click()
        expect(page.locator(".verdict")).to_contain_text("costs 50.0")
        expect(page.locator(ROWS).first).to_contain_text("slow")
        page.locator("#with-noise").click()
        expect(page.locator(ROWS).filter(has_text="steady")).to_contain_text("May be noise")
        assert "noise=1" in page.url
        assert page.locator(":focus").get_attribute("id") == "with-noise"
        page.locator("#find-function").fill("ste")
        page.keyboard.press("Enter")
        expect(page.locator(ROWS)).to_have_count(1)
        page.locator("#measure-2").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#measure-2")).to_have_attribute("aria-current", "true")
        page.reload()
        expect(page.locator(ROWS)).to_have_count(1)
        assert all(part in page.url for part in ("measure=self", "q=ste", "noise=1", "page=/cart"))


@pytest.mark.usefixtures("lab")
def test_what_is_shown_stays_when_the_sides_change(live_server: LiveServer, member: Client) -> None:
    with open_compare(live_server, member, "page=/cart") as page:
        page.locator("#with-noise").click()
        expect(page.locator("#with-noise")).to_have_attribute("aria-current", "true")
        page.get_by_role("link", name="Swap").click()
        expect(page.locator(".verdict")).to_contain_text("Release 1.0.0 costs 50.0")
        expect(page.locator("#with-noise")).to_have_attribute("aria-current", "true")
        page.locator("select[name=base_release]").select_option("")
        page.locator("select[name=head_release]").select_option("")
        for side, device in (("base", "desktop-high"), ("head", "mobile-high")):
            more = page.locator(f"fieldset.side:has([name={side}_release]) .more")
            more.locator("summary").click()
            more.get_by_label(device, exact=True).check()
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.locator(".answer")).to_contain_text("20 against 40 page views")
        assert "_release=" not in page.url
        assert "noise=1" in page.url
        page.go_back(wait_until="commit")
        expect(page.locator(".verdict")).to_contain_text("Release 1.0.0 costs 50.0")


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("light", {"color_scheme": "light"}),
        ("dark", {"color_scheme": "dark"}),
        ("narrow", {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}),
    ],
)
def test_it_can_be_read_in_both_themes_and_narrow(
    live_server: LiveServer,
    member: Client,
    name: str,
    options: dict[str, Any],  # Any: Playwright types each apart
) -> None:
    with open_compare(live_server, member, "noise=1", **options) as page:
        expect(page.locator(ROWS).first).to_be_visible()
        for details in page.locator("main details").all():
            details.evaluate("details => { details.open = !details.closest('.slice-bar, .menu'); }")
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        save_screenshot(page, f"compare-{name}")


@pytest.mark.usefixtures("lab")
def test_the_flame_graph_colours_what_is_more_than_noise(live_server: LiveServer, member: Client) -> None:
    sides = "base_release=1.0.0&head_release=1.1.0&page=/cart"
    with open_compare(live_server, member, sides, tab="tree", color_scheme="light") as page:
        expect(page.locator("#flame-legend")).to_contain_text("may be noise, or")
        wait_for_colour(page, 60, 2 * ROW + 3, "#ea7f45")  # slow
        page.locator("#flame-canvas").hover(position={"x": 800, "y": 2 * ROW + 8})
        expect(page.locator("#flame-details")).to_contain_text("came")
        expect(page.locator("#flame-details")).to_contain_text("may be noise")
        page.get_by_text("By caller", exact=True).click()
        expect(page.locator("#flame-legend")).to_contain_text("may be noise, or")
        wait_for_colour(page, 60, ROW + 3, "#ea7f45")
        assert find_violations(page) == []
        page.get_by_role("link", name="Functions, with how sure").click()
        expect(page.locator(".verdict")).to_contain_text("costs 50.0")


@pytest.mark.usefixtures("lab")
def test_without_script_a_link_leads_to_the_whole_page(live_server: LiveServer, member: Client) -> None:
    with open_compare(live_server, member, "page=/cart", java_script_enabled=False) as page:
        page.get_by_role("link", name="Show the comparison").click()
        expect(page.locator(".verdict")).to_contain_text("costs 50.0")
        page.locator("#with-noise").click()
        expect(page.locator(ROWS).filter(has_text="steady")).to_be_visible()
