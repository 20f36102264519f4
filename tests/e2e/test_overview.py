"""The overview in a real browser: the sentence, the chart by mouse, keys and table, changes that come by themselves.

And a first visit: what arrives shows up without a reload, until there is something to see.
"""

import json
import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.e2e.axe import find_faults
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, open_as
from tests.envelopes import make_envelope
from tests.runner.endpoint_middleware import receive_traces

pytestmark = [pytest.mark.e2e, pytest.mark.slow(25), pytest.mark.django_db(transaction=True)]

DAY_MS = 86_400_000
VIEWS = 26


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("admin", password="correct horse battery")


def view(name: str, samples: int, **fields: Any) -> dict[str, Any]:
    """Returns a view in which `slow` runs for so many samples of 10 ms, and `steady` for two."""
    envelope = make_envelope(name, "\n".join(["main slow"] * samples + ["main steady"] * 2), **fields)
    for frame in envelope["trace"]["frames"]:
        frame["column"] = {"main": 10, "slow": 11, "steady": 12}[frame["name"]]
    return envelope


@pytest.fixture
def shop(admin: User) -> Project:
    """Release 1.0.0 three days ago and yesterday, 1.1.0 yesterday and, in few views, today: `slow` got slower."""
    project, _ = create_project(slug="shop", key="shop", origins=["*"], name="The shop")
    now_ms = int(time.time() * 1000)
    for release, days_ago, more, count in (
        ("1.0.0", 3, 0, VIEWS),
        ("1.0.0", 1, 0, VIEWS),
        ("1.1.0", 1, 4, VIEWS),
        ("1.1.0", 0, 4, 3),
    ):
        start = now_ms - days_ago * DAY_MS
        fields = {"release": release, "timeOrigin": start, "viewStart": start}
        names = (f"{release} {days_ago} {n}" for n in range(count))
        post("shop", *(view(name, 1 + n % 3 + more, **fields) for n, name in enumerate(names)))
        fold_all()  # the older release is seen first
    return project


def test_the_overview_is_whole_in_every_look(
    chromium: Browser, live_server: LiveServer, admin: User, shop: Project
) -> None:
    with open_as(chromium, live_server.url, admin, LOOKS[0]) as (page, errors):
        page.goto(f"{live_server.url}/projects/")
        expect(page.get_by_role("row", name="The shop")).to_contain_text(
            "1.1.0 made /cart slower: +40\u202fms per view"
        )
        assert find_faults(page) == [], "the list of projects"
        page.get_by_role("link", name="The shop").click()
        expect(page.locator(".verdict")).to_contain_text("1.1.0 made /cart slower: +40\u202fms per view")
        expect(page.locator(".chart canvas")).to_be_visible()
        expect(page.get_by_role("list", name="Functions that changed most")).to_contain_text("slow")
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert find_faults(page) == [], "the overview"
        save_screenshot(page, "overview")
        assert errors.complaints == []


def test_a_person_reads_the_chart_by_keys_mouse_and_table(
    chromium: Browser, live_server: LiveServer, admin: User, shop: Project
) -> None:
    with open_as(chromium, live_server.url, admin, LOOKS[0]) as (page, errors):
        page.goto(f"{live_server.url}/projects/shop/")
        expect(page.locator("[aria-busy=true]")).to_have_count(0)  # a part that comes late moves the chart
        chart, readout = page.locator(".chart-plot"), page.locator(".chart-readout")
        chart.focus()
        page.keyboard.press("ArrowRight")
        expect(readout).to_contain_text("interval none: too few page views, n = 3 page views")
        page.keyboard.press("ArrowLeft")
        expect(readout).to_contain_text("1.1.0")
        expect(readout).to_contain_text(
            re.compile(r"ms script \+ hidden time per view, 95 % interval .* n = 26 page views")
        )
        box = chart.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"])
        expect(readout).to_contain_text("script + hidden time per view")

        legend = page.get_by_role("list", name="Lines shown")
        legend.get_by_role("button", name="1.1.0").click()
        expect(legend.get_by_role("button", name="1.1.0")).to_have_attribute("aria-pressed", "false")
        chart.focus()
        page.keyboard.press("ArrowRight")
        expect(readout).to_contain_text("1.0.0")

        page.get_by_text("As a table", exact=True).first.click()
        table = page.get_by_role("table", name="The chart’s numbers")
        expect(table.locator("tbody tr")).to_have_count(4)
        expect(table.locator("tbody tr.too-few")).to_have_count(1)
        page.get_by_role("link", name="All releases", exact=True).click()
        expect(page.get_by_text("All releases together")).to_be_visible()
        expect(page.locator(".chart canvas")).to_be_visible()
        assert "lines=none" in page.url
        page.go_back(wait_until="commit")  # from the browser's memory nothing is loaded anew
        expect(page.locator(".chart canvas")).to_be_visible()
        page.emulate_media(color_scheme="dark")
        page.locator(".culprits").get_by_role("link", name="slow").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("slow")
        assert errors.complaints == []


