"""What a page says that cannot record: once, for a share of views, without an id; and what it hears from the server.

And what ends a recording: each chunk says what it cost, and a budget bounds that.
"""

import pytest
from playwright.sync_api import Page

from ingest.snippet.views import STUB_PATH
from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

QUIET_MS = 1_500
REASONS = {
    "no-api": ("delete window.Profiler;", True, ""),
    "no-header": ("", False, ""),
    "header-lost": ("", False, 'ff;desc="rate=1;on=1"'),
    "constructor": ("window.Profiler = class { constructor() { throw new Error('odd'); } };", True, ""),
}
# A part of the snippet's work that takes so many ms more.
SLOW_JSON = """
const real = JSON.stringify;
JSON.stringify = (...values) => { spin(%d); return real(...values); };
"""


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_is_reported_once_without_an_id(site: Site, page: Page, reason: str) -> None:
    before, has_policy, timing = REASONS[reason]
    if not has_policy:
        site.page_headers.clear()
    if timing:
        site.page_headers["Server-Timing"] = timing
    site.add_page(attributes="data-absent=1", before=before)
    page.goto(site.url("/?secret=1#part"))
    wait_until(page, lambda: site.absents != [])
    page.wait_for_timeout(QUIET_MS)
    assert site.absents == [
        {"key": "site-key", "reason": reason, "rate": "1", "release": "r1", "url": site.url("/")},
    ]
    assert site.posts == []


def test_one_in_a_hundred_views_tells_by_default(site: Site, page: Page) -> None:
    site.page_headers.clear()
    site.add_page(before="Math.random = () => 0.0099;")
    site.add_page(before="Math.random = () => 0.01;", path="/silent")
    page.goto(site.url("/silent"))
    page.wait_for_timeout(QUIET_MS)
    assert site.absents == []
    page.goto(site.url())
    wait_until(page, lambda: site.absents != [])
    assert site.absents[0]["rate"] == "0.01"


def test_a_policy_that_forbids_the_connection_is_reported_by_an_image_and_ends_it(site: Site, page: Page) -> None:
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text.rstrip()))
    site.page_headers["Content-Security-Policy"] = "connect-src 'none'; img-src * data:"
    site.add_page(attributes="data-absent=1 data-debug")
    page.goto(site.url())
    wait_until(page, lambda: site.absents != [])
    page.wait_for_timeout(3 * QUIET_MS)
    assert [absent["reason"] for absent in site.absents] == ["csp"]
    refusals = [line for line in lines if line.startswith("Fetch API cannot load")]
    assert len(refusals) == 1  # one attempt, not one for each chunk
    assert [line for line in lines if line.startswith("fieldflame: no trace, csp")]


def test_a_policy_that_only_reports_changes_nothing(site: Site, page: Page) -> None:
    site.page_headers["Content-Security-Policy-Report-Only"] = "connect-src 'none'"
    site.add_page(attributes="data-absent=1")
    page.goto(site.url())
    site.wait_for_posts(3, page.wait_for_timeout)
    assert site.absents == []


def test_a_browser_without_the_api_is_reported_with_the_stub_too(site: Site, page: Page) -> None:
    site.add_page(attributes="data-absent=1", before=f"delete window.Profiler; {STUB_PATH.read_text()}")
    page.goto(site.url())
    wait_until(page, lambda: site.absents != [])
    assert [absent["reason"] for absent in site.absents] == ["no-api"]


def test_a_page_that_never_consents_is_counted_when_it_is_left(site: Site, page: Page) -> None:
    site.add_page(attributes="data-consent data-absent=1")
    site.pages["/next"] = "<!doctype html><title>next</title>"
    page.goto(site.url())
    page.goto(site.url("/next"))
    wait_until(page, lambda: site.absents != [])
    assert [absent["reason"] for absent in site.absents] == ["consent"]


def test_a_page_that_the_snippet_costs_too_much_goes_on_without_it(site: Site, page: Page) -> None:
    # Each look at the clock takes 30 ms more: so does the snippet's own work, as it measures itself.
    slow = "let ms = 0; const real = performance.now.bind(performance); performance.now = () => real() + (ms += 30);"
    site.add_page(attributes="data-absent=1", before=slow)
    page.goto(site.url())
    wait_until(page, lambda: site.absents != [])
    assert [absent["reason"] for absent in site.absents] == ["cost"]
    page.wait_for_timeout(QUIET_MS)
    count = len(site.envelopes)
    page.wait_for_timeout(2 * QUIET_MS)
    assert len(site.envelopes) == count


