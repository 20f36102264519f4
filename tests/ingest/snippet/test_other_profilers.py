"""Another product's profiler on the same page: both record, and neither breaks the other."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page

from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]

FOLDER = Path(settings.BASE_DIR)


def bundle_sentry(target: Path) -> str:
    """Returns Sentry's SDK as one script; skips the test where Node or its packages are missing."""
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    esbuild = FOLDER / "ingest/snippet/node_modules/esbuild/bin/esbuild"
    if node is None or not esbuild.exists() or not (FOLDER / "tests/node/node_modules/@sentry").exists():
        pytest.skip("no Node or no packages: run `npm ci` in ingest/snippet and tests/node")
    command = [str(esbuild), "tests/node/sentry.mjs", "--bundle", "--format=iife", f"--outfile={target}"]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True, timeout=120)
    return target.read_text()


@pytest.mark.parametrize("is_first", [True, False], ids=["before ours", "after ours"])
def test_sentrys_profiling_and_ours_live_on_one_page(site: Site, page: Page, tmp_path: Path, is_first: bool) -> None:
    site.files["/sentry.js"] = bundle_sentry(tmp_path / "sentry.js")
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
    wait_until(page, lambda: any(envelope["seq"] >= 4 for envelope in site.envelopes))
    names = {frame["name"] for envelope in site.envelopes for frame in envelope["trace"]["frames"]}
    assert "work" in names
    assert any(b"work" in body for body in site.others)
    assert errors == []
