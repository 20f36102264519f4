"""Measures how much of a visit arrives that ends at a random moment: by a link, a reload, a close, or a crash.

The truth is the time from the document's begin to the driver's word that ends it. What arrives is the time that the
traces cover up to that moment.
"""

import asyncio
import random
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from tqdm import tqdm

from benchmarks.shared.browser import add_chromium
from benchmarks.shared.resampling import find_interval
from tests.snippet_site import POLICY, IngestServer, serve, write_page

Exit = Literal["click", "cross-site", "reload", "close", "crash"]
EXITS: Final[Sequence[Exit]] = ("click", "cross-site", "reload", "close", "crash")
SHORTEST_S: Final = 0.5
LONGEST_S: Final = 10.0
# What a page that is gone left in the browser may arrive so much later.
SETTLE_S: Final = 5.0
HOSTS: Final = "--host-resolver-rules=MAP *.test 127.0.0.1"
# Sites have https; without it, browsers hold no requests for later.
SECURE: Final = "--unsafely-treat-insecure-origin-as-secure=http://shop.test:{port},http://endpoint.test:{port}"
CACHE_OFF: Final = "--disable-back-forward-cache"  # one of Playwright's own flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One visit: how it ended, how long it was, how much of that arrived (ms), and whether its own beacon arrived."""

    exit: Exit
    has_cache: bool
    length_ms: float
    arrived_ms: float
    envelopes: int
    has_beacon: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitsResult:
    visits: list[Visit]
    posts: int
    sent_bytes: int


def covered_ms(envelopes: Sequence[dict[str, Any]], end_ms: float) -> float:  # Any: JSON of the snippet
    """Returns the ms up to `end_ms` that the traces cover. Two traces that overlap cover it once."""
    covered, last = 0.0, -1e9
    spans = sorted(
        (samples[0]["timestamp"], samples[-1]["timestamp"] + envelope["sampleInterval"])
        for envelope in envelopes
        if (samples := envelope["trace"]["samples"])
    )
    for first, after in spans:
        begin, end = max(first, last), min(after, end_ms)
        if end > begin:
            covered += end - begin
            last = end
    return covered


class _Plan(NamedTuple):
    number: int
    exit: Exit
    stay_s: float


async def _leave(page: Page, context: BrowserContext, how: Exit, port: int) -> None:
    match how:
        case "click":
            await page.click("#next", no_wait_after=True)
        case "cross-site":
            await page.evaluate(f"() => {{ location.href = 'http://other.test:{port}/next'; }}")
        case "reload":
            await page.evaluate("() => location.reload()")
        case "close":
            await page.close(run_before_unload=True)  # as a person's click on the tab does
        case "crash":
            session = await context.new_cdp_session(page)
            # The page is gone before it can answer.
            asyncio.ensure_future(session.send("Page.crash")).add_done_callback(lambda task: task.exception())


async def _visit(
    browser: Browser, endpoint: IngestServer, plan: _Plan, port: int
) -> dict[str, Any]:  # Any: three facts
    number, how, stay_s = plan
    context = await browser.new_context()
    try:
        page = await context.new_page()
        await page.goto(f"http://shop.test:{port}/?visit={number}", wait_until="commit")
        while str(number) not in endpoint.begins:
            await asyncio.sleep(0.01)
        begun_s = endpoint.begins[str(number)] / 1000
        await asyncio.sleep(max(begun_s + stay_s - time.time(), 0))
        ended_s = time.time()
        await _leave(page, context, how, port)
        await asyncio.sleep(SETTLE_S)
        arrived = list(
            endpoint.envelopes.get(str(number), [])
        )  # a reload's second document has begun a view of its own
    finally:
        await context.close()
    return {"length_ms": (ended_s - begun_s) * 1000, "envelopes": arrived, "begun_ms": begun_s * 1000}


