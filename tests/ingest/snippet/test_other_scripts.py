"""Other scripts on the same page: another product's profiler, old libraries with their `toJSON`, ids of bundlers."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from playwright.sync_api import Page

from ingest.snippet.views import SNIPPET_PATH
from profcore.symbolicate.debug_ids import read_debug_ids
from tests.ingest.sdks.bundling import bundle_sdk
from tests.ingest.snippet.browsing import BUSY, add_bare_page, wait_until
from tests.ingest.snippet.site import ENDPOINT_PATH, Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

IDS = [UUID(int=number, version=4) for number in range(3)]
# As Sentry's plugins write it for esbuild (minified), and as ours does.
SENTRY = """!function(){try{var e=typeof globalThis<"u"?globalThis:window,d=new e.Error().stack;
d&&(e._sentryDebugIds=e._sentryDebugIds||{},e._sentryDebugIds[d]="%s")}catch{}}();"""
OURS = """try{(self._debugIds=self._debugIds||{})[Error().stack]="%s"}catch(e){}\n"""
SCRIPTS = (
    "<script src=/classic.js></script><script type=module src=/module.js></script>"
    "<script>setTimeout(() => import('/late.js?v=1'), 900);</script>"
)
STUB = SNIPPET_PATH.with_name("stub.js").read_text()
ARRAY = "function toJSON() { return '[' + [].map.call(this, (x) => JSON.stringify(x)).join(', ') + ']'; }"
PAGES = {
    "array": f"Array.prototype.toJSON = {ARRAY};",
    "object": "Object.prototype.toJSON = function () { return '{}'; };",
    "both": f"Array.prototype.toJSON = {ARRAY}; Object.prototype.toJSON = () => 7;",
    "text and number": "String.prototype.toJSON = Number.prototype.toJSON = Boolean.prototype.toJSON = () => 'no';",
    "throws": "Array.prototype.toJSON = () => { throw new Error('no'); };",
    "hidden": f"Object.defineProperty(Array.prototype, 'toJSON', {{value: {ARRAY}, configurable: true}});",
    "writable": f"Object.defineProperty(Array.prototype, 'toJSON', {{value: {ARRAY}, writable: true}});",
    "getter": f"Object.defineProperty(Object.prototype, 'toJSON', {{get: () => {ARRAY}, configurable: true}});",
    "fixed": f"Object.defineProperty(Array.prototype, 'toJSON', {{value: {ARRAY}}});",
    "frozen": f"Array.prototype.toJSON = {ARRAY}; Object.freeze(Array.prototype);",
}
DESCRIBE = """() => [Array, Object, String].map(({prototype}) => {
  const own = Object.getOwnPropertyDescriptor(prototype, 'toJSON');
  return own ? Object.entries(own).map(([name, value]) => `${name} ${value}`).join() : '';
})"""


@pytest.mark.parametrize("is_first", [True, False], ids=["before ours", "after ours"])
def test_sentrys_profiling_and_ours_live_on_one_page(site: Site, page: Page, tmp_path: Path, is_first: bool) -> None:
    site.files["/sentry.js"] = bundle_sdk("sentry", tmp_path)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    sentry = f"""<script src=/sentry.js></script><script>Sentry.init({{
        dsn: 'http://public@127.0.0.1:{site.port}/1', tracesSampleRate: 1, profileSessionSampleRate: 1,
        profileLifecycle: 'trace',
        integrations: [Sentry.browserTracingIntegration(), Sentry.browserProfilingIntegration()],
    }});</script>"""
    ours = "<script src=/snippet.js data-key=k data-release=r data-localhost data-duration=4000></script>"
    tags = sentry + ours if is_first else ours + sentry
    site.pages["/"] = (
        f"<!doctype html><title>page</title>{tags}<body>"
        f"<script>{BUSY} function work() {{ return spin(300); }} work(); setTimeout(work, 500);</script>"
    )
    page.goto(site.url())
    wait_until(page, lambda: any(b'"profile_chunk"' in body for body in site.others))
    wait_until(page, lambda: any(envelope["seq"] >= 2 for envelope in site.envelopes))
    names = {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]}
    assert "work" in names
    assert any(b"work" in body for body in site.others)
    assert errors == []


@pytest.mark.parametrize("name", PAGES)
def test_a_prototypes_to_json_spoils_no_trace_and_stays(site: Site, page: Page, name: str) -> None:
    before = f"{STUB}{PAGES[name]} const describe = {DESCRIBE}; window.described = describe();"
    after = f"{BUSY} fieldflame('tags', ['a', 'b']); setTimeout(spin, 100, 120); setTimeout(spin, 800, 50);"
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    site.add_page(before=before, after=after)
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 2)
    for envelope in site.envelopes:
        assert all(isinstance(envelope["trace"][table], list) for table in ("resources", "frames", "stacks", "samples"))
        assert all(isinstance(frame["name"], str) for frame in envelope["trace"]["frames"])
        assert all(isinstance(mark["start"], int | float) for mark in envelope["marks"])
        assert envelope["device"]["cores"] > 0
        assert envelope["tags"] == ["a", "b"]
    assert "spin" in {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]}
    assert page.evaluate(DESCRIBE) == page.evaluate("() => window.described")
    assert errors == []


def test_the_stub_heeds_the_servers_word_on_such_a_page(site: Site, page: Page) -> None:
    site.page_headers["Server-Timing"] = 'ff;desc="on=0"'
    count = "window.made = 0; window.Profiler = class { constructor() { window.made += 1; } };"
    site.pages["/"] = f"<!doctype html><script>{count} {PAGES['array']} {STUB}</script>"
    page.goto(site.url())
    assert page.evaluate("() => [typeof fieldflame, window.made]") == ["function", 0]


def read_ids(site: Site) -> dict[str, UUID]:
    found: dict[str, UUID] = {}
    for envelope in site.envelopes:
        found |= read_debug_ids(json.dumps(envelope.get("debugIds")).encode())
    return found


@pytest.mark.parametrize("note", [SENTRY, OURS], ids=["Sentry's", "ours"])
def test_ids_of_all_scripts_are_sent_and_those_of_late_ones_later(site: Site, page: Page, note: str) -> None:
    names = ("classic.js", "module.js", "late.js")
    for name, debug_id in zip(names, IDS, strict=True):
        site.files[f"/{name}"] = note % debug_id + (BUSY + "spin(50);" if name != "late.js" else "")
    site.add_page(attributes="data-duration=12000", after=f"{BUSY} setInterval(spin, 50, 5);")
    site.pages["/"] = site.pages["/"].replace("<body>", SCRIPTS + "<body>")
    page.goto(site.url())
    expected = {site.url(f"/{name}"): debug_id for name, debug_id in zip(names, IDS, strict=True)}
    wait_until(page, lambda: read_ids(site) == expected)
    assert {envelope["seq"] for envelope in site.envelopes if "debugIds" in envelope} <= {0, 4, 8}


def test_a_page_without_ids_sends_none(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=400")
    page.goto(site.url())
    assert "debugIds" not in site.wait_for_posts(1, page.wait_for_timeout)[0].envelope


def test_the_bare_core_sends_them_too(site: Site, page: Page) -> None:
    site.files["/classic.js"] = SENTRY % IDS[0]
    add_bare_page(site, options="duration: 600", after=f"{BUSY} setInterval(spin, 50, 5);")
    site.pages["/"] = site.pages["/"].replace(
        "<script type=module", "<script src=/classic.js></script><script type=module"
    )
    page.goto(site.url())
    wait_until(page, lambda: read_ids(site) == {site.url("/classic.js"): IDS[0]})
    assert site.posts[0].path.startswith(ENDPOINT_PATH)
