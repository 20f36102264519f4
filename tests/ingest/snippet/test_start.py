"""What begins a recording, and what keeps it from one: the stub, the server's word, consent, a second copy."""

import re

import pytest
from playwright.sync_api import Page

from ingest.snippet.views import SNIPPET_PATH
from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

QUIET_MS = 1_500  # a first chunk comes after half a second
STUB = SNIPPET_PATH.with_name("stub.js").read_text()
CORE = "<script async src=/snippet.js data-key=k data-release=r data-localhost data-debug"


@pytest.fixture
def heard(page: Page) -> list[str]:
    """The lines of the console."""
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text.rstrip()))
    return lines


def test_the_stub_records_what_runs_before_the_core_is_there(site: Site, page: Page) -> None:
    site.pages["/"] = (
        f"<!doctype html><title>page</title><script>{STUB}</script>{CORE} data-duration=1200></script>"
        f"<script>{BUSY} function early() {{ return spin(600); }} early(); fieldflame('page', '/early');</script>"
    )
    site.delays["/snippet.js"] = 0.5
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    envelope = site.envelopes[0]
    assert "early" in {frame["name"] for frame in envelope["trace"]["frames"]}
    assert (envelope["page"], envelope["seq"]) == ("/early", 0)


def test_a_core_that_never_comes_changes_nothing_for_the_page(site: Site, page: Page, heard: list[str]) -> None:
    site.pages["/"] = (
        f"<!doctype html><title>page</title><script>{STUB}</script>"
        "<script async src=/nothing.js data-key=k></script>"
        "<script>fieldflame('page', '/x'); window.ran = true;</script>"
    )
    page.goto(site.url())
    assert page.evaluate("() => window.ran")
    assert not [line for line in heard if "404" not in line]


def test_a_view_that_is_not_drawn_ends_the_stubs_profiler(site: Site, page: Page) -> None:
    watch = """
        window.ended = 0;
        const stop = Profiler.prototype.stop;
        Profiler.prototype.stop = function () { ended += 1; return stop.call(this); };
    """
    site.pages["/"] = f"<!doctype html><script>{watch}{STUB}</script>{CORE} data-rate=0></script>"
    page.goto(site.url())
    page.wait_for_function("() => ended === 1")
    page.wait_for_timeout(QUIET_MS)
    assert site.posts == []


@pytest.mark.parametrize("on", ["0", "1"])
def test_the_pages_server_says_whether_it_sent_the_header(site: Site, page: Page, heard: list[str], on: str) -> None:
    site.page_headers["Server-Timing"] = f'ff;desc="rate=0.25;on={on};release=2.0;page=/a%20b"'
    if on == "0":
        del site.page_headers["Document-Policy"]
    core = CORE.replace("data-release=r", "").replace("data-localhost", "data-localhost data-rate=0.5")
    draw = "Math.random = () => 0.3;"
    site.pages["/"] = f"<!doctype html><title>page</title><script>{draw}{STUB}</script>{core}></script>"
    page.goto(site.url())
    if on == "0":
        wait_until(page, lambda: "fieldflame: no trace, header" in heard)
        assert heard == ["fieldflame: no trace, header"]  # and no line of the browser: no profiler was constructed
    else:
        wait_until(page, lambda: site.posts != [])
        envelope = site.envelopes[0]
        assert (envelope["release"], envelope["page"], envelope["sampleRate"]) == ("2.0", "/a b", 0.125)


@pytest.mark.parametrize(
    ("settings", "rate"),
    [
        ({"rate": 0.5}, 0.5),
        ({"rate": 0.5, "pages": [["^/checkout$", 1], ["^/prod.*$", 0.75]]}, 0.75),
        ({"rate": 0.1}, None),
        ({"off": True}, None),
    ],
)
def test_the_servers_word_replaces_the_pages_settings(
    site: Site, page: Page, settings: dict[str, object], rate: float | None
) -> None:
    site.settings = settings
    site.add_page(attributes="data-page=/product/:id data-rate=0.9", before="Math.random = () => 0.3;")
    page.goto(site.url())
    if rate is None:
        page.wait_for_timeout(QUIET_MS)
        assert site.posts == []
    else:
        wait_until(page, lambda: site.posts != [])
        assert site.envelopes[0]["sampleRate"] == rate


@pytest.mark.parametrize(
    ("attributes", "before", "word"),
    [
        ("", "", "localhost"),
        ("data-localhost data-gpc", "Object.defineProperty(navigator, 'globalPrivacyControl', {value: true});", "gpc"),
    ],
)
def test_some_pages_are_not_recorded_and_nothing_is_asked(
    site: Site, page: Page, heard: list[str], attributes: str, before: str, word: str
) -> None:
    site.add_page(attributes=f"{attributes} data-debug data-absent=1", before=before)
    site.pages["/"] = site.pages["/"].replace("data-localhost", "", 1)  # the one that all pages of these tests have
    page.goto(site.url())
    page.wait_for_timeout(QUIET_MS)
    assert heard == [f"fieldflame: no trace, {word}"]
    assert (site.posts, site.absents) == ([], [])


