"""The demo tells its story: the verdict names the page and the function, the mend is seen, and so is the tag's cost.

Five tasks of a person who has just logged in take few clicks.
"""

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from ops.demo.loading import date_groups, ensure_demo_project, store_views, upload_maps
from tests.aggregate.posting import fold_all
from tests.e2e.browser import open_page, save_screenshot
from tests.e2e.site import Look, open_as

pytestmark = [pytest.mark.nightly, pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(60)]
VIEWS = 1_000  # a third of what is loaded: the changes are clear long before
# What the last release is told by: a third party's function, which no own one followed.
VENDOR = re.compile(r"^\s*takeSnapshot takes longer on .* with 1\.2\.0 .*: likely not by this release\.")


@pytest.fixture
def client(admin_client: Client) -> Client:
    project = ensure_demo_project()
    upload_maps(project)
    sum(store_views(project, datetime.now(UTC), VIEWS))
    fold_all()
    date_groups(project)
    call_command("symbolicate", project="demo")
    return admin_client


def read(client: Client, path: str) -> dict[str, Any]:  # Any: JSON of the API
    answer = client.get(f"/api/v1/projects/demo/{path}")
    assert answer.status_code == 200, answer.content
    content: dict[str, Any] = answer.json()
    return content


def test_the_demo_tells_its_story_in_few_clicks(
    client: Client, admin_user: User, chromium: Browser, live_server: LiveServer
) -> None:
    check_story(client)
    with open_as(chromium, live_server.url, admin_user, Look("light", 1440)) as (page, alert):
        for task in (find_callers, read_the_verdict, find_the_devices, look_at_views, share_a_page):
            page.goto(f"{live_server.url}/projects/")
            expect(page.locator("[aria-busy=true]")).to_have_count(0)
            task(page)
        assert alert.complaints == []


def check_story(client: Client) -> None:
    slower = read(client, "verdict?base_release=1.0.0&head_release=1.1.0")
    assert "1.1.0 made /product/:id slower" in slower["sentence"]
    assert "mainly rankRecommendations" in slower["sentence"]

    mended = {page["page"]: page for page in read(client, "verdict")["pages"]}
    assert mended["/product/:id"]["state"] == "faster"

    rows = read(client, "functions?release=1.2.0&limit=400")["functions"]
    assert {"takeSnapshot", "buildSearchIndex"} <= {(row["original"] or row)["name"] for row in rows}


def click(page: Page, *links: Locator) -> None:
    """Clicks one after the other, and waits for all parts of each page."""
    for link in links:
        link.click()
        page.wait_for_load_state()
        expect(page.locator("[aria-busy=true]:visible")).to_have_count(0)


def find_callers(page: Page) -> None:
    """The worst function of a page, and who calls it: three clicks."""
    pages = page.get_by_role("region", name="Pages by cost")
    top = page.locator("table.functions tbody tr").first
    worst = pages.locator("tbody tr").first
    click(page, page.get_by_role("link", name="Demo shop"), worst.get_by_role("link"), top.get_by_role("link"))
    callers = page.get_by_role("heading", name="Callers and callees")
    expect(callers).to_be_in_viewport()
    save_screenshot(page, "tasks/callers")


def read_the_verdict(page: Page) -> None:
    """Did the last release make it worse? No click: the list says so."""
    expect(page.locator("td.release")).to_contain_text(VENDOR)


def find_the_devices(page: Page) -> None:
    """Is it only weak phones? One click: the overview has the change by device, on the page that the verdict is about.

    A third of the views is too few for that; test_resampling has that all of them are enough.
    """
    click(page, page.get_by_role("link", name="Demo shop"))
    row = page.get_by_role("row").filter(has_text="mobile-low")
    expect(row).to_contain_text(re.compile("slower|faster|no clear change|too few"))


def look_at_views(page: Page) -> None:
    """A typical and a worst view: two clicks each."""
    for name in ("Typical view", "Worst view"):
        page.goto(urljoin(page.url, "/projects/"))
        click(page, page.get_by_role("link", name="Demo shop"), page.get_by_role("link", name=name))
        expect(page.get_by_role("heading", name="Timeline")).to_be_visible()


def share_a_page(page: Page) -> None:
    """A link for somebody without an account: two clicks."""
    click(page, page.get_by_role("link", name="Demo shop"), page.get_by_role("button", name="Share"))
    link = page.get_by_role("dialog", name="Share this page").get_by_role("textbox").first
    expect(link).to_have_value(re.compile("/shared/"))
    address = link.input_value()
    browser = page.context.browser
    assert browser is not None
    with open_page(browser) as stranger:
        stranger.goto(address)
        expect(stranger.get_by_role("heading", name="Demo shop")).to_be_visible()
        expect(stranger.locator(".sentence").first).to_contain_text(VENDOR)
