"""The full core: of most views only slow moments are sent, and pages tell how soon they were there."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.ingest.snippet.browsing import BUSY, HIDE, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

SLOW = "data-keep=slow data-whole=0"
# Works before and at a click for so long, and says when each is over.
CLICKED = f"""{BUSY}
function prepare(ms) {{ spin(ms); }}
function answer(ms) {{ spin(ms); }}
addEventListener('click', () => answer(window.answerMs));
"""


def names(envelopes: list[dict[str, Any]]) -> set[str]:  # Any: JSON of the snippet
    return {frame["name"] for envelope in envelopes for frame in envelope["trace"]["frames"]}


def types(envelopes: list[dict[str, Any]]) -> set[str]:  # Any: as above
    return {mark["type"] for envelope in envelopes for mark in envelope["marks"]}


# Whether the browser itself saw nothing slow so far: on a busy machine, a page may be slow without its own fault.
WAS_QUICK = """() => new Promise((done) => {
  let isQuick = true;
  const observer = new PerformanceObserver((list) => {
    for (const { entryType, duration, startTime } of list.getEntries())
      if (entryType === 'largest-contentful-paint' ? startTime > 2_500 : duration > 200) isQuick = false;
  });
  for (const type of ['long-animation-frame', 'largest-contentful-paint', 'event'])
    observer.observe({ type, buffered: true });
  setTimeout(() => done(isQuick), 100);
})"""


def visit_quick(site: Site, page: Page, visit: Callable[[], object]) -> None:
    """Visits the page until the machine lets it be quick."""
    for _ in range(5):
        page.goto(site.url())
        visit()
        if page.evaluate(WAS_QUICK):
            return
        page.goto("about:blank")
        page.wait_for_timeout(500)
        site.posts.clear()
    pytest.fail("the machine let no page be quick")


def test_a_slow_interaction_is_sent_with_what_ran_before_it(site: Site, page: Page) -> None:
    site.add_page(core="full", attributes=SLOW, after=f"{CLICKED} window.answerMs = 400;")
    visit_quick(site, page, lambda: page.wait_for_timeout(2_300))  # two chunks are over, and nothing of them is slow
    assert site.posts == []
    page.evaluate("() => prepare(150)")
    page.mouse.click(50, 50)
    wait_until(page, lambda: "interaction" in types(site.envelopes))
    assert {"prepare", "answer"} <= names(site.envelopes)
    for envelope in site.envelopes:
        assert envelope["onlySlow"] is True
        assert (envelope["sampleRate"], envelope["slowRate"]) == (1, 1)
    assert 0 not in {envelope["seq"] for envelope in site.envelopes}  # what ran long before was not


def test_a_quick_view_sends_nothing(site: Site, page: Page) -> None:
    site.add_page(core="full", attributes=SLOW, after=f"{CLICKED} window.answerMs = 60;")
    site.add_page(path="/next", core="full", attributes="data-rate=0")

    def click() -> None:
        page.mouse.click(50, 50)
        page.wait_for_timeout(2_500)

    visit_quick(site, page, click)
    page.evaluate(HIDE, True)
    page.goto(site.url("/next"))
    page.wait_for_timeout(500)
    assert site.posts == []


def test_a_slow_load_is_sent_from_its_begin(site: Site, page: Page) -> None:
    site.add_page(
        core="full",
        attributes=SLOW,
        after=f"{BUSY} function early() {{ spin(40); }} early();"
        "setTimeout(() => { document.body.innerHTML = '<h1>late text</h1>'; }, 2700);",
    )
    page.goto(site.url())
    wait_until(page, lambda: "largest-contentful-paint" in types(site.envelopes))
    assert site.envelopes[0]["seq"] == 0
    assert "early" in names(site.envelopes)


def test_what_a_page_marks_as_an_error_is_sent(site: Site, page: Page) -> None:
    site.add_page(core="full", attributes=SLOW, after=f"{BUSY} function fault() {{ spin(40); }}")
    page.goto(site.url())
    page.evaluate("() => { fault(); performance.mark('error'); }")
    wait_until(page, lambda: "fault" in names(site.envelopes))


def test_a_share_of_views_is_kept_whole(site: Site, page: Page) -> None:
    site.add_page(
        core="full", attributes="data-keep=slow data-whole=0.25 data-rate=0.5", before="Math.random = () => 0.2"
    )
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    envelope = site.envelopes[0]
    assert envelope["onlySlow"] is False
    assert (envelope["sampleRate"], envelope["slowRate"]) == (0.125, 0.5)


@pytest.mark.parametrize("on", ["1", "0"])
def test_pages_with_the_header_and_without_tell_how_soon_they_were_there(site: Site, page: Page, on: str) -> None:
    site.page_headers["Server-Timing"] = f'ff;desc="on={on};rate=0.5"'
    if on == "0":
        del site.page_headers["Document-Policy"]
    site.add_page(core="full", attributes="data-experiment=1", after=f"{CLICKED} window.answerMs = 100;")
    page.goto(site.url("/?secret=1"))
    page.evaluate("() => { document.body.innerHTML = '<h1>text</h1>'; }")
    page.wait_for_timeout(300)
    page.mouse.click(50, 50)
    page.wait_for_timeout(300)
    page.evaluate(HIDE, True)
    page.evaluate(HIDE, True)
    wait_until(page, lambda: site.loads != [])
    (sent,) = site.loads
    assert sent.keys() == {"key", "on", "ttfb", "fcp", "lcp", "inp"}
    assert sent["on"] == on
    times = {name: float(sent[name]) for name in ("ttfb", "fcp", "lcp", "inp")}
    assert 0 < times["ttfb"] <= times["fcp"] <= times["lcp"]
    assert times["inp"] >= 96


@pytest.mark.parametrize(
    ("attributes", "before"),
    [
        ("data-experiment=0", ""),
        ("data-experiment=1 data-consent", ""),
        ("data-experiment=1", "window.fieldflameSettings = {off: true}"),
    ],
)
def test_whoever_does_not_take_part_sends_no_times(site: Site, page: Page, attributes: str, before: str) -> None:
    site.page_headers["Server-Timing"] = 'ff;desc="on=1;rate=0.5"'
    site.add_page(core="full", attributes=f"{attributes} data-rate=0", before=before)
    page.goto(site.url())
    page.evaluate(HIDE, True)
    page.wait_for_timeout(300)
    assert site.loads == []


@pytest.mark.parametrize("by", ["header", "meta"])
def test_a_view_names_the_trace_that_its_page_names(site: Site, page: Page, by: str) -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    before = ""
    if by == "header":
        site.page_headers["Server-Timing"] = f'traceparent;desc="{parent}"'
    else:
        before = f"const meta = document.createElement('meta'); meta.name = 'traceparent'; meta.content = '{parent}';"
        before += "document.head.append(meta);"
    site.add_page(core="full", before=before)
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    assert site.envelopes[0]["requestTrace"] == parent
