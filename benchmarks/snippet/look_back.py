"""Measures what is sent if only slow moments are kept, and how many of the slow interactions have a trace.

Visitors click from time to time on a page in use; most clicks are quick. The truth are the browser's own event timings.
"""

import asyncio
import random
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import Browser, async_playwright
from tqdm import tqdm

from benchmarks.shared.browser import add_chromium
from benchmarks.snippet.exits import HOSTS, SECURE, SETTLE_S, covered_ms
from tests.snippet_site import POLICY, WORK, IngestServer, serve, write_page

Json = dict[str, Any]  # Any: JSON of the snippet
WAYS: Final = {"all": "", "slow": "data-keep=slow data-whole={whole}"}
SLOW_MS: Final = 200  # as the snippet has it
CLICKS: Final = 6
TYPICAL_MS, SIGMA = 50, 1.0  # lognormal: one of twelve clicks takes more than 200 ms
COVERED: Final = 0.9  # of an interaction, so that it has a trace
CLICKED: Final = (
    WORK
    + """
addEventListener('click', () => spin(window.answerMs));
window.seen = [];
new PerformanceObserver((list) => list.getEntries().forEach(({ interactionId, startTime, duration }) => {
  if (interactionId) seen.push([startTime, duration]);
})).observe({ type: 'event', durationThreshold: 16, buffered: true });
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowVisit:
    """One visit: what it sent, its slow interactions, and how many of them have a trace."""

    way: str
    sent_bytes: int
    slow: int
    traced: int


def count_traced(envelopes: Sequence[Json], interactions: Sequence[tuple[float, float]]) -> int:
    """Returns how many interactions (start, duration; ms) the traces of a visit cover."""

    def covered(start: float, duration: float) -> float:
        return covered_ms(envelopes, start + duration) - covered_ms(envelopes, start)

    return sum(covered(start, duration) >= COVERED * duration for start, duration in interactions)


async def _visit(browser: Browser, way: str, whole: float, chance: random.Random) -> SlowVisit:
    endpoint, pages = IngestServer(), dict[str, tuple[str, dict[str, str]]]()
    with serve(pages, endpoint) as port:
        core = "full" if way == "slow" else "snippet"
        html = write_page(f"http://localhost:{port}", work=CLICKED, attributes=WAYS[way].format(whole=whole), core=core)
        pages["/"] = (html, {"Document-Policy": POLICY})
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(f"http://127.0.0.1:{port}/?visit=1")
        for _ in range(CLICKS):
            await asyncio.sleep(chance.uniform(0.3, 4.0))
            await page.evaluate(f"() => {{ window.answerMs = {TYPICAL_MS * chance.lognormvariate(0, SIGMA)}; }}")
            await page.mouse.click(50, 50)
        await asyncio.sleep(chance.uniform(0.3, 2.0))
        slow = {start: ms for start, ms in await page.evaluate("() => window.seen") if ms > SLOW_MS}
        await page.close(run_before_unload=True)
        await asyncio.sleep(SETTLE_S)
        await context.close()
    envelopes = endpoint.envelopes.get("1", [])
    traced = count_traced(envelopes, list(slow.items()))
    return SlowVisit(way=way, sent_bytes=endpoint.sent_bytes, slow=len(slow), traced=traced)


async def _run(visits: int, whole: float, chromium: str, at_a_time: int) -> list[SlowVisit]:
    found: list[SlowVisit] = []
    places = asyncio.Semaphore(at_a_time)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, chromium_sandbox=False, args=[HOSTS, SECURE.format(port=0), "--disable-gpu"]
        )
        bar = tqdm(total=visits, unit="visit")

        async def one(number: int) -> None:
            chance = random.Random(number // len(WAYS))  # noqa: S311  # both ways get the same visits
            async with places:
                found.append(await _visit(browser, list(WAYS)[number % len(WAYS)], whole, chance))
            bar.update()

        await asyncio.gather(*(one(number) for number in range(visits)))
        bar.close()
        await browser.close()
    return found


def describe(visits: Sequence[SlowVisit]) -> str:
    """Returns a table by what is kept."""
    lines = [f"{'kept':6}{'visits':>8}{'kB per 1,000 views':>20}{'slow clicks':>13}{'with a trace':>14}"]
    for way in WAYS:
        rows = [visit for visit in visits if visit.way == way]
        slow, traced = sum(visit.slow for visit in rows), sum(visit.traced for visit in rows)
        sent = sum(visit.sent_bytes for visit in rows) / max(len(rows), 1)
        lines.append(f"{way:6}{len(rows):8}{sent:20,.0f}{slow:13}{f'{traced / slow:.0%}' if slow else '–':>14}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=200, help="of both ways together (default: %(default)s)")
    parser.add_argument("--whole", type=float, default=0.1, help="share that is kept whole (default: %(default)s)")
    parser.add_argument("--at-a-time", type=int, default=4, help="pages at once (default: %(default)s)")
    add_chromium(parser)
    print(describe(asyncio.run(_run(**vars(parser.parse_args())))))
