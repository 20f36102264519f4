"""Datadog's real SDK in Chromium: with `proxy` its profiles come to us, and say what our own snippet's say."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from tests.aggregate.posting import fold_all
from tests.e2e.browser import open_page
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.bundling import bundle_sdk
from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20), pytest.mark.django_db(transaction=True)]

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
# Tells both that the page is hidden: headless Chromium keeps all its tabs visible.
HIDE = """() => {
    Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true});
    Object.defineProperty(document, 'hidden', {value: true, configurable: true});
    const event = new Event('visibilitychange', {bubbles: true});
    document.dispatchEvent(Object.assign(event, {__ddIsTrusted: true}));
}"""
WORK_MS = {"readCart": 500, "sumPrices": 400, "sortRows": 300, "drawList": 120, "hashName": 60}
WORK = BUSY + "".join(f"function {name}() {{ spin({ms}); }}" for name, ms in WORK_MS.items())
RUN = "".join(f"setTimeout({name}, {1_000 + 600 * at});" for at, name in enumerate(WORK_MS))


def make_page(site: Site, server: str, key: str) -> str:
    """Returns a page with Datadog's SDK and our snippet, which does some work after a second."""
    to = f"{server}/datadog/{key}"
    return f"""<!doctype html><title>page</title><link rel=icon href='data:,'>
      <script>{WORK}</script><script src=/datadog.js></script><script>datadogRum.init({{
        applicationId: 'none', clientToken: 'none', service: 'shop', env: 'prod', version: 'theirs',
        sessionSampleRate: 100, profilingSampleRate: 100, trackLongTasks: true, trackViewsManually: false,
        proxy: ({{path, parameters}}) => `{to}${{path}}?${{parameters}}`,
      }});</script>
      <script src=/snippet.js data-key={key} data-release=ours data-localhost data-bots
        data-endpoint={server}/ingest/v1/traces></script><body><script>{RUN}</script>"""


def read_totals(release: str) -> dict[str, float]:
    """Returns the ms that each of the work's functions took with all that it called, in a release."""
    client = Client()
    client.force_login(User.objects.create_superuser(f"reader-{release}"))
    query = {"release": release, "limit": "200"}
    answer: Any = json.loads(client.get("/api/v1/projects/shop/functions", query).content)  # Any: JSON
    return {row["name"]: row["total_ms"] for row in answer["functions"] if row["name"] in WORK_MS}


def test_its_profiles_say_what_ours_say(
    live_server: LiveServer, open_endpoint: IngestServer, chromium: Browser, site: Site, tmp_path: Path
) -> None:
    site.files["/datadog.js"] = bundle_sdk("datadog", tmp_path)
    site.pages["/product/4711"] = make_page(site, live_server.url, open_endpoint.key)
    with open_page(chromium, user_agent=CHROME) as page:
        page.goto(site.url("/product/4711"))
        page.wait_for_timeout(5_000)
        page.evaluate(HIDE)
        wait_until(page, lambda: {"theirs", "ours"} <= {json.loads(body)["release"] for body in open_endpoint.bodies()})
        page.wait_for_timeout(1_000)
    assert open_endpoint.refusals() == {}
    assert set(open_endpoint.pages()) == {"/product/:id"}
    fold_all()
    theirs, ours = read_totals("theirs"), read_totals("ours")
    print(f"{'function':12} {'theirs':>8} {'ours':>8} ms")
    for name in WORK_MS:
        print(f"{name:12} {theirs.get(name, 0):8.1f} {ours.get(name, 0):8.1f}")
    # Two profilers look at one page at different moments. A busy machine lets either miss a few in a row.
    assert {*theirs, *ours} <= WORK_MS.keys()
    for name in ("readCart", "sumPrices", "sortRows"):
        assert ours[name] / 2 <= theirs[name] <= 2 * ours[name]
