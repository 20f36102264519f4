"""Where a page view begins and ends: routes, the back/forward cache, prerendering, the page's own word.

And what it says of the browser's cache and of the session.
"""

import itertools
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from ingest.snippet.views import SNIPPET_PATH
from tests.e2e.browser import find_chromium, open_page
from tests.ingest.snippet.browsing import BUSY, HIDE, wait_until
from tests.ingest.snippet.site import WAIT_S, Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

NEXT = "<!doctype html><title>next</title>"
LARGE = f"{BUSY} // {'x' * 40_000}"  # more than the snippet, which is not in the cache
SECOND = "/second"


def views_of(site: Site) -> dict[str, list[dict[str, Any]]]:  # Any: JSON of the snippet
    """The envelopes by view, in the order of the views' first ones."""
    views: dict[str, list[dict[str, Any]]] = {}
    for envelope in site.envelopes:
        views.setdefault(envelope["viewId"], []).append(envelope)
    return views


def navigations_of(site: Site) -> list[tuple[str, str]]:
    """The navigation and path of each view."""
    return [(v[0]["navigation"], v[0]["url"].partition(str(site.port))[2]) for v in views_of(site).values()]


def wait_for_views(site: Site, page: Page, count: int) -> None:
    wait_until(page, lambda: len(views_of(site)) >= count)


def test_chunks_of_one_view_are_numbered_and_their_samples_follow_each_other(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=3500", after="setInterval(() => { for (let n = 0; n < 1e6; n++); }, 10);")
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 3)
    chunks = sorted(site.envelopes, key=lambda envelope: int(envelope["seq"]))
    assert [chunk["seq"] for chunk in chunks] == list(range(len(chunks)))
    assert {chunk["viewId"] for chunk in chunks} == {chunks[0]["viewId"]}
    assert len({chunk["viewStart"] for chunk in chunks}) == 1
    for former, later in itertools.pairwise(chunks):
        gap = later["trace"]["samples"][0]["timestamp"] - former["trace"]["samples"][-1]["timestamp"]
        assert gap < 1_000  # no hole but what a busy machine makes: the next profiler begins before the last one stops


def test_another_path_begins_a_view_and_another_query_does_not(site: Site, page: Page) -> None:
    site.add_page(attributes="data-page=/start")
    page.goto(site.url("/?a=1"))
    page.wait_for_timeout(300)
    page.evaluate("() => history.pushState({}, '', '/?a=2')")
    page.wait_for_timeout(200)
    page.keyboard.press("a")
    page.evaluate("() => history.pushState({}, '', '/product/7?b=1#c')")
    wait_for_views(site, page, 2)
    first, second = list(views_of(site).values())[:2]
    assert navigations_of(site)[:2] == [("load", "/?a=1"), ("route", "/product/7?b=1#c")]
    assert [first[0].get("page"), second[0].get("page")] == ["/start", None]  # the attribute is of the first page alone
    assert first[-1]["reason"] == "route"
    assert second[0]["viewStart"] - second[0]["timeOrigin"] >= 500
    assert second[0]["seq"] == 0


def test_the_page_may_name_its_route(site: Site, page: Page) -> None:
    site.add_page(after="fieldflame('page', '/named'); fieldflame('tags', ['dark', 'eu']);")
    page.goto(site.url())
    wait_for_views(site, page, 1)
    page.evaluate("() => { history.pushState({}, '', '/a/1'); fieldflame('page', '/a/:id'); }")
    wait_for_views(site, page, 2)
    page.evaluate("() => fieldflame('page', '/a/:id')")  # no other page
    page.evaluate("() => fieldflame('page', '/b')")
    wait_for_views(site, page, 3)
    views = list(views_of(site).values())
    assert [view[0]["page"] for view in views] == ["/named", "/a/:id", "/b"]
    assert views[0][0]["tags"] == ["dark", "eu"]


def test_a_name_that_comes_just_before_its_address_begins_one_view(site: Site, page: Page) -> None:
    site.add_page(attributes="data-page=/start")
    page.goto(site.url())
    wait_for_views(site, page, 1)
    page.evaluate("() => { fieldflame('page', '/a/:id'); history.pushState({}, '', '/a/1'); }")
    wait_for_views(site, page, 2)
    page.wait_for_timeout(700)
    assert len(views_of(site)) == 2
    assert [list(views_of(site).values())[1][0][name] for name in ("page", "url")] == ["/a/:id", site.url("/a/1")]


