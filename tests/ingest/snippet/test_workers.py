"""What browsers let a dedicated worker record: documents a limit of docs/snippet.md, and says when it falls."""

import os

import pytest
from playwright.sync_api import Page

from tests.ingest.snippet.site import Site

WORKERS_NAME = "FIELDFLAME_TEST_WORKERS"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not os.environ.get(WORKERS_NAME),
        reason=f"tests the browser, not Fieldflame: set {WORKERS_NAME}=1 to see whether workers can be profiled",
    ),
]

# Tells what `Profiler` is in the worker, and what its constructor says.
WORKER = """
let outcome = 'constructed';
try {
  new Profiler({sampleInterval: 10, maxBufferSize: 100}).stop();
} catch (error) {
  outcome = error.name;
}
postMessage([typeof self.Profiler, outcome]);
"""


def test_a_dedicated_worker_has_no_profiler(site: Site, page: Page) -> None:
    site.files["/worker.js"] = WORKER
    site.file_headers["Document-Policy"] = "js-profiling"
    site.pages["/"] = "<!doctype html><title>page</title><link rel=icon href='data:,'>"
    page.goto(site.url())
    assert page.evaluate("() => typeof Profiler") == "function"  # the page itself may
    kinds = page.evaluate(
        "() => new Promise((done) => { new Worker('/worker.js').onmessage = ({ data }) => done(data); })"
    )
    assert kinds == ["undefined", "ReferenceError"]
