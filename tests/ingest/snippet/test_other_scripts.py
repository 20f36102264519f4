"""Other scripts on the same page: another product's profiler, and old libraries that give prototypes a `toJSON`."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from ingest.snippet.views import SNIPPET_PATH
from tests.ingest.sdks.bundling import bundle_sdk
from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

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
