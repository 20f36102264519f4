"""A person compares two releases in a real browser: by mouse and keys, in both themes, narrow and printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from projects.models import Membership, Project
from tests.aggregate.bundled_views import HASHED, func, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_label, make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.compare.lab import make_lab
from tests.dashboard.pages.flamegraph.graph import ROW, wait_for_colour
from tests.e2e.axe import find_faults
from tests.e2e.browser import open_signed_in, save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(4)]

ROWS = ".differences tbody tr"


@pytest.fixture
def lab(people: People) -> Project:
    project = make_lab(pages=("/cart", "/list"))
    Membership.objects.create(project=project, user=people.member)
    return project


@pytest.fixture
def renamed(people: People) -> Project:
    """The lab with source maps: `sum` of 1.0.0 was moved and renamed to `total` in 2.0.0. The owner administers it."""
    project = make_project("lab")
    old, new = (HASHED[release] for release in ("1.0.0", "2.0.0"))
    post("KEY-lab", *(view(f"old{n}", "a b\na b\na b\na", "1.0.0", old) for n in range(25)))
    post("KEY-lab", *(view(f"new{n}", "c a\nc a\nc a\nc", "2.0.0", new) for n in range(25)))
    fold_all()
    for name, release, path, original in (
        ("a", "1.0.0", "src/main.ts", "main"),
        ("b", "1.0.0", "src/sum.ts", "sum"),
        ("c", "2.0.0", "src/main.ts", "main"),
        ("a", "2.0.0", "src/math/total.ts", "total"),
    ):
        body = b"main" if original == "main" else b"sum"
        make_label(func(project, name, HASHED[release]), release, path, original, body=body, is_shared=True)
    Membership.objects.create(project=project, user=people.member)
    Membership.objects.create(project=project, user=people.owner, role=Membership.Role.ADMIN)
    return project


@contextmanager
def open_compare(
    live_server: LiveServer,
    client: Client,
    query: str = "",
    *,
    tab: str = "compare",
    **options: object,
) -> Iterator[Page]:
    """Opens the page with a client's session; any complaint of the browser fails."""
    options = {"viewport": {"width": 1200, "height": 800}, **options}
    with open_signed_in(live_server, client, f"/projects/lab/{tab}/?{query}", options) as page:
        yield page


@pytest.mark.usefixtures("lab")
def test_a_person_finds_the_regression_and_how_sure_it_is(
    live_server: LiveServer, member: Client, settings: Settings
) -> None:
    with open_compare(live_server, member) as page:
        expect(page.locator(".verdict")).to_contain_text("1.1.0 made /cart slower: +50\u202fms")
        expect(page).to_have_url(f"{live_server.url}/projects/lab/compare/?base_release=1.0.0&head_release=1.1.0")
        page.get_by_role("link", name="/cart").click()
        expect(page.locator(".verdict")).to_contain_text("1.1.0 made /cart slower: +50\u202fms")
        expect(page.locator(ROWS).first).to_contain_text("slow")
        page.locator("#with-noise").click()
        expect(page.locator(ROWS).filter(has_text="steady")).to_contain_text("Could be noise")
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
        open_both_sides_in_the_viewer(page, settings.VIEWER_ORIGIN)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download CSV").click()
        assert download.value.suggested_filename.startswith("compare-lab-1.0.0")


def open_both_sides_in_the_viewer(page: Page, viewer: str) -> None:
    page.context.route(f"{viewer}/**", lambda route: route.fulfill(body="the viewer"))
    with page.context.expect_event("request", lambda request: "/compare/calltree/" in request.url) as opened:
        page.locator(".exports summary").click()
        page.get_by_role("button", name="Compare in Firefox Profiler").click()
    assert opened.value.url.startswith(viewer)
    assert len(parse_qs(urlsplit(opened.value.url).query)["profiles[]"]) == 2
    expect(page.locator("#open-status")).to_contain_text("Opened in a new window.")


