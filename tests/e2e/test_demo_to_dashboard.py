"""A person opens the demo page, sees their trace accepted, finds its hot function in the dashboard and in a profile."""

import gzip
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from ops.supervisor.running import RunningStack
from tests.e2e.browser import save_screenshot

pytestmark = [pytest.mark.e2e, pytest.mark.stack, pytest.mark.slow(50)]

HOT = "findDuplicateOrders"
SENT_LIMIT_MS = 120_000
FOLD_LIMIT_S = 120.0


def record_demo_page(stack: RunningStack, page: Page) -> None:
    """Opens the demo page and waits until it says that its trace was accepted."""
    page.goto(f"{stack.url}/demo/")
    step = page.locator("#step-send")
    expect(step).to_have_attribute("data-state", re.compile("done|failed"), timeout=SENT_LIMIT_MS)
    expect(step).to_contain_text("Accepted (202)")
    save_screenshot(page, "demo")


def wait_until_folded(stack: RunningStack, token: str, before: int) -> None:
    """Waits until all traces are folded. The page said that its last one was accepted; `before` is their number before.

    A view comes in several.
    """
    deadline = time.monotonic() + FOLD_LIMIT_S
    status = stack.read("demo", token, "status")
    while status["received"] <= before or status["folded"] < status["received"]:
        assert status["rejected"] == 0, status
        assert time.monotonic() < deadline, status
        time.sleep(0.1)
        status = stack.read("demo", token, "status")


def log_in(stack: RunningStack, page: Page) -> None:
    """Follows the demo page's own link to the dashboard, which asks for the login."""
    page.get_by_role("link", name="See it in the dashboard").click()
    name, password = stack.login
    page.get_by_label("User name", exact=True).fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def copy_link_and_fetch_it(page: Page) -> None:
    """Copies the link to the viewer, and fetches what is in it as the viewer would: without a cookie."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".exports summary").click()
    page.get_by_role("button", name="Copy profile link").click()
    expect(page.locator("#open-status")).to_contain_text("Link copied.")
    address: str = page.evaluate("navigator.clipboard.readText()")
    kind, url, _ = urlsplit(address).path.strip("/").split("/")
    assert kind == "from-url"
    with urlopen(unquote(url)) as response:
        assert HOT in func_names(json.loads(gzip.decompress(response.read())))  # the page's button asks for gzip


def func_names(profile: dict[str, Any]) -> set[str]:  # Any: the viewer's format, read in two places only
    """Returns the names of a processed profile's funcs."""
    shared = profile["shared"]
    return {shared["stringArray"][index] for index in shared["funcTable"]["name"]}


@pytest.mark.always
def test_a_trace_of_the_demo_page_reaches_the_dashboard_and_the_firefox_profile(
    stack: RunningStack, page: Page, tmp_path: Path
) -> None:
    token = stack.create_token("demo")
    received = stack.read("demo", token, "status")["received"]
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)

    record_demo_page(stack, page)
    wait_until_folded(stack, token, received)
    log_in(stack, page)
    expect(page).to_have_url(re.compile(r"/projects/demo/"))
    save_screenshot(page, "dashboard-project")
    page.get_by_role("link", name="/demo", exact=True).click()
    rows = page.get_by_role("table", name="Functions by self and hidden time per view").locator("tbody tr")
    expect(rows.first).to_contain_text(HOT)
    save_screenshot(page, "dashboard-page")
    copy_link_and_fetch_it(page)
    page.locator(".exports summary").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Firefox Profiler").click()
    path = tmp_path / "profile.json"
    download.value.save_as(path)
    packed = path.read_bytes()
    profile = json.loads(gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed)

    assert profile["meta"]["preprocessedProfileVersion"] == 66
    assert HOT in func_names(profile)
    assert complaints == []


def test_the_api_tells_the_demo_page_s_hidden_time_from_idle_time(stack: RunningStack, page: Page) -> None:
    token = stack.create_token("demo")
    received = stack.read("demo", token, "status")["received"]
    record_demo_page(stack, page)
    wait_until_folded(stack, token, received)
    query = urlencode({"release": "demo-1", "page": "/demo"})
    table = stack.read("demo", token, f"functions?{query}")
    time_ms = table["time_ms"]
    assert table["functions"][0]["name"] == HOT
    assert table["functions"][0]["uri"] == f"{stack.url}/demo/work.js"
    assert time_ms["js"] > time_ms["hidden"] > 0  # of `buildReport`, whose stacks the browser drops
    assert time_ms["idle"] > 0
    parts = sum(ms for name, ms in time_ms.items() if name != "span")
    assert round(parts * 1000) == round(time_ms["span"] * 1000)
