"""Somebody who is locked out, in a real browser: the page is in the look of the login, light and dark."""

from uuid import uuid4

import pytest
from axes.handlers.proxy import AxesProxyHandler
from playwright.sync_api import Browser, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from dashboard.web.logins.cache import LoginCache
from tests.e2e.axe import find_faults
from tests.e2e.browser import open_page, save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.slow(5), pytest.mark.django_db(transaction=True)]


def test_who_is_locked_out_reads_when_to_try_again(
    chromium: Browser, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AXES_FAILURE_LIMIT = 2
    cache = LoginCache(settings.REDIS_URL, {"KEY_PREFIX": uuid4().hex})
    monkeypatch.setattr(AxesProxyHandler.get_implementation(), "cache", cache)
    with open_page(chromium, viewport={"width": 1200, "height": 844}) as page:
        page.goto(f"{live_server.url}/login/")
        for seen in ("Wrong user name or password.", "Try again in 15 minutes."):
            page.get_by_label("User name").fill("member")
            page.get_by_label("Password").fill("wrong")
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_role("alert")).to_contain_text(seen)
        expect(page.get_by_role("heading", name="Too many attempts")).to_be_visible()
        assert find_faults(page) == []
        save_screenshot(page, "pages/login-refused")
        page.get_by_role("link", name="Log in").click()
        expect(page.get_by_label("Password")).to_be_visible()
