"""A person finds a page view in a list and reads its timeline in a real browser: by mouse, keys and touch."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import Client
from playwright.sync_api import Locator, Page, Position, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from ingest.models import RawTrace
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.dashboard.layout.viewer import STAND_IN, VIEWER
from tests.e2e.axe import find_violations
from tests.e2e.browser import open_signed_in, save_screenshot
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow(40), pytest.mark.django_db(transaction=True)]

VIEW = f"views/{view_id_of('one')}/?order=worst&at=1"
DETAILS = "#timeline-details"
ROW = 20  # px
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True}


@pytest.fixture
def web(people: People) -> Project:
    """A project of the member's: thirty short views, and one of 200 ms whose calls, marks and gaps are known."""
    project = make_project("web", name="The web")
    Membership.objects.create(project=project, user=people.member)
    for n in range(30):
        post("KEY-web", make_envelope(f"v{n}", "boot\nboot draw", page="/a", timeOrigin=TIME_ORIGIN_MS - 60_000 * n))
    columns = "\n".join(["boot"] * 4 + ["boot draw"] * 8 + ["-"] * 4 + ["click"] * 4)
    marks = [
        {"type": "longtask", "start": 0, "duration": 140},
        {"type": "lcp", "start": 60},
        {"type": "measure", "name": "hydrate", "start": 20, "duration": 50},
        {"type": "event", "name": "pointerdown", "start": 160, "duration": 40},
    ]
    post("KEY-web", make_envelope("one", columns, page="/a", marks=marks, tags={"cart": "full"}))
    fold_all()
    return project


@contextmanager
def open_web(live_server: LiveServer, client: Client, address: str, **options: object) -> Iterator[Page]:
    """Opens a page with a client's session; no database beyond this point. Any complaint of the browser fails."""
    options = {"viewport": {"width": 1200, "height": 900}, **options}
    with open_signed_in(live_server, client, f"/projects/web/{address}", options) as page:
        yield page


def place_of(canvas: Locator, ms: float, y: float) -> Position:
    """Returns where a moment of the view's 200 ms is on a canvas."""
    return Position(x=ms / 200 * float(canvas.evaluate("canvas => canvas.clientWidth")), y=y)