@pytest.mark.parametrize("status", [202, 403, 429])
def test_the_servers_answer_may_stop_the_page(site: Site, page: Page, status: int) -> None:
    site.word = {"stop": 3600}
    site.answers = [(status, {})]
    site.add_page()
    page.goto(site.url())
    site.wait_for_posts(1, page.wait_for_timeout)
    page.wait_for_timeout(QUIET_MS)
    count = len(site.posts)
    page.wait_for_timeout(3 * QUIET_MS)
    assert len(site.posts) == count <= 2  # a second one was already on its way


@pytest.mark.parametrize("status", [202, 400, 401, 403, 429, 500])
def test_debug_speaks_of_every_answer(site: Site, page: Page, status: int) -> None:
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text.rstrip()))
    site.word = {"detail": "A sentence."}
    site.answers = [(status, {})]
    site.add_page(attributes="data-debug")
    page.goto(site.url())
    wait_until(page, lambda: f"fieldflame: {status} A sentence." in lines)


def test_an_endpoint_with_a_slash_at_its_end_gets_the_reason_at_its_own_address(site: Site, page: Page) -> None:
    attributes = "data-absent=1 data-endpoint=/ingest/v1/traces/"
    site.add_page(attributes=attributes, before="delete window.Profiler;")
    page.goto(site.url())
    wait_until(page, lambda: site.absents != [])
    assert [absent["reason"] for absent in site.absents] == ["no-api"]


def throttle(page: Page) -> None:
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 2})


def test_dear_chunks_make_the_next_ones_longer(site: Site, page: Page) -> None:
    site.add_page(before=f"{BUSY}{SLOW_JSON % 40}", attributes="data-budget=0.02")
    throttle(page)
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 4)
    ends = [envelope["trace"]["samples"][-1]["timestamp"] for envelope in site.envelopes[:4]]
    assert ends[3] - ends[2] > 3_000  # rather than two seconds
    assert all(envelope["cost"]["ms"] >= 39 for envelope in site.envelopes[1:4])
    assert site.absents == []


def test_above_the_budget_the_recording_ends_with_a_reason(site: Site, page: Page) -> None:
    site.add_page(before=f"{BUSY}{SLOW_JSON % 80}", attributes="data-absent=1")
    throttle(page)
    page.goto(site.url())
    wait_until(page, lambda: site.absents != [])
    assert [absent["reason"] for absent in site.absents] == ["cost"]
    wait_until(page, lambda: site.envelopes != [])
    page.wait_for_timeout(3_000)
    assert {envelope["reason"] for envelope in site.envelopes} == {"timer", "stop"}
    assert len(site.envelopes) <= 4  # each says what the one before it cost: two of them are too much


def test_a_larger_budget_lets_it_go_on(site: Site, page: Page) -> None:
    site.add_page(before=f"{BUSY}{SLOW_JSON % 80}", attributes="data-absent=1 data-budget=1 data-duration=4500")
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 4)
    assert site.absents == []


def test_samples_in_the_snippet_are_part_of_its_cost(site: Site, page: Page) -> None:
    # So slow that the profiler meets it.
    site.add_page(attributes="data-budget=1 data-duration=1500", after=f"{BUSY} setInterval(spin, 20, 10);")
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 12})
    page.goto(site.url())
    wait_until(page, lambda: site.envelopes != [])
    for envelope in site.envelopes:
        trace, interval = envelope["trace"], envelope["sampleInterval"]
        scripts = {number for number, uri in enumerate(trace["resources"]) if uri.endswith("/snippet.js")}
        leaves = [trace["stacks"][s["stackId"]]["frameId"] for s in trace["samples"][1:] if "stackId" in s]
        own = sum(trace["frames"][leaf].get("resourceId") in scripts for leaf in leaves)
        assert own == 0 or envelope["cost"]["sampled"] >= interval
        assert envelope["cost"]["sampled"] <= interval * len(leaves)
