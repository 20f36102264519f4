"""What the snippet does in a real browser: what it sends, when it stops, and that it never breaks the page."""

import json
import re
import uuid
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from ingest.snippet.views import SNIPPET_PATH
from profcore.sums.fold import TraceFold, fold_trace
from profcore.trace.funcs import SNIPPET_FUNCTIONS, FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import ENDPOINT_PATH, Site

VERSION = json.loads(SNIPPET_PATH.parent.with_name("package.json").read_text())["version"]
QUIET_MS = 900  # longer than any trace below takes, where the test is that none comes

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """Everything the page's console and its error handlers got, but for a line that Chromium itself writes.

    It says "Document policy violation: js-profiling is not allowed …" for the very attempt; no script can ask first.
    """
    heard: list[str] = []
    policy_warning = "Document policy violation"
    page.on("console", lambda message: None if message.text.startswith(policy_warning) else heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    return heard


def test_an_envelope_holds_every_field_of_the_contract(site: Site, page: Page) -> None:
    site.add_page(attributes="data-page=/product/:id data-duration=200 data-rate=1 data-interval=15")
    page.goto(site.url("/?token=1#part"))
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    envelope = post.envelope
    time_origin = page.evaluate("() => performance.timeOrigin")
    device = page.evaluate("() => ({cores: navigator.hardwareConcurrency, memory: navigator.deviceMemory})")
    trace = envelope.pop("trace")
    assert sorted(trace) == ["frames", "resources", "samples", "stacks"]
    assert isinstance(envelope.pop("marks"), list)  # a slow machine has a long task even on this page
    cost = envelope.pop("cost")
    assert sorted(cost) == ["ms", "sampled"]
    assert 0 < cost["ms"] < 100
    assert 0 <= cost["sampled"] < 100
    assert uuid.UUID(envelope.pop("viewId")).version == 4
    assert envelope.pop("userAgent") == page.evaluate("() => `webdriver ${navigator.userAgent}`")  # a program drives it
    assert envelope == {
        "seq": 0,
        "release": "r1",
        "page": "/product/:id",
        "url": site.url("/?token=1#part"),
        "timeOrigin": time_origin,
        "viewStart": time_origin,
        "sampleInterval": 20,  # effective: the next multiple of 10 ms
        "requestedInterval": 15,
        "sampleRate": 1,
        "reason": "timer",
        "navigation": "load",
        "cache": "cold",
        "snippet": {"version": VERSION, "url": site.url("/snippet.js")},
        "isolated": False,
        "device": {**device, "mobile": False},
    }
    assert post.path == f"{ENDPOINT_PATH}?key=site-key"


def test_the_server_knows_all_functions_of_the_snippet(site: Site, page: Page) -> None:
    site.add_page(attributes="data-interval=1 data-buffer=300 data-budget=1", after=f"{BUSY} setInterval(spin, 20, 5);")
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 10})
    page.goto(site.url("/?a#b"))
    wait_until(page, lambda: len(find_own(site.envelopes)) >= 5)
    page.evaluate("() => history.pushState({}, '', '/next')")
    page.mouse.click(10, 10)
    site.wait_for_posts(len(site.posts) + 2, page.wait_for_timeout)
    functions = SNIPPET_FUNCTIONS[VERSION]
    assert [place for place in find_own(site.envelopes) if place not in functions] == []
    folds = [fold(envelope) for envelope in site.envelopes]
    assert sum(folded.parts.profiler_samples for folded, _ in folds) > 0
    for folded, funcs in folds:
        assert not [funcs.keys[index] for index in folded.sums.self_us if "snippet.js" in (funcs.keys[index].uri or "")]


def marks_of(site: Site) -> list[dict[str, Any]]:
    """Returns the marks of all chunks."""
    return [mark for envelope in site.envelopes for mark in envelope["marks"]]


