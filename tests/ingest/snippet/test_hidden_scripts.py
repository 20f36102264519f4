"""A real tag without CORS: the browser hides what it did, and the view still says whose time it was."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page

from projects.creation import create_project
from tests.aggregate.posting import fold_all, post
from tests.dashboard.pages.reading import text_of
from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20), pytest.mark.django_db]


def test_a_tag_without_cors_is_named_with_its_time(site: Site, page: Page, client: Client) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    client.force_login(User.objects.create_superuser("root"))
    site.files["/tag.js"] = f"{BUSY} setTimeout(() => spin(150), 100);"
    site.files["/seen.js"] = "setTimeout(() => spin(150), 500);"
    site.file_headers["Access-Control-Allow-Origin"] = "*"
    tags = f"<script src='{site.url('/tag.js', 'localhost')}'></script>"
    tags += f"<script src='{site.url('/seen.js', 'localhost')}' crossorigin></script>"
    site.add_page(attributes="data-bots")
    site.pages["/"] = site.pages["/"].replace("<body>", f"<body>{tags}")
    page.goto(site.url())

    def find_frames() -> list[object]:
        marks = (mark for envelope in site.envelopes for mark in envelope["marks"])
        return [mark for mark in marks if mark["type"] == "long-animation-frame"]

    wait_until(page, lambda: len(find_frames()) > 1)
    post("shop-key", *site.envelopes)
    fold_all()
    (row,) = client.get("/api/v1/projects/shop/vitals").json()["hidden_scripts"]
    assert row["origin"] == site.url("", "localhost")
    assert 100 <= row["least_ms_per_view"] <= row["most_ms_per_view"]
    assert row["most_ms_per_view"] >= 145
    text = text_of(client, "/projects/shop/vitals/?plain=1")
    assert f"may be {site.url('', 'localhost')} , whose scripts lack CORS" in text
    assert "Please serve your scripts on" in text
