"""What the snippet costs a page: each chunk says it, and a budget bounds it."""

import pytest
from playwright.sync_api import Page

from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

# A part of the snippet's work that takes so many ms more.
SLOW_JSON = """
const real = JSON.stringify;
JSON.stringify = (...values) => { spin(%d); return real(...values); };
"""


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
    assert sum(envelope["cost"]["sampled"] for envelope in site.envelopes) >= 0
