"""The full core of a real page, through the endpoint and the fold: slow moments in Vitals, and page loads."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from ingest.count_models import LoadCount
from ingest.models import Receipt
from profcore.vitals.page_loads import LOAD_VITALS
from projects.creation import create_project
from tests.aggregate.posting import fold_all
from tests.dashboard.pages.reading import text_of
from tests.e2e.browser import lend_chromium, open_page
from tests.ingest.snippet.browsing import BUSY, HIDE, wait_until
from tests.ingest.snippet.site import serve_site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(15), pytest.mark.django_db(transaction=True)]
CLICKED = "function answer() { spin(400); } addEventListener('click', answer);"


def test_a_slow_click_and_the_pages_times_arrive(live_server: LiveServer, client: Client) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    client.force_login(User.objects.create_superuser("root"))
    with serve_site() as site, lend_chromium() as browser, open_page(browser) as page:
        site.page_headers["Server-Timing"] = 'ff;desc="on=1;rate=1"'
        attributes = (
            "data-key=shop-key data-release=1 data-localhost data-bots data-keep=slow data-whole=0 data-experiment=1"
        )
        site.pages["/"] = (
            "<!doctype html><title>shop</title><link rel=icon href='data:,'>"
            f"<script src='{live_server.url}/snippet/full/shop-key.js' {attributes} crossorigin></script>"
            f"<body><h1>Shop</h1><script>{BUSY}{CLICKED}</script>"
        )
        page.goto(site.url())
        expect(page.get_by_role("heading")).to_be_visible()
        page.mouse.click(50, 50)
        page.wait_for_timeout(600)
        page.evaluate(HIDE, True)
        wait_until(page, lambda: Receipt.objects.exists() and LoadCount.objects.count() == len(LOAD_VITALS))
    fold_all()
    assert {row.capture for row in Receipt.objects.all()} == {1}
    text = text_of(client, "/projects/shop/vitals/?plain=1")
    assert "spin" in text
    assert re.search("Of 1 of them only slow moments were kept", text)
    assert "spin" not in text_of(client, "/projects/shop/functions/?plain=1")
    assert "spin" in text_of(client, "/projects/shop/functions/?plain=1&capture=slow")