async def _run(visits: int, chromium: str, at_a_time: int, seed: int) -> ExitsResult:
    endpoint, pages = IngestServer(), dict[str, tuple[str, dict[str, str]]]()
    chance = random.Random(seed)  # noqa: S311  # repeatable, and no secret
    results: list[Visit] = []
    with serve(pages, endpoint) as port:
        pages["/"] = (write_page(f"http://endpoint.test:{port}"), {"Document-Policy": POLICY})
        pages["/next"] = ("<!doctype html><title>next</title>", {})
        async with AsyncExitStack() as stack:
            playwright = await stack.enter_async_context(async_playwright())
            browsers = {}
            for has_cache in (True, False):
                browsers[has_cache] = await playwright.chromium.launch(
                    executable_path=chromium,
                    chromium_sandbox=False,
                    args=[HOSTS, SECURE.format(port=port), "--disable-gpu", "--no-first-run"],
                    ignore_default_args=[CACHE_OFF] if has_cache else [],
                )
                stack.push_async_callback(browsers[has_cache].close)
            places = asyncio.Semaphore(at_a_time)
            bar = tqdm(total=visits, unit="visit")

            async def one(number: int) -> None:
                how, has_cache = EXITS[number % len(EXITS)], number // len(EXITS) % 2 == 0
                stay_s = chance.uniform(SHORTEST_S, LONGEST_S)
                async with places:
                    visit = await _visit(browsers[has_cache], endpoint, _Plan(number, how, stay_s), port)
                envelopes = [e for e in visit["envelopes"] if abs(e["timeOrigin"] - visit["begun_ms"]) < 1]
                results.append(
                    Visit(
                        exit=how,
                        has_cache=has_cache,
                        length_ms=visit["length_ms"],
                        arrived_ms=covered_ms(envelopes, visit["length_ms"]),
                        envelopes=len(envelopes),
                        has_beacon=str(number) in endpoint.beacons,
                    )
                )
                bar.update()

            await asyncio.gather(*(one(number) for number in range(visits)))
            bar.close()
    return ExitsResult(visits=results, posts=endpoint.posts, sent_bytes=endpoint.sent_bytes)


def bench_exits(*, visits: int, chromium: str, at_a_time: int, seed: int = 1) -> ExitsResult:
    """Ends so many visits, some at a time, in turn by each way and with and without the back/forward cache."""
    return asyncio.run(_run(visits, chromium, at_a_time, seed))


def _share(visits: Sequence[Visit]) -> float:
    return sum(visit.arrived_ms for visit in visits) / max(sum(visit.length_ms for visit in visits), 1e-9)


def describe(result: ExitsResult) -> str:
    """Returns a table by the way of leaving."""
    rows: list[tuple[str, list[Visit]]] = [
        (how, [visit for visit in result.visits if visit.exit == how]) for how in EXITS
    ]
    rows += [
        (f"{'with' if has_cache else 'without'} bfcache", [v for v in result.visits if v.has_cache == has_cache])
        for has_cache in (True, False)
    ]
    rows.append(("all", result.visits))
    lines = [f"{'exit':16}{'visits':>7}{'arrived':>9}{'95 %':>14}{'empty':>7}{'own beacon lost':>17}"]
    for name, visits in rows:
        if visits:
            low, high = find_interval(visits, _share)
            empty = sum(not visit.envelopes for visit in visits)
            lost = sum(not visit.has_beacon for visit in visits if visit.exit != "crash")
            lines.append(
                f"{name:16}{len(visits):7}{_share(visits):9.1%}{f'{low:.0%} to {high:.0%}':>14}{empty:7}{lost:17}"
            )
    count = max(len(result.visits), 1)
    lines.append(f"{result.posts / count:.1f} posts and {result.sent_bytes / count / 1000:.1f} kB per visit")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=100, help="the number of visits (default: %(default)s)")
    parser.add_argument("--at-a-time", type=int, default=4, help="pages at once (default: %(default)s)")
    add_chromium(parser)
    print(describe(bench_exits(**vars(parser.parse_args()))))
