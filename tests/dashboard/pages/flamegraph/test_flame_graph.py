"""A person reads the flame graph in a real browser: by mouse and keys, in both themes, narrow, compared and printed."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from playwright.sync_api import expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from projects.models import Project
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.builders import make_call_tree, make_cell, make_func
from tests.dashboard.pages.flamegraph.graph import CANVAS, DETAILS, ROW, colour_at, open_tree, wait_for_colour
from tests.e2e.axe import find_faults
from tests.e2e.browser import lend_chromium, save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def releases(shop: Project) -> Project:
    """The shop with a release 2.0.0 of /cart: main (3 ms) called draw (6 ms), which called hash (12 ms)."""
    cell = make_cell(shop, release="2.0.0", js_us=21_000)
    main, draw = make_func(shop, "main", column=10), make_func(shop, "draw", column=20)
    hashed = make_func(shop, "hash", uri="https://shop.example/node_modules/md5/index.js")
    make_call_tree(cell, [(-1, main, 3_000), (0, draw, 6_000), (1, hashed, 12_000)])
    return shop


@pytest.mark.usefixtures("releases")
class TestFlameGraph:
    """What a canvas shows, and real input. What keys and tools decide is tested in tests/dashboard/scripts/flame."""

    def test_keys_and_the_mouse_zoom_and_come_back(self, live_server: LiveServer, member: Client) -> None:
        with open_tree(live_server, member, "release=1.0.0") as page:
            canvas, details, out = (
                page.locator(CANVAS),
                page.locator(DETAILS),
                page.get_by_role("button", name="Zoom out"),
            )
            expect(page.locator("#flame-facts")).to_contain_text("9 ms script time per view")
            canvas.focus()
            page.keyboard.press("ArrowDown")
            expect(details).to_contain_text("main")
            page.keyboard.press("ArrowDown")
            expect(details).to_contain_text("7 ms 77.8 %")
            expect(details.get_by_role("link", name="draw")).to_have_attribute(
                "href", "/projects/shop/functions/2/?release=1.0.0"
            )
            # Nothing lies right of draw (7 of 9 ms) until it is zoomed on.
            right = 1100
            assert colour_at(page, right, 2 * ROW + 3) == "#000000"  # transparent
            page.keyboard.press("Enter")
            wait_for_colour(page, right, 2 * ROW + 3, "#f2d4b3")
            expect(out).to_be_visible()
            page.keyboard.press("Escape")
            wait_for_colour(page, right, 2 * ROW + 3, "#000000")
            expect(out).to_be_hidden()
            canvas.hover(position={"x": 300, "y": 2 * ROW + 8})
            expect(details).to_contain_text("draw")
            canvas.hover(position={"x": 1100, "y": 2 * ROW + 8})
            expect(details).to_contain_text("All calls")
            canvas.click(position={"x": 300, "y": 2 * ROW + 8})
            wait_for_colour(page, right, 2 * ROW + 3, "#f2d4b3")
            out.click()
            wait_for_colour(page, right, 2 * ROW + 3, "#000000")

    def test_a_search_dims_the_rest_and_colours_are_remembered(self, live_server: LiveServer, member: Client) -> None:
        with open_tree(live_server, member, "release=2.0.0") as page:
            expect(page.locator("#flame-facts")).to_contain_text("21 ms")
            page.locator("h1").click()
            page.keyboard.press("/")
            page.keyboard.type("hash")
            expect(page.locator("#flame-found")).to_have_text("1 function, 57.1 % of script time")
            wait_for_colour(page, 300, ROW + 3, "#f1efed")
            wait_for_colour(page, 300, 3 * ROW + 3, "#aedaa6")
            page.keyboard.press("Escape")
            expect(page.locator(CANVAS)).to_be_focused()
            wait_for_colour(page, 300, 3, "#e4e1de")
            page.get_by_text("Flame", exact=True).click()
            page.locator("select[name=colour]").select_option("Package")
            height = int(page.locator(CANVAS).evaluate("canvas => canvas.clientHeight"))
            wait_for_colour(page, 300, height - ROW + 3, "#e4e1de")
            wait_for_colour(page, 300, height - 4 * ROW + 3, "#f7c2df")
            expect(page.locator("#flame-legend")).to_contain_text("md5 57.1 %")
            assert page.url.endswith("colour=package")
            page.reload()
            wait_for_colour(page, 300, height - 4 * ROW + 3, "#f7c2df")

    def test_a_sandwich_is_an_address_and_back_leads_on_from_it(self, live_server: LiveServer, member: Client) -> None:
        with open_tree(live_server, member, "release=2.0.0&show=sandwich&func=2") as page:
            halves = page.locator(".halves")
            expect(halves.locator("h3")).to_contain_text("18 ms total (85.7 %) · 6 ms self")
            page.get_by_role("region", name="Callees").locator("canvas").hover(position={"x": 100, "y": ROW + 8})
            expect(halves.locator(".flame-details")).to_contain_text("hash")
            page.get_by_role("region", name="Callers").locator("canvas").click(position={"x": 100, "y": 8})
            expect(halves.locator(".flame-details")).to_contain_text("main")
            page.get_by_role("button", name="hash").click()
            expect(halves.locator("h3")).to_contain_text("12 ms total (57.1 %)")
            kept = page.locator("form.slice-bar input[name=func]")  # another page or time shows the same function
            expect(kept).to_have_value(page.url.partition("func=")[2])
            expect(halves.locator("h3 a")).to_have_attribute("href", re.compile(r"/functions/\d+/\?release=2\.0\.0$"))
            page.go_back()
            expect(halves.locator("h3")).to_contain_text("draw")
            page.go_forward()
            expect(halves.locator("h3")).to_contain_text("hash")
            assert "release=2.0.0&show=sandwich&func=" in page.url

    def test_two_releases_are_coloured_by_change(self, live_server: LiveServer, member: Client) -> None:
        with open_tree(live_server, member) as page:
            page.get_by_text("Compare releases").click()
            page.locator("#base-release").select_option("1.0.0")
            page.locator("#head-release").select_option("2.0.0")
            page.get_by_role("button", name="Compare").click()
            expect(page.locator("#flame-facts")).to_contain_text("9 ms to 21 ms script time per view")
            expect(page.locator("#flame-legend")).to_contain_text("could be noise, or")  # of one view a side, all of it
            page.locator(CANVAS).focus()
            for _ in range(3):
                page.keyboard.press("ArrowDown")
            expect(page.locator(DETAILS)).to_contain_text("+12 ms new, could be noise")
            save_screenshot(page, "flame-compared")

    def test_all_three_can_be_read_in_every_look(self, live_server: LiveServer, member: Client) -> None:
        with open_tree(live_server, member, "release=2.0.0") as page:
            expect(page.locator("#flame-facts")).to_contain_text("21 ms")
            for show in ("Graph", "Table", "Sandwich"):
                page.get_by_role("button", name=show, exact=True).click()
                expect(page.locator(f"#show-{show.lower()}")).to_be_visible()
                if show == "Table":
                    page.locator("#show-table tbody tr").first.focus()
                    page.keyboard.press("ArrowDown")
                    expect(page.locator("#show-table tbody tr").nth(1)).to_be_focused()
                page.locator(".exports summary").click()
                assert find_faults(page) == [], show
                save_screenshot(page, f"flame-{show}")
                page.locator(".exports summary").click()

    def test_on_a_phone_it_is_sharp_and_a_tap_tells(self, live_server: LiveServer, member: Client) -> None:
        phone = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True}
        with open_tree(live_server, member, "release=2.0.0", **phone) as page:
            expect(page.locator("#flame-facts")).to_contain_text("21 ms")
            sizes = page.locator(CANVAS).evaluate("canvas => [canvas.width, 2 * canvas.clientWidth]")
            assert sizes[0] == sizes[1]
            page.locator(CANVAS).tap(position={"x": 60, "y": 30})
            expect(page.locator(DETAILS)).to_contain_text("main")

    def test_paper_is_light_and_has_the_whole_graph(self, live_server: LiveServer, member: Client) -> None:
        with open_tree(live_server, member, "release=2.0.0", color_scheme="dark") as page:
            wait_for_colour(page, 300, 3, "#35302c")
            page.emulate_media(media="print", color_scheme="dark")
            wait_for_colour(page, 300, 3, "#e4e1de")
            wait_for_colour(page, 300, 3 * ROW + 3, "#aedaa6")
            expect(page.locator("#flame-tools")).to_be_hidden()


def run_jobs_beside() -> None:
    """Runs waiting jobs in a thread: this one belongs to the browser."""

    def work() -> None:
        run_jobs()
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def test_a_slice_that_is_too_large_is_prepared_by_a_job(
    live_server: LiveServer, client: Client, site: Project, settings: Settings
) -> None:
    settings.READ_MAX_RAW_TRACES = 1
    user = User.objects.create_user("reader", password="correct horse")
    site.memberships.create(user=user)
    client.force_login(user)
    session = client.cookies["sessionid"].value
    with lend_chromium() as browser:
        page = browser.new_page()
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page.goto(f"{live_server.url}/projects/site/flame-graph/?tag=cache:warm")
        problem = page.locator("#flame-problem")
        expect(problem).to_contain_text("More than 1 raw traces would be folded.")
        expect(problem).not_to_contain_text("POST")
        with page.expect_response(lambda response: response.request.method == "POST") as started:
            page.get_by_role("button", name="Prepare in the background").click()
        assert started.value.status == 202
        run_jobs_beside()
        expect(page.locator("#flame-facts")).to_contain_text("script time per view", timeout=10_000)
        expect(page.locator(CANVAS)).to_be_visible()
        page.reload()  # whoever comes back finds what was prepared
        expect(page.get_by_role("button", name="Try again")).to_be_hidden()
        page.get_by_role("button", name="Show result of").click()
        expect(page.locator("#flame-facts")).to_contain_text("script time per view")