def go(kind: str, path: str) -> str:
    return f"history.{kind}State({{}}, '', '{path}');"


@pytest.mark.parametrize("kind", ["push", "replace"])
def test_a_redirect_during_the_load_renames_the_load(site: Site, page: Page, kind: str) -> None:
    site.add_page(after=f"{BUSY} setTimeout(() => {{ {go(kind, '/home')} }}, 60); setTimeout(spin, 120, 250);")
    page.goto(site.url())
    page.wait_for_timeout(1_500)
    assert navigations_of(site) == [("load", "/home")]


def test_a_replaced_address_while_a_slow_page_loads_belongs_to_the_load(site: Site, page: Page) -> None:
    site.delays["/slow.js"] = 2.5
    site.files["/slow.js"] = ""
    site.add_page(after="setTimeout(() => {" + go("replace", "/home") + "}, 1500);")
    site.pages["/"] += "<script async src=/slow.js></script>"
    page.goto(site.url())
    page.wait_for_timeout(700)
    # Its first chunk had been sent by then, under the first name.
    assert navigations_of(site) == [("load", "/")]
    assert {envelope["url"] for envelope in site.envelopes} == {site.url("/")}


@pytest.mark.parametrize("kind", ["push", "replace"])
@pytest.mark.parametrize("event", ["keydown", "pointerdown", "click"])
def test_a_change_of_the_address_after_input_begins_a_view(site: Site, page: Page, kind: str, event: str) -> None:
    site.add_page(
        after=f"setTimeout(() => {{ document.body.dispatchEvent(new Event('{event}')); {go(kind, '/a')} }}, 200);"
    )
    page.goto(site.url())
    wait_for_views(site, page, 2)
    assert navigations_of(site) == [("load", "/"), ("route", "/a")]


def test_a_change_of_the_address_after_a_second_begins_a_view_without_input(site: Site, page: Page) -> None:
    site.add_page(after="setTimeout(() => {" + go("replace", "/a") + "}, 1300);")
    page.goto(site.url())
    wait_for_views(site, page, 2)
    assert navigations_of(site) == [("load", "/"), ("route", "/a")]


def test_going_back_begins_a_view_without_input(site: Site, page: Page) -> None:
    site.add_page(after=go("push", "/a"))
    page.goto(site.url())
    page.wait_for_timeout(300)
    page.evaluate("() => history.back()")
    wait_for_views(site, page, 2)
    assert [navigation for navigation, _ in navigations_of(site)] == ["load", "route"]


@pytest.mark.parametrize("kind", ["push", "replace"])
def test_a_flood_of_addresses_belongs_to_one_view(site: Site, page: Page, kind: str) -> None:
    after = "let n = 0; setInterval(() => { " + go(kind, "/map/'+n+++'") + " }, 50);"
    site.add_page(after=after, path="/map/start")
    page.goto(site.url("/map/start"))
    page.wait_for_timeout(3_500)
    assert len(views_of(site)) == 1
    assert len(site.envelopes) <= 5
    assert len({envelope["url"] for envelope in site.envelopes[1:]}) <= 1  # it stays as it was first sent


def test_addresses_that_each_key_replaces_are_one_route(site: Site, page: Page) -> None:
    site.add_page(after="addEventListener('keydown', ({ key }) => { " + go("replace", "/search/'+key+'") + " });")
    page.goto(site.url())
    page.wait_for_timeout(1_200)
    for key in "abcdefgh":
        page.keyboard.press(key)
        page.wait_for_timeout(100)
    wait_for_views(site, page, 2)
    page.wait_for_timeout(900)  # for any further one
    assert navigations_of(site) == [("load", "/"), ("route", "/search/h")] or [
        path[:8] for _, path in navigations_of(site)
    ] == ["/", "/search/"]


def test_a_document_has_a_bounded_number_of_routes(site: Site, page: Page) -> None:
    change = "document.body.click(); " + go("push", "/'+n+++'")
    site.add_page(after="let n = 0; setInterval(() => { " + change + " }, 20);")
    page.goto(site.url())
    page.wait_for_timeout(3_500)
    assert 25 <= len(views_of(site)) <= 32