def test_nothing_is_recorded_before_consent(site: Site, page: Page) -> None:
    site.add_page(
        attributes="data-consent",
        after="performance.mark('before'); fieldflame('tags', ['a']); fieldflame('page', '/p');",
    )
    page.goto(site.url())
    page.wait_for_timeout(QUIET_MS)
    assert site.posts == []
    page.evaluate("() => fieldflame('consent')")
    wait_until(page, lambda: site.posts != [])
    envelope = site.envelopes[0]
    assert envelope["trace"]["samples"][0]["timestamp"] > QUIET_MS
    assert [mark for mark in envelope["marks"] if mark["start"] + mark["duration"] < QUIET_MS] == []
    assert (envelope["page"], envelope["tags"]) == ("/p", ["a"])  # what the page said meanwhile holds


def test_the_page_may_stop_and_start_the_recording(site: Site, page: Page) -> None:
    site.add_page(after="fieldflame('stop');")
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    count = len(site.envelopes)
    page.wait_for_timeout(QUIET_MS)
    assert len(site.envelopes) == count == 1
    page.evaluate("() => fieldflame('start')")
    wait_until(page, lambda: len(site.envelopes) > count)


def test_the_servers_stop_does_not_end_the_pages_own(site: Site, page: Page) -> None:
    site.word = {"stop": 1}
    site.add_page(after="fieldflame('stop');")
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    page.wait_for_timeout(QUIET_MS)
    page.evaluate("() => history.pushState({}, '', '/other')")
    page.wait_for_timeout(QUIET_MS)
    assert len(site.envelopes) == 1


def test_a_second_copy_does_nothing_and_says_so(site: Site, page: Page, heard: list[str]) -> None:
    site.add_page(attributes="data-duration=700")
    copy = "<script src='/snippet.js' data-key=k data-release=r data-localhost data-debug data-absent=1></script>"
    site.pages["/"] += copy
    page.goto(site.url())
    wait_until(page, lambda: site.absents != [])
    page.wait_for_timeout(QUIET_MS)
    assert {envelope["viewId"] for envelope in site.envelopes} == {site.envelopes[0]["viewId"]}
    assert [absent["reason"] for absent in site.absents] == ["twice"]
    assert heard == ["fieldflame: no trace, twice"]


@pytest.mark.parametrize("kind", ["module", "inlined", "object"])
def test_it_works_as_a_module_as_an_inlined_copy_and_by_an_object(site: Site, page: Page, kind: str) -> None:
    if kind == "module":
        tag = "<script type=module src=/snippet.js data-key=k data-release=r data-localhost></script>"
    elif kind == "inlined":
        core = SNIPPET_PATH.read_text()
        tag = f"<script data-key=k data-release=r data-localhost data-endpoint=/ingest/v1/traces>{core}</script>"
    else:
        settings = "{key: 'k', release: 'r', localhost: true, endpoint: '/ingest/v1/traces'}"
        load = "const s = document.createElement('script'); s.src = '/snippet.js'; document.head.append(s);"
        tag = f"<script>window.fieldflameSettings = {settings}; {load}</script>"
    site.pages["/"] = f"<!doctype html><title>page</title>{tag}"
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    assert site.envelopes[0]["release"] == "r"


def test_only_interactions_are_recorded_after_the_load_if_the_page_wants_that(site: Site, page: Page) -> None:
    site.add_page(attributes="data-interactions")
    page.goto(site.url())
    page.wait_for_timeout(4_000)  # two seconds of the load, and what was on its way
    assert site.posts != []
    count = len(site.envelopes)
    page.wait_for_timeout(QUIET_MS)
    assert len(site.envelopes) == count
    page.mouse.click(5, 5)
    wait_until(page, lambda: len(site.envelopes) > count)
    assert len({envelope["viewId"] for envelope in site.envelopes}) == 1


def test_the_package_records_when_it_is_told_to(site: Site, page: Page) -> None:
    site.files["/index.mjs"] = SNIPPET_PATH.with_name("index.mjs").read_text()
    settings = "{key: 'k', release: 'r', localhost: true, endpoint: '/ingest/v1/traces', page: '/bundled'}"
    site.pages["/"] = (
        "<!doctype html><title>page</title><script type=module>import { start } from '/index.mjs';"
        f"window.before = window.fieldflame; start({settings}); start({settings});</script>"
    )
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    assert page.evaluate("() => window.before === undefined")
    assert {envelope["page"] for envelope in site.envelopes} == {"/bundled"}
    assert len({envelope["viewId"] for envelope in site.envelopes}) == 1


def test_the_core_holds_the_place_of_the_servers_word_once() -> None:
    assert len(re.findall('"FIELDFLAME_SETTINGS"', SNIPPET_PATH.read_text())) == 1


def test_an_address_that_looks_like_an_announcement_changes_nothing(site: Site, page: Page) -> None:
    site.pages["/"] = f"<!doctype html><title>page</title><script>{STUB}</script>"
    page.goto(site.url("/?location=0;on=0"))
    assert page.evaluate("() => 'p' in fieldflame")


def test_a_browser_that_a_program_drives_says_so(site: Site, page: Page) -> None:
    site.add_page()
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    assert site.envelopes[0]["userAgent"].startswith("webdriver Mozilla/5.0")


def test_a_laboratory_may_count_it_as_what_it_is_otherwise(site: Site, page: Page) -> None:
    site.add_page(attributes="data-bots")
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    agent = site.envelopes[0]["userAgent"]
    assert agent == page.evaluate("() => navigator.userAgent").replace("Headless", "")
    assert agent.startswith("Mozilla/5.0")


def test_a_persons_browser_sends_no_user_agent_of_its_own(site: Site, page: Page) -> None:
    site.add_page(before="Object.defineProperty(navigator, 'webdriver', {value: false});")
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    assert "userAgent" not in site.envelopes[0]
