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
from tests.e2e.axe import find_faults
from tests.e2e.browser import open_signed_in, save_screenshot
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]

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
    """Lists, real input and canvases. What keys and tables say is tested in tests/dashboard/scripts/timeline."""

    def test_from_the_list_to_a_view_and_on_to_the_next(
        self, live_server: LiveServer, member: Client, settings: Settings
    ) -> None:
        settings.VIEWER_ORIGIN = VIEWER
        with open_web(live_server, member, "views/") as page:
            rows = page.locator(".page-views tbody tr")
            expect(rows).to_have_count(25)
            expect(page.locator(".percentiles")).to_contain_text("p5020 ms")
            page.get_by_role("link", name="Worst").click()
            expect(rows.first).to_contain_text("160 ms")
            expect(rows.first.locator("time")).to_contain_text(re.compile("[AP]M$"))  # in the reader's words
            page.context.route(f"{VIEWER}/**", lambda route: route.fulfill(content_type="text/html", body=STAND_IN))
            with page.expect_popup() as popup:  # each row opens its own view
                page.get_by_role("button", name="Open view 1 in Firefox Profiler").click()
            expect(popup.value.locator("#got")).to_contain_text("click")
            assert popup.value.url.endswith(f"%20{view_id_of('one')[:8]}")
            popup.value.close()
            rows.first.get_by_role("link").first.click()
            expect(page.locator("h1")).to_have_text("/a")
            expect(page.locator("#timeline-facts")).to_contain_text("20 samples")
            page.get_by_role("link", name="Next view").click()
            expect(page.locator("#timeline-facts")).to_contain_text("2 samples")
            expect(page.locator(".way")).to_contain_text("Worst view (#2)")
            page.get_by_role("link", name="Previous view").click()
            expect(page.locator("#timeline-facts")).to_contain_text("20 samples")

    def test_the_mouse_tells_what_ran_when_and_both_canvases_zoom_together(
        self, live_server: LiveServer, member: Client
    ) -> None:
        with open_web(live_server, member, VIEW) as page:
            stacks, tracks, details = (
                page.locator("#stacks-canvas"),
                page.locator("#tracks-canvas"),
                page.locator(DETAILS),
            )
            expect(details).to_contain_text("A bar is at least one sample of 10 ms. Shorter calls may be missing.")
            stacks.hover(position=place_of(stacks, 80, ROW + 8))
            expect(details).to_contain_text("draw")
            expect(details).to_contain_text("Here80 ms 8 samples")
            expect(details).to_contain_text("From40 ms to 120 ms")
            # The long task goes on for 20 ms without a stack, with one on one side only: whose they are is uncertain.
            stacks.hover(position=place_of(stacks, 130, 8))
            expect(details).to_contain_text("or to none.Here20 ms 2 samples")
            tracks.hover(position=place_of(tracks, 150, 50))
            expect(details).to_contain_text("Idle")
            save_screenshot(page, "view-timeline")
            tracks.focus()
            for key in ("ArrowRight", "ArrowRight", "Enter"):  # hydrate, 20 to 70 ms, with a tenth on each side
                page.keyboard.press(key)
            expect(details).to_contain_text("Measure hydrate")
            page.wait_for_timeout(300)  # the movement
            right = Position(x=float(tracks.evaluate("canvas => canvas.clientWidth")) - 3, y=50)
            tracks.hover(position=right)
            expect(details).to_contain_text("At74.8 ms")
            stacks.hover(position=Position(x=right["x"], y=ROW + 8))
            expect(details).to_contain_text("draw")

    def test_a_list_and_a_view_can_be_read_in_every_look(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, "views/?order=worst") as page:
            rows = page.locator(".page-views tbody tr")
            expect(rows).to_have_count(25)
            page.get_by_text("As a table").click()
            assert find_faults(page) == [], "the list"
            save_screenshot(page, "views")
            rows.first.get_by_role("link").first.click()
            expect(page.locator(".of-view tbody tr")).to_have_count(3)
            page.get_by_text("Marks as a table").click()
            page.get_by_text("Activity as a table").click()
            expect(page.get_by_role("table", name="Marks of this view").locator("tbody tr")).to_have_count(4)
            expect(page.get_by_role("table", name="Functions of this view")).to_contain_text("×")
            assert find_faults(page) == [], "a view"
            save_screenshot(page, "view")
            RawTrace.objects.all().delete()
            page.goto(f"{live_server.url}/projects/web/views/{view_id_of('v0')}/")
            expect(page.get_by_role("heading", name="The recording has expired")).to_be_visible()
            assert find_faults(page) == [], "an expired view"
            save_screenshot(page, "view-expired")

    def test_a_tap_on_a_phone_tells_what_ran(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, VIEW, **PHONE) as page:
            stacks = page.locator("#stacks-canvas")
            expect(page.locator(DETAILS)).to_contain_text("A bar is at least one sample")
            stacks.tap(position=place_of(stacks, 80, 26 + 8))
            expect(page.locator(DETAILS)).to_contain_text("draw")
            assert page.evaluate("document.documentElement.scrollWidth") == 390

    def test_without_script_all_of_it_is_there(self, live_server: LiveServer, member: Client) -> None:
        with open_web(live_server, member, "views/?order=worst", java_script_enabled=False) as page:
            page.get_by_role("link", name="Show the list without JavaScript").click()
            expect(page.locator(".page-views tbody tr")).to_have_count(25)
            page.locator(".page-views tbody tr").first.get_by_role("link").first.click()
            page.get_by_role("link", name="Show marks and functions as tables").click()
            expect(page.get_by_role("table", name="Marks of this view")).to_contain_text("hydrate")
            expect(page.get_by_role("table", name="Functions of this view")).to_contain_text("draw")
