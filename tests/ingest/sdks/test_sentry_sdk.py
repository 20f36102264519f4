"""Sentry's real SDKs in Chromium: by their DSN their profiles come to us, and say what our own snippet's say."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from projects.keys import write_dsn_key
from tests.aggregate.posting import fold_all
from tests.e2e.browser import open_page
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.bundling import bundle_sdk
from tests.ingest.sdks.envelopes import join
from tests.ingest.snippet.browsing import wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(40), pytest.mark.django_db(transaction=True)]

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
# Each function works for itself, so that its self time is known. (page, function, ms, when it begins)
WORK = (
    ("/product/4711", "readCart", 500, 1_000),
    ("/product/4711", "hashName", 120, 1_700),
    ("/cart/77", "sumPrices", 400, 4_000),
    ("/cart/77", "sortRows", 300, 4_600),
    ("/checkout", "drawList", 200, 7_000),
)
ROUTES = {"/cart/77?q=1": 3_500, "/checkout": 6_500}
STOP_MS = 14_000  # by then the span of the last page has ended, also on a busy machine: it reads the profiler's id then


def make_script() -> str:
    """Returns the page's own work: functions that are busy for a time, and two navigations."""
    functions = "".join(
        f"function {name}() {{ const end = performance.now() + {ms}; while (performance.now() < end); }}\n"
        for _, name, ms, _ in WORK
    )
    calls = "".join(f"setTimeout({name}, {at_ms});" for _, name, _, at_ms in WORK)
    routes = "".join(f"setTimeout(() => history.pushState({{}}, '', '{url}'), {at});" for url, at in ROUTES.items())
    return functions + calls + routes


# As docs/sdks.md has it: errors stay at Sentry, profiles come to us, and spans go to both.
BOTH = """transport: Sentry.makeMultiplexedTransport(Sentry.makeFetchTransport, ({ envelope }) => {
    const types = envelope[1].map(([header]) => header.type);
    if (types.includes('profile_chunk')) return [FIELDFLAME];
    return types.includes('span') || types.includes('transaction') ? [SENTRY, FIELDFLAME] : [];
  }),"""


def make_page(dsn: str, own_dsn: str | None, server: str, key: str) -> str:
    """Returns a page with Sentry's SDK and our snippet; with `own_dsn` errors and spans also go there."""
    return f"""<!doctype html><title>page</title><link rel=icon href='data:,'>
      <script src=/sentry.js></script><script>const FIELDFLAME = '{dsn}', SENTRY = '{own_dsn or dsn}';
      Sentry.init({{ dsn: SENTRY, {BOTH if own_dsn else ""} release: 'theirs',
        environment: 'production', tracesSampleRate: 1, profileSessionSampleRate: 1,
        profileLifecycle: 'manual',
        integrations: [Sentry.browserTracingIntegration(), Sentry.browserProfilingIntegration()],
      }}); Sentry.uiProfiler.startProfiler(); setTimeout(() => Sentry.uiProfiler.stopProfiler(), {STOP_MS});</script>
      <script src=/snippet.js data-key={key} data-release=ours data-localhost data-bots
        data-endpoint={server}/ingest/v1/traces></script><body><h1>Shop</h1><script>{make_script()}</script>"""


def read_functions(release: str) -> dict[str, float]:
    """Returns the self times, ms, of the five functions that took most in a release."""
    client = Client()
    client.force_login(User.objects.create_superuser(f"reader-{release}"))
    answer: Any = json.loads(client.get("/api/v1/projects/shop/functions", {"release": release}).content)  # Any: JSON
    rows = sorted(answer["functions"], key=lambda row: -row["self_ms"])
    return {row["name"]: row["self_ms"] for row in rows[: len(WORK)]}


@pytest.mark.parametrize(
    ("sdk", "is_second"),
    [("sentry", False), ("sentry", True), pytest.param("sentry10", True, marks=pytest.mark.nightly)],
)
def test_its_profiles_say_what_ours_say(
    live_server: LiveServer,
    open_endpoint: IngestServer,
    chromium: Browser,
    site: Site,
    tmp_path: Path,
    sdk: str,
    is_second: bool,
) -> None:
    site.files["/sentry.js"] = bundle_sdk(sdk, tmp_path)
    host = live_server.url.removeprefix("http://")
    dsn = f"http://{write_dsn_key(open_endpoint.key)}@{host}/sentry/{open_endpoint.project_id}"
    own_dsn = f"http://own@127.0.0.1:{site.port}/1" if is_second else None
    site.pages["/product/4711"] = make_page(dsn, own_dsn, live_server.url, open_endpoint.key)
    spans = "SELECT count(*) FROM ingest_pagespan WHERE profiler_id IS NOT NULL AND project_id = %(project)s"
    chunks = "SELECT count(*) FROM ingest_pendingchunk WHERE project_id = %(project)s"
    with open_page(chromium, user_agent=CHROME) as page:
        page.goto(site.url("/product/4711?email=a@b.example"))
        wait_until(page, lambda: open_endpoint.rows(spans) == [(3,)] and open_endpoint.rows(chunks) == [(1,)])
        page.wait_for_timeout(500)
    sent_to_own = b"".join(site.others)
    assert b'"profile_chunk"' not in sent_to_own
    assert is_second is (b'"session"' in sent_to_own) is (b"pageload" in sent_to_own)
    assert join() == 1
    fold_all()
    assert open_endpoint.refusals() == {}
    assert open_endpoint.pages() == sorted([*["/cart/:id"] * 2, *["/checkout"] * 2, *["/product/:id"] * 2])
    bodies = [body for body in map(json.loads, open_endpoint.bodies()) if body["release"] == "theirs"]
    assert sorted(body["navigation"] for body in bodies) == ["load", "route", "route"]
    assert {body["tags"]["sdk"] for body in bodies} == {"sentry"}
    assert "long-animation-frame" in {mark["type"] for body in bodies for mark in body["marks"]}
    theirs, ours = read_functions("theirs"), read_functions("ours")
    print(f"\n{sdk:12} {'theirs':>8} {'ours':>8} ms of self time")
    for _, name, _, _ in WORK:
        print(f"{name:12} {theirs.get(name, 0):8.1f} {ours.get(name, 0):8.1f}")
    assert theirs.keys() == ours.keys() == {name for _, name, _, _ in WORK}
    # Two profilers look at one page at different moments. A busy machine lets either miss a few in a row.
    for name in ("readCart", "sumPrices", "sortRows"):
        assert ours[name] / 1.5 <= theirs[name] <= 1.5 * ours[name]
