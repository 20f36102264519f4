"""Measures what the snippet costs a page's main thread: visits with the header only, and with header and snippet.

Each round visits each page once in each way, in a random order. The truth is the browser's own trace of the thread.
"""

import asyncio
import random
import statistics
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.async_api import Browser, async_playwright
from tqdm import tqdm

from benchmarks.shared.browser import add_chromium
from benchmarks.shared.resampling import find_interval
from benchmarks.snippet.main_thread import CATEGORIES, END_MARK, MainThread, read_main_thread
from benchmarks.snippet.visited_pages import PAGES, SCRIPT, Served, VisitedPage
from ingest.snippet.views import SNIPPET_PATH
from tests.snippet_site import IngestServer, serve, write_tags
from tools.recording.programs import build_shop
from tools.recording.visits import Driver

HEADER: Final = "header"
SETTLE_S: Final = 1.0  # what a page that is gone left in the browser arrives so much later


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A page, how many times slower the processor is, and the length of the visit."""

    page: str
    throttle: int
    stay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedVisit:
    """One visit by one of the builds, or with the header only."""

    case: Case
    build: str
    thread: MainThread
    posts: int
    sent_bytes: int
    chunks: int


async def _visit(browser: Browser, page: VisitedPage, case: Case, url: str) -> MainThread:
    context = await browser.new_context()
    try:
        tab = await context.new_page()
        session = await context.new_cdp_session(tab)
        await session.send("Emulation.setCPUThrottlingRate", {"rate": case.throttle})
        await browser.start_tracing(page=tab, categories=list(CATEGORIES))
        await tab.goto(url, wait_until="commit")
        begun_s = time.monotonic()
        driver = Driver(tab, session)
        await driver.enter_world()
        for at_s, act in page.actions:
            if at_s < case.stay_s:
                await asyncio.sleep(max(begun_s + at_s - time.monotonic(), 0))
                await act(driver)
        await asyncio.sleep(max(begun_s + case.stay_s - time.monotonic(), 0))
        await driver.ask(f"console.timeStamp('{END_MARK}')")
        trace = await browser.stop_tracing()
        await tab.goto("about:blank")
        await asyncio.sleep(SETTLE_S)
    finally:
        await context.close()
    return read_main_thread(trace)


async def _run(
    cases: Sequence[Case], builds: Mapping[str, Path], rounds: int, chromium: str, shop: Path
) -> list[TracedVisit]:
    results: list[TracedVisit] = []
    chance = random.Random(1)  # noqa: S311  # repeatable, and no secret
    kinds = [HEADER, *builds]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, chromium_sandbox=False, args=["--disable-gpu", "--no-first-run"]
        )
        bar = tqdm(total=rounds * len(cases) * len(kinds), unit="visit")
        for case in cases:
            page = PAGES[case.page](shop)
            for _ in range(rounds):
                for kind in chance.sample(kinds, len(kinds)):
                    endpoint, pages = IngestServer(), dict[str, Served](page.files)
                    with serve(pages, endpoint) as port:
                        # Another origin than the page's, as it mostly is; both have what secure contexts have.
                        tags = _write_tags(pages, builds[kind], f"http://localhost:{port}") if kind in builds else ""
                        pages[page.path] = page.write(tags)
                        thread = await _visit(browser, page, case, f"http://127.0.0.1:{port}{page.path}")
                    chunks = {(e["viewId"], e["seq"]) for envelopes in endpoint.envelopes.values() for e in envelopes}
                    results.append(
                        TracedVisit(
                            case=case,
                            build=kind,
                            thread=thread,
                            posts=endpoint.posts,
                            sent_bytes=endpoint.sent_bytes,
                            chunks=len(chunks),
                        )
                    )
                    bar.update()
        bar.close()
        await browser.close()
    return results


def _write_tags(pages: dict[str, Served], build: Path, endpoint_url: str) -> str:
    """Adds a build's script to the served pages; returns the tags that include it."""
    pages["/build/snippet.js"] = ((build / "snippet.js").read_text(), SCRIPT)
    tags = write_tags(endpoint_url, f"data-endpoint={endpoint_url}/ingest/v1/traces")
    return tags.replace(f"{endpoint_url}/snippet.js", f"{endpoint_url}/build/snippet.js")


