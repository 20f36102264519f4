"""What a real Chromium records is read: a CPU profile, a trace of events, and what the API itself returns."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Envelope
from tests.e2e.browser import open_page
from tests.profcore.formats.importers.reading import read

pytestmark = pytest.mark.e2e

ADDRESS = "http://import.test/page"
PAGE = """<!doctype html><title>busy</title><script>
function burn(ms) {
  const until = performance.now() + ms;
  let sum = 0;
  while (performance.now() < until) sum += Math.sqrt(sum + 1);
  return sum;
}
function outer() { return burn(150); }
</script>"""
BURN = "() => new Promise((resolve) => setTimeout(() => resolve(outer()), 20))"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with open_page(chromium) as page:
        headers = {"Document-Policy": "js-profiling", "Content-Type": "text/html"}
        page.route("**/*", lambda route: route.fulfill(body=PAGE, headers=headers))
        page.goto(ADDRESS)
        yield page


def heaviest(envelope: Envelope) -> str | None:
    """Returns the page's function with the most self time, None where none has any."""
    funcs = FuncTable()
    sums = fold_trace(envelope, page="/", funcs=funcs).sums
    self_us: dict[str, int] = {}
    for index, us in sums.self_us.items():
        key = funcs.keys[index]
        if us and key.uri is not None and key.uri.startswith("http://import.test/"):
            self_us[key.name] = us
    return max(self_us, key=lambda name: self_us[name], default=None)


def places(envelope: Envelope) -> dict[str, tuple[int | None, int | None]]:
    return {frame.name: (frame.line, frame.column) for frame in envelope.trace.frames}


def test_a_cpu_profile_shows_what_ran(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Profiler.enable")
    session.send("Profiler.start")
    page.evaluate(BURN)
    profile = session.send("Profiler.stop")["profile"]

    (imported,) = read(json.dumps(profile).encode())
    envelope = imported.completed.envelope
    assert imported.importer.name == "cpuprofile"
    assert heaviest(envelope) == "burn"
    assert places(envelope)["burn"] == (2, 14)  # the bracket before its parameters, as the API has it


def test_a_trace_of_events_shows_what_ran_where(chromium: Browser, page: Page) -> None:
    categories = ["devtools.timeline", "disabled-by-default-v8.cpu_profiler", "toplevel", "v8.execute"]
    chromium.start_tracing(page=page, categories=["-*", *categories, "disabled-by-default-devtools.timeline"])
    for _ in range(5):  # on a busy machine, the sampler's thread may get no turn during one
        page.evaluate(BURN)
    body = chromium.stop_tracing()

    imported = [one.completed.envelope for one in read(body)]
    (envelope,) = [one for one in imported if heaviest(one) is not None]
    assert heaviest(envelope) == "burn"
    assert envelope.url == ADDRESS
    assert places(envelope)["burn"] == (2, 14)


def test_what_the_api_itself_returns_comes_in(page: Page) -> None:
    trace = page.evaluate(
        """async () => {
          const profiler = new Profiler({sampleInterval: 10, maxBufferSize: 1000});
          await new Promise((resolve) => setTimeout(() => resolve(outer()), 20));
          return JSON.stringify(await profiler.stop());
        }"""
    )

    (imported,) = read(trace.encode())
    envelope = imported.completed.envelope
    assert (imported.importer.name, envelope.timeOrigin) == ("trace", 1_795_300_000_000)
    assert heaviest(envelope) == "burn"
    assert places(envelope)["burn"] == (2, 14)