@pytest.mark.usefixtures("lab")
def test_what_is_shown_stays_when_the_sides_change(live_server: LiveServer, member: Client) -> None:
    with open_compare(live_server, member, "page=/cart") as page:
        page.locator("#with-noise").click()
        expect(page.locator("#with-noise")).to_have_attribute("aria-current", "true")
        page.get_by_role("link", name="Swap").click()
        expect(page.locator(".verdict")).to_contain_text("1.0.0 made /cart faster: −50")
        expect(page.locator("#with-noise")).to_have_attribute("aria-current", "true")
        page.locator(".sides > summary").click()
        page.locator("select[name=base_release]").select_option("")
        page.locator("select[name=head_release]").select_option("")
        for side, device in (("base", "desktop-high"), ("head", "mobile-high")):
            more = page.locator(f"fieldset.side:has([name={side}_release]) .more")
            more.locator("summary").click()
            more.get_by_label(device, exact=True).check()
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.locator(".answer")).to_contain_text("From 40 and 20 page views")
        assert "_release=" not in page.url
        assert "noise=1" in page.url
        page.go_back(wait_until="commit")
        expect(page.locator(".verdict")).to_contain_text("1.0.0 made /cart faster: −50")


@pytest.mark.usefixtures("lab")
def test_it_can_be_read_in_every_look(live_server: LiveServer, member: Client) -> None:
    with open_compare(live_server, member, "noise=1") as page:
        expect(page.locator(ROWS).first).to_be_visible()
        for details in page.locator("main details").all():
            details.evaluate("details => { details.open = !details.closest('.slice-bar, .menu'); }")
        assert find_faults(page) == []
        save_screenshot(page, "compare")


@pytest.mark.usefixtures("lab")
def test_the_flame_graph_colours_what_is_more_than_noise(live_server: LiveServer, member: Client) -> None:
    sides = "base_release=1.0.0&head_release=1.1.0&page=/cart"
    with open_compare(live_server, member, sides, tab="flame-graph", color_scheme="light") as page:
        expect(page.locator("#flame-legend")).to_contain_text("could be noise, or")
        wait_for_colour(page, 60, 2 * ROW + 3, "#e46a60")  # slow
        page.locator("#flame-canvas").hover(position={"x": 800, "y": 2 * ROW + 8})
        expect(page.locator("#flame-details")).to_contain_text("new")
        expect(page.locator("#flame-details")).to_contain_text("could be noise")
        page.get_by_text("By caller", exact=True).click()
        expect(page.locator("#flame-legend")).to_contain_text("could be noise, or")
        wait_for_colour(page, 60, ROW + 3, "#e46a60")
        page.get_by_role("link", name="Functions with confidence").click()
        expect(page.locator(".verdict")).to_contain_text("1.1.0 made /cart slower: +50\u202fms")


@pytest.mark.usefixtures("lab")
def test_without_script_a_link_leads_to_the_whole_page(live_server: LiveServer, member: Client) -> None:
    with open_compare(live_server, member, "page=/cart", java_script_enabled=False) as page:
        page.get_by_role("link", name="Show the comparison").click()
        expect(page.locator(".verdict")).to_contain_text("1.1.0 made /cart slower: +50\u202fms")
        page.locator("#with-noise").click()
        expect(page.locator(ROWS).filter(has_text="steady")).to_be_visible()


@pytest.mark.usefixtures("renamed")
def test_an_admin_says_that_two_functions_are_one(live_server: LiveServer, client: Client, people: People) -> None:
    client.force_login(people.member)
    seen = client.get("/projects/lab/compare/?plain=1").content.decode()
    assert "Could be <" in seen
    assert "Merge as one function" not in seen  # members are offered the match and no action
    client.force_login(people.owner)
    with open_compare(live_server, client) as page:
        expect(page.locator(ROWS)).to_have_count(2)
        expect(page.locator(ROWS).first).to_contain_text(
            "Could be sum, which is gone: they have the same code except for names"
        )
        page.get_by_role("button", name="Merge as one function").click()
        page.get_by_role("button", name="Merge in all releases").click()
        expect(page.locator(".compared")).to_contain_text("No significant changes.")