def find_own(envelopes: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Returns the places of all functions of the snippet's script that were seen."""
    return {
        (frame["line"], frame["column"])
        for envelope in envelopes
        for frame in envelope["trace"]["frames"]
        if "resourceId" in frame and "/snippet.js" in envelope["trace"]["resources"][frame["resourceId"]]
    }


def fold(envelope: dict[str, Any]) -> tuple[TraceFold, FuncTable]:
    """Folds an envelope, as a worker does."""
    funcs = FuncTable()
    return fold_trace(decode_envelope(json.dumps(envelope).encode(), Limits()), page="/", funcs=funcs), funcs


def test_a_post_needs_no_preflight_and_carries_no_cookie(site: Site, page: Page) -> None:
    host = site.url(
        "", host="endpoint.shop.test"
    )  # the page's own site, or the browser would hold the cookie back itself
    page.context.add_cookies([{"name": "secret", "value": "1", "url": host}])
    site.add_page(attributes=f"data-duration=100 data-endpoint={host}/elsewhere?a=1")
    page.goto(site.url(host="shop.test"))
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    assert post.path == "/elsewhere?a=1&key=site-key"
    assert "Content-Type" not in post.headers
    assert post.headers["Origin"] == site.url("", host="shop.test")
    assert "Cookie" not in post.headers


def test_the_endpoint_is_by_default_where_the_script_came_from(site: Site, page: Page) -> None:
    source = site.url("/snippet.js", host="endpoint.test")
    site.pages["/"] = (
        f"<script src='{source}' data-key=k data-release=r data-duration=100 data-localhost crossorigin></script>"
    )
    page.goto(site.url(host="shop.test"))
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    assert (post.headers["Host"], post.path) == (f"endpoint.test:{site.port}", f"{ENDPOINT_PATH}?key=k")


def test_a_page_over_plain_http_gets_a_version_4_uuid_too(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=400")
    page.goto(site.url(host="shop.test"))
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    assert page.evaluate("() => typeof crypto.randomUUID") == "undefined"
    view_id = uuid.UUID(post.envelope["viewId"])
    assert (view_id.version, view_id.variant, str(view_id)) == (4, uuid.RFC_4122, post.envelope["viewId"])


def test_the_named_function_that_ran_is_in_the_trace(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=200", after=f"{BUSY} spin(600);")
    page.goto(site.url())
    trace = site.wait_for_posts(1, page.wait_for_timeout)[0].envelope["trace"]
    assert "spin" in {frame["name"] for frame in trace["frames"]}


def test_it_stops_after_the_set_time(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=300", after=f"{BUSY} setInterval(spin, 20, 10);")
    page.goto(site.url())
    envelope = site.wait_for_posts(1, page.wait_for_timeout)[0].envelope
    page.wait_for_timeout(QUIET_MS)
    times = [sample["timestamp"] for sample in envelope["trace"]["samples"]]
    assert 100 <= times[-1] - times[0] <= 8_000  # a busy machine begins late and ends late; a minute is the default
    assert len(site.posts) == 1


def test_a_long_task_is_sent_even_if_it_ended_just_before_the_stop(site: Site, page: Page) -> None:
    # The stop's timer is due in the middle of the task, so it fires right behind it.
    site.add_page(attributes="data-duration=100", after=f"{BUSY} spin(600);")
    page.goto(site.url())
    envelope = site.wait_for_posts(1, page.wait_for_timeout)[0].envelope
    tasks = [mark for mark in envelope["marks"] if mark["type"] == "longtask"]
    longest = max(tasks, key=lambda mark: float(mark["duration"]))
    assert {"duration", "start", "type"} <= set(longest)
    assert longest["duration"] >= 240
    inside = [s for s in envelope["trace"]["samples"] if 0 <= s["timestamp"] - longest["start"] < longest["duration"]]
    assert inside  # every 10 ms, but on a machine too busy to sample in time


def test_a_long_task_from_before_the_snippet_is_sent(site: Site, page: Page) -> None:
    # In a task of its own: Chromium forgets one in ten of the long tasks of the first parse, before anyone observes.
    later = "setTimeout(() => { spin(200); window.hasSpun = true; }, 50);"
    site.pages["/"] = f"<!doctype html><title>page</title><script>{BUSY} {later}</script>"
    page.goto(site.url())
    page.wait_for_function("() => window.hasSpun")
    before_ms = page.evaluate("() => performance.now()")
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.src = '/snippet.js';
            Object.assign(script.dataset, {key: 'k', release: 'r', duration: '5000', localhost: ''});
            document.head.append(script);
        }"""
    )
    # A busy browser may tell of it only after the first chunk.
    wait_until(page, lambda: any(mark["start"] < before_ms and mark["duration"] >= 190 for mark in marks_of(site)))


def test_a_full_buffer_ends_the_chunk_at_once_and_the_next_one_begins(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=15000 data-buffer=10")
    page.goto(site.url())
    site.wait_for_posts(2, page.wait_for_timeout)
    envelope = site.envelopes[0]
    assert [sent["seq"] for sent in site.envelopes[:2]] == [0, 1]
    assert envelope["reason"] == "samplebufferfull"
    assert len(envelope["trace"]["samples"]) == 10


def test_leaving_the_page_sends_what_there_is(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=15000", after=f"{BUSY} spin(600);")
    site.pages["/next"] = "<!doctype html><title>next</title>"
    page.goto(site.url())
    page.wait_for_timeout(100)
    page.goto(site.url("/next"))
    # While the page was busy, the time of the first chunk may have passed.
    wait_until(page, lambda: "beforeunload" in [envelope["reason"] for envelope in site.envelopes])
    assert "spin" in {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]}
    page.wait_for_timeout(200)
    assert [envelope["seq"] for envelope in site.envelopes] == list(range(len(site.envelopes)))


def test_no_page_view_is_drawn_at_rate_zero(site: Site, page: Page, complaints: list[str]) -> None:
    count_profilers = """
        window.made = 0;
        const Real = Profiler;
        window.Profiler = class { constructor(options) { made += 1; return new Real(options); } };
    """
    site.add_page(attributes="data-rate=0 data-duration=400", before=count_profilers)
    page.goto(site.url())
    page.wait_for_timeout(QUIET_MS)
    assert page.evaluate("() => made") == 0
    assert (site.posts, complaints) == ([], [])


@pytest.mark.parametrize(("drawn", "count"), [(0.2499, 1), (0.25, 0)])
def test_the_rate_is_the_share_of_page_views_that_are_drawn(site: Site, page: Page, drawn: float, count: int) -> None:
    site.add_page(attributes="data-rate=0.25 data-duration=400", before=f"Math.random = () => {drawn};")
    page.goto(site.url())
    page.wait_for_timeout(QUIET_MS)
    assert [post.envelope["sampleRate"] for post in site.posts] == [0.25] * count


@pytest.mark.parametrize("rate", ["often", "-1"])
def test_a_rate_that_makes_no_sense_draws_nothing(site: Site, page: Page, rate: str) -> None:
    site.add_page(attributes=f"data-rate={rate} data-duration=400")
    page.goto(site.url())
    page.wait_for_timeout(QUIET_MS)
    assert site.posts == []


def test_a_rate_above_one_is_sent_as_one(site: Site, page: Page) -> None:
    site.add_page(attributes="data-rate=100 data-duration=400")
    page.goto(site.url())
    assert site.wait_for_posts(1, page.wait_for_timeout)[0].envelope["sampleRate"] == 1


# What can go wrong before a trace begins: the page's own script, headers and attributes that lead there.
FAILURES = {
    "no Profiler": ("delete window.Profiler;", True, ""),
    "an element named Profiler": ("delete window.Profiler; document.head.id = 'Profiler';", True, ""),
    "no Document-Policy header": ("", False, ""),
    "an interval out of range": ("", True, "data-interval=-5"),
    "an interval that is no number": ("", True, "data-interval=fast"),
    "too many profilers": (
        "window.all = Array.from({length: 100}, () => new Profiler({sampleInterval: 10, maxBufferSize: 9}));",
        True,
        "",
    ),
    "a constructor that throws": ("window.Profiler = class { constructor() { throw null; } };", True, ""),
    "no key": ("", True, "data-key"),
    "no release": ("", True, "data-release"),
    "an endpoint that is no URL": ("", True, "data-endpoint=http://"),
}


@pytest.mark.parametrize("is_debug", [False, True], ids=["silent", "debug"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_never_breaks_the_page(
    site: Site, page: Page, complaints: list[str], failure: str, is_debug: bool
) -> None:
    before, has_policy, attributes = FAILURES[failure]
    site.add_page(before=before, attributes=f"data-duration=400 {'data-debug' if is_debug else ''} {attributes}")
    if attributes in ("data-key", "data-release"):  # the first of two equal attributes wins, so take it away
        site.pages["/"] = re.sub(rf"{attributes}=\S+", "", site.pages["/"], count=1)
    if not has_policy:
        site.page_headers.clear()
    page.goto(site.url())
    if is_debug:
        wait_until(page, lambda: complaints != [])
    page.wait_for_timeout(200)
    assert page.evaluate("() => document.readyState") == "complete"
    assert site.posts == []
    if is_debug:
        assert len(complaints) == 1
        assert complaints[0].startswith("fieldflame: no trace, ")
    else:
        assert complaints == []


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_busy_endpoint_is_asked_again_after_the_time_it_gave(site: Site, page: Page, status: int) -> None:
    site.answers = [(status, {"Retry-After": "1"}), (503, {"Retry-After": "0.1"}), (503, {"Retry-After": "0.1"})]
    site.add_page(attributes="data-duration=400")
    page.goto(site.url(host="shop.test"))
    first, second, third = site.wait_for_posts(3, page.wait_for_timeout)
    assert second.at - first.at >= 0.99
    assert first.envelopes == second.envelopes == third.envelopes
    page.wait_for_timeout(QUIET_MS)
    assert len(site.posts) == 3


def test_a_failed_request_is_tried_twice_more(site: Site, page: Page) -> None:
    fast_timers = """
        const real = setTimeout;
        window.waits = [];
        window.setTimeout = (run, ms, ...rest) => { waits.push(ms); return real(run, ms === 5000 ? 50 : ms, ...rest); };
    """
    attempts: list[str] = []

    def break_off(route: Route) -> None:
        attempts.append(route.request.url)
        route.abort()

    page.route(f"**{ENDPOINT_PATH}*", break_off)
    site.add_page(attributes="data-duration=300", before=fast_timers)
    page.goto(site.url())
    wait_until(page, lambda: len(attempts) >= 3)
    page.wait_for_timeout(QUIET_MS)
    assert len(attempts) == 3
    assert page.evaluate("() => waits").count(5000) >= 2


def test_a_refused_trace_is_not_sent_again(site: Site, page: Page) -> None:
    site.answers = [(400, {})]
    site.add_page(attributes="data-duration=400")
    page.goto(site.url())
    site.wait_for_posts(1, page.wait_for_timeout)
    page.wait_for_timeout(QUIET_MS)
    assert len(site.posts) == 1


def test_the_page_is_told_what_became_of_its_trace(site: Site, page: Page) -> None:
    listen = "window.heard = []; addEventListener('fieldflame:sent', (event) => heard.push(event.detail));"
    site.add_page(attributes="data-duration=400", before=listen)
    page.goto(site.url())
    post = site.wait_for_posts(1, page.wait_for_timeout)[0]
    page.wait_for_function("() => heard.length > 0")
    assert page.evaluate("() => heard") == [{"viewId": post.envelope["viewId"], "status": 202}]


def test_the_page_keeps_one_global_of_the_snippet(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=400", before="window.names = Object.getOwnPropertyNames(window);")
    page.goto(site.url())
    site.wait_for_posts(1, page.wait_for_timeout)
    names = page.evaluate("() => Object.getOwnPropertyNames(window).filter((name) => !names.includes(name))")
    assert names == ["names", "fieldflame"]
