"""Measures how soon a person sees the list of projects and the overview, in Chromium against a whole server.

Cold is the first visit after the server's start with an empty browser cache; warm are the visits after it.
"""

import statistics
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import BrowserContext, sync_playwright

from benchmarks.shared.browser import add_chromium
from benchmarks.shared.fill import fill_project
from benchmarks.shared.here import add_here, run_here
from ops.supervisor.running import RunningStack, run_stack

SLUG: Final = "bench-screens"
# (its name, its address, what it must show)
SCREENS: Final = (
    ("list of projects", "/projects/", ".projects .sentence"),
    ("overview", f"/projects/{SLUG}/", ".verdict .sentence"),
)
SLOWER: Final = 1  # times that the browser’s processor is slowed; 4 is a phone of the middle class
SIZE: Final = {"width": 1440, "height": 900}
# What was painted last counts once nothing is loaded any more.
LAST_PAINT: Final = """() => new Promise((resolve) => {
    let at = 0, shift = 0;
    const alert = (type, add) =>
        new PerformanceObserver((list) => list.getEntries().forEach(add)).observe({type, buffered: true});
    alert("largest-contentful-paint", (each) => { at = Math.max(at, each.startTime); });
    alert("layout-shift", (each) => { shift += each.hadRecentInput ? 0 : each.value; });
    setTimeout(() => resolve([at, shift, performance.getEntriesByType("navigation")[0].responseStart]), 300);
})"""
BUSY: Final = "[aria-busy=true]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """One visit of one screen: its largest contentful paint and the answer's first byte, ms, and its layout shift."""

    screen: str
    is_cold: bool
    paint_ms: float
    answer_ms: float
    shift: float


def bench_paints(stack: RunningStack, *, chromium: str, rounds: int) -> Iterator[Paint]:
    """Yields visits of each screen: `rounds` times one after a restart, each followed by two more."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(rounds):
            for screen, path, shown in SCREENS:
                stack.stop()
                stack.start()
                context = browser.new_context(viewport=SIZE)  # type: ignore[arg-type]  # a width and a height
                _log_in(context, stack)
                for number in range(3):
                    yield _visit(context, stack.url + path, screen, shown, is_cold=number == 0)
                context.close()
        browser.close()


def _log_in(context: BrowserContext, stack: RunningStack) -> None:
    """Logs in by the form; the styles and scripts of other pages stay unknown to the browser."""
    page = context.new_page()
    name, password = stack.login
    page.goto(f"{stack.url}/login/?next=/account/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", password)
    page.keyboard.press("Enter")
    page.wait_for_selector(".who")
    page.close()


def _visit(context: BrowserContext, address: str, screen: str, shown: str, *, is_cold: bool) -> Paint:
    page = context.new_page()
    time.sleep(0.5)  # the new tab is no part of the visit
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(address, wait_until="load")
    page.wait_for_selector(shown)
    page.wait_for_selector(BUSY, state="detached")
    paint_ms, shift, answer_ms = page.evaluate(LAST_PAINT)
    page.close()
    return Paint(screen=screen, is_cold=is_cold, paint_ms=paint_ms, answer_ms=answer_ms, shift=shift)


def describe(visits: Sequence[Paint]) -> str:
    """Returns a line for each screen, cold and warm."""
    lines = []
    for screen, _, _ in SCREENS:
        for is_cold in (True, False):
            group = [visit for visit in visits if (visit.screen, visit.is_cold) == (screen, is_cold)]
            paints = sorted(visit.paint_ms for visit in group)
            answer = statistics.median(visit.answer_ms for visit in group)
            lines.append(
                f"  {screen:18} {'cold' if is_cold else 'warm'}  LCP {statistics.median(paints):6.0f} ms "
                f"({paints[0]:.0f} to {paints[-1]:.0f})  first byte {answer:5.0f} ms  "
                f"CLS {max(visit.shift for visit in group):.3f}  n {len(group)}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--views", type=int, default=10_000, help="page views of the project (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="restarts of the server (default: %(default)s)")
    add_chromium(parser)
    add_here(parser)
    options = parser.parse_args()
    if options.here:
        fill_project(SLUG, options.views)
        return
    with run_stack() as stack:
        run_here(stack.store_environment, "screens", "--views", str(options.views))
        print(describe(list(bench_paints(stack, chromium=options.chromium, rounds=options.rounds))))
