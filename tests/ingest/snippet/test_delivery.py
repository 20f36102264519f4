"""How chunks travel: compressed, together, split if too large, and beside the page's own beacons."""

import contextlib
import time

import pytest
from playwright.sync_api import Error, Page

from ingest.snippet.views import STUB_PATH
from tests.ingest.snippet.browsing import BUSY, HIDE, wait_until
from tests.ingest.snippet.site import WAIT_S, Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

GZIP = b"\x1f\x8b"
NOTE_REQUESTS = """
window.requests = [];
const realFetch = fetch;
window.fetch = (url, options) => {
  requests.push({bytes: options.body.byteLength, keepalive: options.keepalive});
  return realFetch(url, options);
};
"""


@pytest.mark.always
def test_chunks_are_compressed(site: Site, page: Page) -> None:
    site.add_page(after=f"{BUSY} setInterval(spin, 20, 10);")
    page.goto(site.url())
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    assert post.body.startswith(GZIP)


def test_a_browser_that_cannot_compress_sends_plain_text(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=400", before="delete window.CompressionStream;")
    page.goto(site.url())
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    assert post.body.startswith(b"{")
    assert post.envelope["seq"] == 0


def test_chunks_that_waited_travel_together(site: Site, page: Page) -> None:
    site.answers = [(503, {"Retry-After": "3"})] * 2
    site.add_page(attributes="data-duration=3000")
    page.goto(site.url(host="shop.test"))
    wait_until(page, lambda: any(len(post.envelopes) > 1 for post in site.posts))
    (post, *_) = [post for post in site.posts if len(post.envelopes) > 1]
    assert post.body.startswith(GZIP)


def test_what_is_too_large_together_is_sent_in_halves(site: Site, page: Page) -> None:
    site.answers = [(503, {"Retry-After": "2"}), (503, {"Retry-After": "2"}), (413, {})]
    site.add_page(attributes="data-duration=1900")
    page.goto(site.url(host="shop.test"))
    wait_until(page, lambda: len({envelope["seq"] for post in site.posts[3:] for envelope in post.envelopes}) >= 2)
    assert len(site.posts[2].envelopes) >= 2
    assert all(len(post.envelopes) < len(site.posts[2].envelopes) for post in site.posts[3:5])


def test_one_chunk_that_is_too_large_is_given_up(site: Site, page: Page) -> None:
    site.answers = [(413, {})]
    site.add_page(attributes="data-duration=400")
    page.goto(site.url())
    site.wait_for_posts(1, page.wait_for_timeout)
    page.wait_for_timeout(1_000)
    assert len(site.posts) == 1


def test_half_of_the_keepalive_budget_is_left_to_the_page(site: Site, page: Page) -> None:
    # Names without a pattern, which gzip cannot make small.
    wide = """
    for (let n = 0; n < 600; n += 1) {
      performance.mark(Array.from({length: 190}, () => String.fromCharCode(97 + Math.random() * 26)).join(''));
    }
    """
    site.add_page(attributes="data-duration=2500", before=NOTE_REQUESTS, after=wide)
    page.goto(site.url())
    wait_until(page, lambda: any(len(post.body) > 32_768 for post in site.posts))
    requests = page.evaluate("() => requests")
    assert all(request["bytes"] > 0 for request in requests)
    for request in requests:
        assert not (request["keepalive"] and request["bytes"] > 32_768)


@pytest.mark.always
def test_nothing_is_sent_before_the_time_that_the_server_asked_for(site: Site, page: Page) -> None:
    site.answers = [(429, {"Retry-After": "7"})]
    site.add_page()
    page.goto(site.url(host="shop.test"))  # chunks end after 2, 4 and 6 s meanwhile
    (first,) = site.wait_for_posts(1, page.wait_for_timeout)[:1]
    page.wait_for_timeout(1_000)
    known = len(site.posts)  # one that a busy page sent before it read the answer
    after = site.wait_for_posts(known + 1, page.wait_for_timeout)[known]
    assert after.at - first.at >= 6.9
    assert len(after.envelopes) >= 3 - (known - 1)


def test_a_large_chunk_is_not_sent_each_time_that_the_page_is_hidden(site: Site, page: Page) -> None:
    wide = "for (let n = 0; n < 600; n += 1) performance.mark(Array.from({length: 190}, () => Math.random()).join(''));"
    site.delays["/ingest/v1/traces"] = 2.0  # so that the large chunk is still on its way, without keepalive
    site.add_page(attributes="data-duration=900", after=wide)
    page.goto(site.url())
    page.wait_for_timeout(1_500)
    for _ in range(3):
        page.evaluate(HIDE, True)
        page.evaluate(HIDE, False)
    page.wait_for_timeout(5_000)
    counts = [[envelope["seq"] for envelope in site.envelopes].count(seq) for seq in (0, 1)]
    assert max(counts) <= 2


def test_a_page_that_ends_at_once_leaves_a_trace(site: Site, page: Page) -> None:
    site.add_page(after=f"{BUSY} spin(60);")
    site.pages["/next"] = "<!doctype html><title>next</title>"
    page.goto(site.url())
    page.evaluate("() => { location.href = '/next'; }")
    wait_until(page, lambda: site.posts != [])


def test_a_slow_endpoint_gets_each_chunk_once(site: Site, page: Page) -> None:
    site.delays["/ingest/v1/traces"] = 1.0
    site.add_page(attributes="data-duration=3500")
    page.goto(site.url(host="shop.test"))
    wait_until(page, lambda: len(site.envelopes) >= 3)
    page.wait_for_timeout(1_500)
    numbers = [envelope["seq"] for envelope in site.envelopes]
    assert sorted(numbers) == sorted(set(numbers))


def test_the_browser_holds_chunks_and_they_are_sent_together(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=4500", holds=True)
    page.goto(site.url())
    (post,) = site.wait_for_posts(1, page.wait_for_timeout)
    assert [envelope["seq"] for envelope in post.envelopes] == [0, 1, 2, 3]
    assert post.body.startswith(GZIP)
    page.goto("about:blank")
    page.wait_for_timeout(1_500)
    assert len(site.posts) == 1  # what has been sent is taken back


def test_what_the_browser_holds_survives_a_crash(site: Site, page: Page) -> None:
    site.add_page(holds=True)
    page.goto(site.url())
    page.wait_for_timeout(2_500)
    assert site.posts == []
    with contextlib.suppress(Error):  # the page is gone before it can answer
        page.goto("chrome://crash", timeout=5_000)
    deadline = time.monotonic() + WAIT_S
    while len(site.envelopes) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sorted(envelope["seq"] for envelope in site.envelopes)[:2] == [0, 1]


def test_a_hidden_page_sends_what_the_browser_holds(site: Site, page: Page) -> None:
    site.add_page(holds=True)
    page.goto(site.url())
    page.wait_for_timeout(1_500)
    page.evaluate(HIDE, True)
    wait_until(page, lambda: "hidden" in {envelope["reason"] for envelope in site.envelopes})
    page.wait_for_timeout(500)
    numbers = [envelope["seq"] for envelope in site.envelopes]
    assert sorted(numbers) == sorted(set(numbers))


def test_what_the_browser_holds_arrives_once_when_the_page_is_left(site: Site, page: Page) -> None:
    site.add_page(holds=True)
    site.pages["/next"] = "<!doctype html><title>next</title>"
    page.goto(site.url())
    page.wait_for_timeout(2_500)
    page.goto(site.url("/next"))
    wait_until(page, lambda: len({envelope["seq"] for envelope in site.envelopes}) >= 3)
    page.wait_for_timeout(1_000)
    numbers = [envelope["seq"] for envelope in site.envelopes]
    assert sorted(numbers) == list(range(len(numbers)))


def test_text_that_would_not_fit_at_the_exit_is_sent_before(site: Site, page: Page) -> None:
    wide = "for (let n = 0; n < 300; n += 1) performance.mark(Array.from({length: 190}, () => Math.random()).join(''));"
    site.add_page(holds=True, after=wide)
    page.goto(site.url())
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    assert [envelope["reason"] for envelope in post.envelopes] == ["timer"]


def test_a_hanging_server_delays_nothing_of_the_page(site: Site, page: Page) -> None:
    site.delays["/snippet.js"] = 8.0
    core = "<script async src=/snippet.js data-key=k data-release=r data-localhost></script>"
    site.pages["/"] = f"<!doctype html><title>page</title><script>{STUB_PATH.read_text()}</script>{core}<p>text</p>"
    page.goto(site.url(), wait_until="domcontentloaded")
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length > 0")
    assert "/snippet.js" in site.asked
    assert page.evaluate("() => fieldflame.core === undefined")  # painted, and the core is not there yet
    wait_until(page, lambda: site.posts != [])
    assert site.envelopes[0]["trace"]["samples"][0]["timestamp"] < 4_000  # the stub's, from before the core