# The sum, and what moved.
LAYOUT_SHIFT = """() => new Promise((resolve) => {
    let shift = 0;
    const moved = [];
    const name = ({ node, previousRect: was, currentRect: is }) =>
        `${node?.nodeName}.${node?.className} ${was.y} (${was.height}) ${is.y} (${is.height})`;
    const add = (each) => {
        if (each.hadRecentInput) return;
        shift += each.value;
        moved.push(...each.sources.map(name));
    };
    new PerformanceObserver((list) => list.getEntries().forEach(add)).observe({type: "layout-shift", buffered: true});
    requestAnimationFrame(() => setTimeout(() => resolve([shift, moved]), 100));
})"""
MOST_SHIFT = 0.1  # a good page has less: web.dev/articles/cls


def test_parts_that_arrive_move_nothing(chromium: Browser, live_server: LiveServer, admin: User, shop: Project) -> None:
    with open_as(chromium, live_server.url, admin, LOOKS[0]) as (page, _):
        for address in ("/projects/", "/projects/shop/", "/projects/shop/compare/"):
            page.goto(live_server.url + address)
            if address == "/projects/shop/":
                expect(page.locator(".chart canvas")).to_be_visible()
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
            shift, moved = page.evaluate(LAYOUT_SHIFT)
            assert shift < MOST_SHIFT, (address, moved)


def test_a_part_of_the_chart_narrows_the_time_by_mouse_and_by_keys(
    chromium: Browser, live_server: LiveServer, admin: User, shop: Project
) -> None:
    with open_as(chromium, live_server.url, admin, LOOKS[0]) as (page, errors):
        page.goto(f"{live_server.url}/projects/shop/")
        chart = page.locator(".chart-plot")
        expect(page.locator(".chart canvas")).to_be_visible()
        marks = json.loads(page.locator("figure.chart").get_attribute("data-chart-marks") or "")
        assert [name for name, _ in marks] == ["1.1.0", "1.0.0"]
        over = page.locator(".chart .u-over")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2

        page.mouse.move(box["x"] + 5, y)  # dropped in the middle
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 3, y, steps=4)
        page.keyboard.press("Escape")
        page.mouse.up()
        assert "from=" not in page.url

        page.mouse.move(box["x"] + 5, y)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 6, y, steps=4)
        page.mouse.up()
        page.wait_for_url(re.compile(r"[?&]from=\d{4}-\d\d-\d\dT00%3A00Z&to=\d{4}-\d\d-\d\dT00%3A00Z$"))
        expect(page.get_by_role("row", name=re.compile("^1.0.0 "))).to_be_visible()
        expect(page.get_by_role("row", name=re.compile("^1.1.0 "))).to_have_count(0)
        page.go_back(wait_until="commit")
        expect(page.locator(".chart canvas")).to_be_visible()
        assert "from=" not in page.url

        chart.focus()
        page.keyboard.press("End")
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"[?&]from="))
        expect(page.get_by_role("row", name=re.compile("^1.1.0 "))).to_be_visible()
        assert errors.complaints == []


def test_without_script_the_overview_has_its_figures(
    chromium: Browser, live_server: LiveServer, admin: User, shop: Project
) -> None:
    with open_as(chromium, live_server.url, admin, LOOKS[0]) as (page, _):
        cookies = page.context.cookies()
        context = chromium.new_context(java_script_enabled=False)
        context.add_cookies(cookies)  # type: ignore[arg-type]  # the same shape, typed twice
        plain = context.new_page()
        plain.goto(f"{live_server.url}/projects/shop/")
        expect(plain.locator(".verdict")).to_contain_text("1.1.0 made /cart slower: +40")
        expect(plain.get_by_role("link", name="The same figures as JSON")).to_be_visible()
        expect(plain.get_by_role("link", name="Compare functions")).to_be_visible()
        expect(plain.get_by_role("heading", name="Days")).to_be_visible()
        context.close()


def refuse(origin: str) -> None:
    request = RequestFactory().post(
        "/ingest/v1/traces?key=fresh",
        json.dumps(make_envelope()),
        content_type="text/plain",
        headers={"Origin": origin},
    )
    assert receive_traces(request).status_code == 403


def test_a_first_trace_shows_up_by_itself(chromium: Browser, live_server: LiveServer, admin: User) -> None:
    create_project(slug="fresh", key="fresh", origins=["https://fresh.example"])
    with open_as(chromium, live_server.url, admin, LOOKS[0]) as (page, errors):
        page.goto(f"{live_server.url}/projects/")
        page.get_by_role("link", name="Send the first trace").click()
        steps = page.locator("#first-steps")
        expect(steps.locator("li.is-now")).to_contain_text("Your site reaches this server")
        assert find_faults(page) == [], "nothing arrived"
        page.get_by_role("button", name="Copy").first.click()
        expect(
            page.get_by_role("button", name="Copied").or_(page.get_by_role("button", name="Selected"))
        ).to_be_visible()

        refuse("https://elsewhere.example")
        expect(steps).to_contain_text("1 × origin_not_allowed")
        expect(steps).to_contain_text("add its origin to the key")
        post("fresh", view("first", 2))
        expect(steps.locator("li.is-now")).to_contain_text("Traces are pending.")
        save_screenshot(page, "first-visit")
        fold_all()
        expect(steps).to_contain_text("Your first page view is here.")
        expect(page.locator("#parts-said")).to_contain_text("The project has numbers to show.")
        assert find_faults(page) == [], "the first page view"
        page.get_by_role("link", name="Show the overview").click()
        expect(page.locator(".verdict")).to_contain_text("Only one release so far.")
        assert errors.complaints == []
