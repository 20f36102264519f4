"""The bare core of the package: it records, rotates, sends at the exit and knows views, and nothing else."""

import pytest
from playwright.sync_api import Page

from ingest.snippet.views import SNIPPET_PATH
from profcore.trace.funcs import SNIPPET_NAME
from tests.ingest.snippet.browsing import BUSY, add_bare_page, wait_until
from tests.ingest.snippet.site import ENDPOINT_PATH, Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

QUIET_MS = 1_500
STUB = SNIPPET_PATH.with_name("stub.js").read_text()


def test_it_records_a_view_in_chunks_with_long_tasks_only(site: Site, page: Page) -> None:
    add_bare_page(
        site, options="duration: 2500", before=STUB, after=f"performance.mark('m'); {BUSY} setTimeout(spin, 100, 200);"
    )
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 3)
    assert [envelope["seq"] for envelope in site.envelopes[:3]] == [0, 1, 2]
    assert len({envelope["viewId"] for envelope in site.envelopes}) == 1
    assert "spin" in {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]}
    assert {mark["type"] for envelope in site.envelopes for mark in envelope["marks"]} == {"longtask"}
    assert site.posts[0].path == f"{ENDPOINT_PATH}?key=site-key"


def test_each_way_into_the_snippet_has_the_name_by_which_servers_know_it_in_a_bundle(site: Site, page: Page) -> None:
    add_bare_page(site, options="interval: 1, buffer: 300", after=f"{BUSY} setInterval(spin, 20, 5);")
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 10})
    page.goto(site.url())

    def names() -> set[str]:
        return {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]}

    wait_until(page, lambda: SNIPPET_NAME in names())


def test_leaving_the_page_sends_what_there_is(site: Site, page: Page) -> None:
    add_bare_page(site, after=f"{BUSY} setTimeout(() => {{ spin(600); window.ran = true; }}, 100);")
    site.pages["/next"] = "<!doctype html><title>next</title>"
    page.goto(site.url())
    page.wait_for_function("() => window.ran")
    page.goto(site.url("/next"))
    wait_until(
        page,
        lambda: "spin" in {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]},
    )


def test_another_path_and_another_name_begin_a_view(site: Site, page: Page) -> None:
    add_bare_page(site, options="page: '/start'", after="window.call = fieldflame;")
    page.goto(site.url())
    wait_until(page, lambda: site.posts != [])
    page.evaluate("() => history.pushState({}, '', '/a/1')")
    page.evaluate("() => call('page', '/a/:id')")
    wait_until(page, lambda: any(envelope.get("page") == "/a/:id" for envelope in site.envelopes))
    page.evaluate("() => call('page', '/b')")
    wait_until(page, lambda: any(envelope.get("page") == "/b" for envelope in site.envelopes))
    names = dict.fromkeys((envelope["viewId"], envelope["page"], envelope["navigation"]) for envelope in site.envelopes)
    assert [(name, navigation) for _, name, navigation in names] == [
        *(("/start", "load"), ("/a/:id", "route"), ("/b", "route"))
    ]


def test_a_busy_endpoint_is_asked_again(site: Site, page: Page) -> None:
    site.answers = [(503, {"Retry-After": "1"})]
    add_bare_page(site, options="duration: 400")
    page.goto(site.url())
    first, second = site.wait_for_posts(2, page.wait_for_timeout)
    assert second.at - first.at >= 0.99
    assert first.envelopes == second.envelopes


@pytest.mark.parametrize("core", ["bare.mjs", "index.mjs"])
@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ("key: 'k', release: 'r'", "endpoint"),
        ("endpoint: '/ingest/v1/traces', release: 'r'", "key"),
        ("key: '', endpoint: '/ingest/v1/traces', release: 'r'", "key"),
        ("key: 'k', endpoint: '/ingest/v1/traces'", "release"),
    ],
)
def test_a_package_without_a_required_option_names_it_and_records_nothing(
    site: Site, page: Page, core: str, options: str, missing: str
) -> None:
    if (core, missing) == ("index.mjs", "release"):
        pytest.skip("the page's server may announce the release")
    lines: list[str] = []
    page.on("console", lambda message: lines.append(f"{message.type}: {message.text}"))
    site.files["/core.mjs"] = SNIPPET_PATH.with_name(core).read_text()
    site.pages["/"] = (
        "<!doctype html><title>page</title><link rel=icon href='data:,'><script type=module>"
        f"import {{ start }} from '/core.mjs'; start({{{options}, localhost: true}}); window.ran = true;</script>"
    )
    page.goto(site.url())
    page.wait_for_function("() => window.ran")
    page.wait_for_timeout(QUIET_MS)
    assert lines == [f"error: fieldflame: no {missing}, no recording"]
    assert (site.posts, site.absents) == ([], [])
    assert page.evaluate("() => window.fieldflame === undefined")


@pytest.mark.parametrize(
    ("before", "has_policy"),
    [
        ("delete window.Profiler;", True),
        ("", False),
        (STUB, False),
        ("window.Profiler = class { constructor() { throw null; } };", True),
    ],
    ids=["no API", "no header", "no header, with the stub", "constructor"],
)
def test_a_failure_is_silent_and_happens_once(site: Site, page: Page, before: str, has_policy: bool) -> None:
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text.rstrip()))
    page.on("pageerror", lambda error: lines.append(str(error)))
    if not has_policy:
        site.page_headers.clear()
    add_bare_page(site, options="duration: 400", before=before, after="window.ran = true;")
    page.goto(site.url())
    page.wait_for_function("() => window.ran")
    page.evaluate("() => history.pushState({}, '', '/other')")
    page.wait_for_timeout(QUIET_MS)
    assert [line for line in lines if not line.startswith("Document policy violation")] == []
    assert len(lines) == (0 if has_policy else 1)  # the browser's own, of one attempt
    assert (site.posts, site.absents) == ([], [])
