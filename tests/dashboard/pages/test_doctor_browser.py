"""The page doctor in a real browser: somebody names a page, a real visit happens, and the findings can be read."""

import pytest
from django.core.cache import cache
from playwright.sync_api import Browser, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.aggregate.doctor.site import serve_visited
from tests.e2e.axe import find_faults
from tests.e2e.browser import save_screenshot
from tests.e2e.site import LOOKS, SLUG, fill_site, open_as

pytestmark = [pytest.mark.e2e, pytest.mark.slow(10), pytest.mark.django_db(transaction=True)]


def test_somebody_visits_a_page_and_reads_what_to_mend(
    chromium: Browser, live_server: LiveServer, settings: Settings
) -> None:
    cache.clear()
    user = fill_site(views=2)
    with serve_visited() as site, serve_visited() as cdn:
        settings.DOCTOR_PORTS = [site.port, cdn.port]
        settings.DOCTOR_ALLOW_PRIVATE = ["127.0.0.1"]
        settings.DOCTOR_TIME_S = 300
        cdn.set_script("/lib.js", headers=[("Access-Control-Allow-Origin", "*")])
        site.set_page(f"<title>x</title><script src={cdn.origin}/lib.js></script>", [])
        with open_as(chromium, live_server.url, user, LOOKS[0]) as (page, errors):
            page.goto(f"{live_server.url}/projects/{SLUG}/quality/")
            page.get_by_role("link", name="Check a page").click()
            page.get_by_label("Address of a live page").fill(f"{site.origin}/")
            page.get_by_role("button", name="Check page").click()
            expect(page.get_by_role("heading", name="2 problems, 1 warning")).to_be_focused()
            expect(page.get_by_text("Document-Policy: js-profiling, js-profiling-mode=lazy")).to_be_visible()
            expect(page.get_by_text(f"{cdn.origin}/lib.js").first).to_be_visible()
            assert find_faults(page) == []
            assert errors.complaints == []
            save_screenshot(page, "pages/doctor")