@pytest.mark.usefixtures("web")
class TestViews:
    def test_from_the_list_to_a_view_and_on_to_the_next(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, "views/") as page:
            rows = page.locator(".page-views tbody tr")
            expect(rows).to_have_count(25)
            expect(page.locator(".percentiles")).to_contain_text("p5020 ms")
            page.get_by_role("link", name="Worst").click()
            expect(rows.first).to_contain_text("160 ms")
            expect(rows.first.locator("time")).to_contain_text(re.compile("[AP]M$"))  # in the reader's words
            rows.first.get_by_role("link").first.click()
            expect(page.locator("h1")).to_have_text("/a")
            expect(page.locator("#timeline-facts")).to_contain_text("20 samples")
            page.get_by_role("link", name="Next view").click()
            expect(page.locator("#timeline-facts")).to_contain_text("2 samples")
            expect(page.locator(".way")).to_contain_text("Worst view (#2)")
            page.get_by_role("link", name="Previous view").click()
            expect(page.locator("#timeline-facts")).to_contain_text("20 samples")

    def test_each_row_opens_its_own_view_in_the_viewer(
        self, live_server: LiveServer, member: Client, settings: Settings
    ) -> None:
        settings.VIEWER_ORIGIN = VIEWER
        with open_web(live_server, member, "views/?order=worst") as page:
            page.context.route(f"{VIEWER}/**", lambda route: route.fulfill(content_type="text/html", body=STAND_IN))
            with page.expect_popup() as popup:
                page.get_by_role("button", name="Open view 1 in Firefox Profiler").click()
            expect(popup.value.locator("#got")).to_contain_text("click")
            assert popup.value.url.endswith(f"%20{view_id_of('one')[:8]}")
            expect(page.locator("#open-status")).to_have_text("Opened in a new window.")

    def test_a_bar_of_the_histogram_narrows_the_list(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, "views/?scale=linear") as page:
            page.locator(".histogram a").last.click()
            expect(page.locator(".page-views tbody tr")).to_have_count(1)
            assert "low=" in page.url
            page.get_by_role("link", name="All times").click()
            expect(page.locator(".page-views tbody tr")).to_have_count(25)

    def test_mouse_and_keys_tell_what_ran_when(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, VIEW) as page:
            stacks, tracks, details = (
                page.locator("#stacks-canvas"),
                page.locator("#tracks-canvas"),
                page.locator(DETAILS),
            )
            expect(details).to_contain_text("A bar is at least one sample of 10 ms")
            stacks.hover(position=place_of(stacks, 80, ROW + 8))
            expect(details).to_contain_text("draw")
            expect(details).to_contain_text("Here80 ms 8 samples")
            expect(details).to_contain_text("From40 ms to 120 ms")
            expect(details).to_contain_text("shorter calls may be missing")
            # The long task goes on for 20 ms without a stack, with one on one side only: whose they are is uncertain.
            stacks.hover(position=place_of(stacks, 130, 8))
            expect(details).to_contain_text("or to none.Here20 ms 2 samples")
            stacks.focus()
            page.keyboard.press("ArrowDown")
            expect(details).to_contain_text("draw")
            page.keyboard.press("ArrowUp")
            page.keyboard.press("ArrowRight")
            expect(details).to_contain_text("(hidden)")
            page.keyboard.press("ArrowRight")
            expect(details).to_contain_text("click")
            tracks.focus()
            page.keyboard.press("ArrowRight")
            expect(details).to_contain_text("Long task")
            page.keyboard.press("ArrowRight")
            expect(details).to_contain_text("Measure hydrate")
            expect(details).to_contain_text("Took50 ms")
            tracks.hover(position=place_of(tracks, 150, 50))
            expect(details).to_contain_text("Idle")
            save_screenshot(page, "view-timeline")

    def test_both_canvases_zoom_together_and_back(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, VIEW) as page:
            stacks, tracks, details = (
                page.locator("#stacks-canvas"),
                page.locator("#tracks-canvas"),
                page.locator(DETAILS),
            )
            expect(details).to_contain_text("A bar is at least one sample of 10 ms. Shorter calls may be missing.")
            tracks.focus()
            for key in ("ArrowRight", "ArrowRight", "Enter"):  # hydrate, 20 to 70 ms, with a tenth on each side
                page.keyboard.press(key)
            page.wait_for_timeout(300)  # the movement
            right = Position(x=float(tracks.evaluate("canvas => canvas.clientWidth")) - 3, y=50)
            tracks.hover(position=right)
            expect(details).to_contain_text("At74.8 ms")
            stacks.hover(position=Position(x=right["x"], y=ROW + 8))
            expect(details).to_contain_text("draw")
            page.get_by_role("button", name="Show whole view").click()
            page.wait_for_timeout(300)
            tracks.hover(position=right)
            expect(details).to_contain_text("At199 ms")
            page.get_by_role("button", name="Zoom in").click()
            tracks.hover(position=right)
            expect(details).to_contain_text("At150 ms")

    def test_a_view_without_a_stack_has_its_tracks_alone(self, live_server: LiveServer, member: Client) -> None:
        post("KEY-web", make_envelope("still", "-\n-\n-", page="/still"))
        fold_all()
        with open_web(live_server, member, f"views/{view_id_of('still')}/") as page:
            expect(page.locator(DETAILS)).to_contain_text("No stack was seen in this view.")
            tracks = page.locator("#tracks-canvas")
            tracks.hover(position={"x": 300, "y": 50})
            expect(page.locator(DETAILS)).to_contain_text("Idle")
            tracks.focus()
            page.keyboard.press("+")
            expect(page.locator("#stacks-canvas")).to_be_hidden()
            expect(page.locator("#view-functions")).to_contain_text("No function was seen in this view")

    def test_profilers_that_ran_at_once_can_be_chosen(self, live_server: LiveServer, member: Client) -> None:
        post("KEY-web", make_envelope("two", "A\nA\nA\nA", page="/two"))
        post("KEY-web", make_envelope("two", "B\nB", seq=1, page="/two", timeOrigin=TIME_ORIGIN_MS + 5))
        fold_all()
        with open_web(live_server, member, f"views/{view_id_of('two')}/") as page:
            stacks = page.locator("#stacks-canvas")
            expect(stacks).to_be_visible()  # else keys are lost
            stacks.focus()
            page.keyboard.press("ArrowUp")
            stacks.hover(position={"x": 500, "y": 8})
            expect(page.locator(DETAILS)).to_contain_text("From0 ms to 40 ms")
            page.get_by_label("Profiler to show").select_option("Profiler 2")
            stacks.hover(position={"x": 501, "y": 9})
            expect(page.locator(DETAILS)).to_contain_text("From5 ms to 25 ms")

    def test_all_of_it_is_in_tables_too(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, VIEW) as page:
            page.get_by_text("Marks as a table (4)").click()
            marks = page.get_by_role("table", name="Marks of this view")
            expect(marks.locator("tbody tr")).to_have_count(4)
            expect(marks.locator("tbody tr").nth(2)).to_contain_text("LCP")
            page.get_by_text("Activity as a table (4 rows)").click()
            activity = page.get_by_role("table", name="Main thread activity by time")
            expect(activity.locator("tbody tr")).to_have_text(
                ["Script0 ms120 ms12drawShow", "Hidden120 ms20 ms2–Show", "Idle140 ms20 ms2–Show",
                 "Script160 ms40 ms4clickShow"]
            )  # fmt: skip
            expect(page.get_by_role("table", name="Functions of this view")).to_contain_text("×")

    def test_times_of_a_tables_column_have_one_unit(self, live_server: LiveServer, member: Client) -> None:
        marks = [
            {"type": "longtask", "start": 0, "duration": 1_300},
            {"type": "longtask", "start": 1_400, "duration": 60},
        ]
        post("KEY-web", make_envelope("slow", "\n".join(["boot"] * 150), page="/a", marks=marks))
        fold_all()
        with open_web(live_server, member, f"views/{view_id_of('slow')}/") as page:
            page.get_by_text("Marks as a table (2)").click()
            marks_table = page.get_by_role("table", name="Marks of this view")
            expect(marks_table).to_contain_text("1.30 s")
            expect(marks_table).to_contain_text("0.060 s")

    def test_an_expired_view_shows_what_is_left(self, live_server: LiveServer, member: Client) -> None:
        RawTrace.objects.all().delete()
        with open_web(live_server, member, "views/") as page:
            expect(page.locator(".page-views")).to_contain_text("sums only")
            page.locator(".page-views tbody tr").first.get_by_role("link").first.click()
            expect(page.get_by_role("heading", name="The recording has expired")).to_be_visible()
            expect(page.locator("#timeline")).to_have_count(0)
            assert find_violations(page) == []
            save_screenshot(page, "view-expired")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing_wrong_in_either_theme(
        self, live_server: LiveServer, member: Client, scheme: str
    ) -> None:
        with open_web(live_server, member, "views/?order=worst", color_scheme=scheme) as page:
            expect(page.locator(".page-views tbody tr")).to_have_count(25)
            page.get_by_text("As a table").click()
            assert find_violations(page) == []
            save_screenshot(page, f"views-{scheme}")
            page.locator(".page-views tbody tr").first.get_by_role("link").first.click()
            expect(page.locator(".of-view tbody tr")).to_have_count(3)
            page.get_by_text("Marks as a table").click()
            page.get_by_text("Activity as a table").click()
            assert find_violations(page) == []
            save_screenshot(page, f"view-{scheme}")

    def test_a_narrow_page_is_no_wider_than_the_screen(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, "views/?order=worst", **PHONE) as page:
            expect(page.locator(".page-views tbody tr")).to_have_count(25)
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            assert find_violations(page) == []
            save_screenshot(page, "views-narrow")
            page.locator(".page-views tbody tr").first.get_by_role("link").first.click()
            expect(page.locator(".of-view tbody tr")).to_have_count(3)
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            stacks = page.locator("#stacks-canvas")
            stacks.tap(position=place_of(stacks, 80, 26 + 8))
            expect(page.locator(DETAILS)).to_contain_text("draw")
            assert find_violations(page) == []
            save_screenshot(page, "view-narrow")

    def test_without_script_all_of_it_is_there(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, "views/?order=worst", java_script_enabled=False) as page:
            page.get_by_role("link", name="Show the list without JavaScript").click()
            expect(page.locator(".page-views tbody tr")).to_have_count(25)
            page.locator(".page-views tbody tr").first.get_by_role("link").first.click()
            page.get_by_role("link", name="Show marks and functions as tables").click()
            expect(page.get_by_role("table", name="Marks of this view")).to_contain_text("hydrate")
            expect(page.get_by_role("table", name="Functions of this view")).to_contain_text("draw")
