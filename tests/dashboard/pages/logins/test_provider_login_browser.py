"""Logging in by a provider in a real browser: its policy lets the way there and back pass, and the pages are clean."""

import pytest
from playwright.sync_api import Browser, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from dashboard.web.logins import provider as client
from projects.accounts.group_roles import GroupRole
from tests.builders import make_project
from tests.dashboard.pages.logins.provider import run_provider
from tests.e2e.axe import find_violations
from tests.e2e.browser import open_page, save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]
PEOPLE = {name: {"preferred_username": name, "groups": [name + "s"]} for name in ("anna", "eve")}


def test_the_way_to_the_provider_and_back(
    chromium: Browser, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project("shop")
    site = live_server.url
    with run_provider(f"{site}/login/provider/return/", PEOPLE) as provider:
        settings.OIDC_ISSUER, settings.OIDC_NAME = provider.issuer, "Acme login"
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "fieldflame", "a secret of tests"
        settings.OIDC_ROLES = [GroupRole("annas", "shop", "admin")]
        settings.AUTHENTICATION_BACKENDS = [*settings.AUTHENTICATION_BACKENDS, f"{client.__name__}.ProviderBackend"]
        monkeypatch.setattr(client, "_client", None)
        for name, width, theme in (("eve", 390, "dark"), ("anna", 1200, "light")):
            with open_page(chromium, viewport={"width": width, "height": 844}, color_scheme=theme) as page:
                page.goto(f"{site}/projects/shop/settings/tokens/")
                assert find_violations(page) == []
                save_screenshot(page, f"pages/login-provider-{theme}-{width}")
                page.get_by_role("link", name="Log in with Acme login").click()
                page.get_by_label("Name").fill(name)
                page.get_by_label("Password").fill(name)
                page.get_by_role("button", name="Log in").click()
                wanted = "You are not logged in" if name == "eve" else "API tokens"
                expect(page.get_by_role("heading", name=wanted, exact=True)).to_be_visible()
                if name == "eve":
                    assert find_violations(page) == []
                save_screenshot(page, f"pages/login-provider-then-{theme}-{width}")
                if name == "anna":
                    page.goto(f"{site}/account/")
                    assert find_violations(page) == []
                    save_screenshot(page, f"pages/account-provider-{theme}-{width}")