def bench_own_cost(
    *, cases: Sequence[Case], builds: Mapping[str, Path], rounds: int, chromium: str
) -> list[TracedVisit]:
    """Visits each page so many times with the header only and with each build of the snippet, interleaved."""
    with TemporaryDirectory() as folder:
        if any(case.page in ("shop", "tour") for case in cases):
            build_shop(Path(folder))
        return asyncio.run(_run(cases, builds, rounds, chromium, Path(folder)))


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def _write_difference(base: Sequence[float], other: Sequence[float]) -> str:
    """Returns the median of the differences of each round, with its interval."""
    differences = [second - first for first, second in zip(base, other, strict=True)]
    low, high = find_interval(differences, _median)
    return f"{_median(differences):+.1f} [{low:+.1f}, {high:+.1f}]"


def _find_p75(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=4)[2] if len(values) > 1 else _median(values)


COLUMNS: Final[Mapping[str, Callable[[TracedVisit], float]]] = {
    "caused ms": lambda visit: sum(visit.thread.caused_ms.values()),
    "all tasks ms": lambda visit: visit.thread.all_ms,
    "longest ms": lambda visit: visit.thread.longest_ms,
    "long tasks": lambda visit: visit.thread.long_tasks,
}


def describe(visits: Sequence[TracedVisit], *, with_tasks: bool = False) -> str:
    """Returns a table by case and build: medians, and by how much they exceed the visits with the header only."""
    lines = []
    for case in dict.fromkeys(visit.case for visit in visits):
        lines.append(f"{case.page}, {case.throttle}x, {case.stay_s:g} s")
        mine = [visit for visit in visits if visit.case == case]
        base = [visit for visit in mine if visit.build == HEADER]
        for build in dict.fromkeys(visit.build for visit in sorted(mine, key=lambda visit: visit.build != HEADER)):
            rows = [visit for visit in mine if visit.build == build]
            cells = [f"  {build:12}{len(rows):3} visits"]
            for name, read in COLUMNS.items():
                values = [read(visit) for visit in rows]
                cells.append(f"{name} {_median(values):.1f}")
                if build != HEADER:
                    cells.append(_write_difference([read(visit) for visit in base], values))
            if clicks := [ms for visit in rows for ms in visit.thread.clicks_ms]:
                low, high = find_interval(clicks, _find_p75)
                cells.append(f"clicks {len(clicks)}, p75 {_find_p75(clicks):.1f} [{low:.1f}, {high:.1f}] ms")
            if build != HEADER:
                sent = [_median([getattr(visit, name) for visit in rows]) for name in ("chunks", "posts", "sent_bytes")]
                cells.append(f"chunks {sent[0]:g}, posts {sent[1]:g}, {sent[2] / 1000:.1f} kB")
            lines.append(", ".join(cells))
            if with_tasks:
                lines.extend(_describe_tasks(rows))
    return "\n".join(lines) + "\n"


def _describe_tasks(visits: Sequence[TracedVisit]) -> list[str]:
    """Returns the mean of what the snippet caused, by where the browser posts such tasks."""
    sums: dict[str, float] = {}
    for visit in visits:
        for source, ms in visit.thread.caused_ms.items():
            sums[source] = sums.get(source, 0.0) + ms / len(visits)
    return [f"    {ms:8.1f} ms  {source}" for source, ms in sorted(sums.items(), key=lambda item: -item[1])]


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--pages", nargs="+", choices=PAGES, default=list(PAGES), help="default: all")
    parser.add_argument("--throttles", nargs="+", type=int, default=[1, 4, 6], help="default: 1 4 6")
    parser.add_argument("--stays", nargs="+", type=float, default=[3, 10, 30], help="seconds (default: 3 10 30)")
    parser.add_argument("--rounds", type=int, default=8, help="visits in each way (default: %(default)s)")
    parser.add_argument("--builds", nargs="+", type=Path, default=[], help="folders of other builds to compare with")
    parser.add_argument("--tasks", action="store_true", help="list the browser's tasks that the snippet causes")
    add_chromium(parser)
    options = parser.parse_args()
    cases = [
        Case(page=page, throttle=throttle, stay_s=stay)
        for page in options.pages
        for throttle in options.throttles
        for stay in options.stays
    ]
    builds = {"snippet": SNIPPET_PATH.parent, **{path.name: path for path in options.builds}}
    visits = bench_own_cost(cases=cases, builds=builds, rounds=options.rounds, chromium=options.chromium)
    print(describe(visits, with_tasks=options.tasks))