def test_a_page_from_the_back_forward_cache_is_a_view_of_its_own(site: Site, page: Page) -> None:
    site.add_page(attributes="data-page=/named")
    site.pages["/next"] = NEXT
    page.goto(site.url())
    page.wait_for_timeout(700)
    page.goto(site.url("/next"))
    page.evaluate("() => history.back()")
    wait_for_views(site, page, 2)
    assert [navigation for navigation, _ in navigations_of(site)] == ["load", "bfcache"]
    first, second = views_of(site).values()
    assert second[0]["viewStart"] > first[0]["viewStart"]
    assert second[0]["timeOrigin"] == first[0]["timeOrigin"]
    assert second[0]["page"] == "/named"  # the document is the same
    assert {envelope["reason"] for envelope in first} <= {"timer", "beforeunload", "hidden", "pagehide"}
    returned_ms = second[0]["viewStart"] - second[0]["timeOrigin"]
    assert all(envelope["trace"]["samples"][0]["timestamp"] < returned_ms for envelope in first)


def test_a_reload_says_so(site: Site, page: Page) -> None:
    site.add_page()
    page.goto(site.url())
    page.reload()
    wait_until(page, lambda: "reload" in {navigation for navigation, _ in navigations_of(site)})


def test_a_hidden_page_stops_and_goes_on_when_it_is_seen_again(site: Site, page: Page) -> None:
    site.add_page()
    page.goto(site.url())
    page.wait_for_timeout(200)
    page.evaluate(HIDE, True)
    wait_until(page, lambda: "hidden" in {envelope["reason"] for envelope in site.envelopes})
    count = len(site.envelopes)
    page.wait_for_timeout(1_200)
    assert len(site.envelopes) == count
    page.evaluate(HIDE, False)
    wait_until(page, lambda: len(site.envelopes) > count)
    assert len(views_of(site)) == 1


@contextmanager
def chromium_alone(url: str, folder: Path) -> Iterator[None]:
    """A Chromium that shows a page and that nobody controls: one with DevTools does not prerender."""
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    command = [find_chromium(), "--headless=new", *sandbox, "--disable-gpu", f"--user-data-dir={folder}", url]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def test_a_prerendered_page_is_recorded_from_its_activation_on(site: Site, tmp_path: Path) -> None:
    rules = '{"prerender": [{"urls": ["/next"], "eagerness": "immediate"}]}'
    go = "setTimeout(() => { location.href = '/next'; }, 3000);"
    site.pages["/"] = f"<!doctype html><script type=speculationrules>{rules}</script><script>{go}</script>"
    activated = "performance.getEntriesByType('navigation')[0].activationStart"
    site.add_page(
        path="/next",
        after=f"fetch('/seen?' + document.prerendering);"
        f"document.addEventListener('prerenderingchange', () => fetch('/activated?' + {activated}));",
    )
    with chromium_alone(site.url(), tmp_path):
        deadline = time.monotonic() + WAIT_S
        while not site.posts and time.monotonic() < deadline:
            time.sleep(0.05)
            if not any(address.startswith("/activated") for address in site.asked):
                assert site.posts == []
    assert "/seen?true" in site.asked
    (activation,) = [address for address in site.asked if address.startswith("/activated")]
    activation_ms = float(activation.partition("?")[2])
    envelope = site.envelopes[0]
    assert envelope["navigation"] == "prerender"
    assert activation_ms > 500
    assert envelope["viewStart"] - envelope["timeOrigin"] == pytest.approx(activation_ms)
    assert envelope["trace"]["samples"][0]["timestamp"] >= activation_ms - 20


def add_pages(site: Site, **headers: str) -> None:
    """Adds two pages with one script, which the browser keeps as its headers say."""
    site.files["/app.js"] = LARGE
    site.file_headers = headers
    for path in ("/", SECOND):
        site.add_page(path=path, before="</script><script src=/app.js>")


def first_of(site: Site, page: Page, path: str) -> dict[str, Any]:  # Any: JSON of the snippet
    """Returns the first envelope of a page's view."""

    def of_view() -> list[dict[str, Any]]:  # Any: as above
        return [sent for sent in site.envelopes if sent["url"].endswith(path) and sent["seq"] == 0]

    wait_until(page, lambda: of_view() != [])
    return of_view()[-1]


@pytest.mark.parametrize(
    ("headers", "again"),
    [
        ({"Cache-Control": "max-age=600"}, "warm"),
        ({"Cache-Control": "no-store"}, "cold"),
    ],
    ids=["kept", "not kept"],
)
def test_the_first_visit_is_cold_and_the_second_what_the_script_allows(
    site: Site, page: Page, headers: dict[str, str], again: str
) -> None:
    add_pages(site, **headers)
    page.goto(site.url())
    assert first_of(site, page, "/")["cache"] == "cold"
    page.goto(site.url(SECOND))
    assert first_of(site, page, SECOND)["cache"] == again


def test_a_reload_finds_the_script_in_the_cache(site: Site, page: Page) -> None:
    add_pages(site, **{"Cache-Control": "max-age=600"})
    page.goto(site.url())
    assert first_of(site, page, "/")["cache"] == "cold"
    page.reload()
    wait_until(page, lambda: "reload" in [sent["navigation"] for sent in site.envelopes])
    assert [sent["cache"] for sent in site.envelopes if sent["navigation"] == "reload" and sent["seq"] == 0] == ["warm"]


def test_only_the_first_chunk_of_a_load_says_it(site: Site, page: Page) -> None:
    add_pages(site)
    page.goto(site.url())
    page.wait_for_timeout(1_200)
    page.mouse.click(5, 5)
    page.evaluate("() => history.pushState({}, '', '/route')")
    wait_until(page, lambda: "route" in [sent["navigation"] for sent in site.envelopes])
    said = [(sent["navigation"], sent["seq"]) for sent in site.envelopes if "cache" in sent]
    assert said == [("load", 0)]


def test_a_page_whose_scripts_tell_no_size_leaves_it_out(site: Site, page: Page) -> None:
    site.files["/app.js"] = LARGE
    source = site.url("/app.js", host="vendor.test")
    core = SNIPPET_PATH.read_text()
    site.pages["/"] = (
        f"<!doctype html><title>page</title><script src={source}></script>"
        f"<script data-key=k data-release=r data-localhost data-endpoint=/ingest/v1/traces>{core}</script>"
    )
    page.goto(site.url())
    assert "cache" not in first_of(site, page, "/")


def test_a_session_is_the_tabs_and_only_named_if_the_page_wants_it(site: Site, page: Page) -> None:
    site.add_page(attributes="data-session")
    site.add_page(attributes="data-session", path=SECOND)
    site.add_page(path="/without")
    page.goto(site.url())
    first = first_of(site, page, "/")
    page.goto(site.url(SECOND))
    second = first_of(site, page, SECOND)
    assert first["session"] == second["session"] == first["viewId"] != second["viewId"]
    page.goto(site.url("/without"))
    assert "session" not in first_of(site, page, "/without")
    browser = page.context.browser
    assert browser is not None
    with open_page(browser) as other:
        other.goto(site.url())
        wait_until(other, lambda: len({sent.get("session") for sent in site.envelopes}) == 3)  # and none


def test_another_day_is_another_session(site: Site, page: Page) -> None:
    site.add_page(attributes="data-session")
    site.add_page(attributes="data-session", path=SECOND, before="Date = () => 'Fri Nov 27 2026 12:00:00';")
    page.goto(site.url())
    first = first_of(site, page, "/")
    page.goto(site.url(SECOND))
    assert first_of(site, page, SECOND)["session"] != first["session"]


def test_a_page_without_storage_is_recorded_without_a_session(site: Site, page: Page) -> None:
    deny = (
        "Object.defineProperty(window, 'sessionStorage', {get() { throw new DOMException('no', 'SecurityError'); }});"
    )
    site.add_page(attributes="data-session", before=deny, after="fieldflame('page', '/named');")
    page.goto(site.url())
    first = first_of(site, page, "/")
    assert "session" not in first
    assert first["page"] == "/named"


def test_a_page_says_where_its_code_runs(site: Site, page: Page) -> None:
    site.add_page(attributes="data-environment=staging")
    page.goto(site.url())
    wait_for_views(site, page, 1)
    assert site.envelopes[0]["environment"] == "staging"


def test_a_page_names_its_trace_and_a_route_has_none(site: Site, page: Page) -> None:
    site.add_page(after="fieldflame('trace', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01');")
    page.goto(site.url())
    wait_for_views(site, page, 1)
    page.evaluate("fieldflame('page', '/next')")
    wait_for_views(site, page, 2)
    traces = {sent.get("page"): sent.get("requestTrace") for sent in site.envelopes}
    assert traces == {None: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "/next": None}
