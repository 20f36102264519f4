"""Visits of the shop in Chromium: in a lab, and as users make them. They are recorded by the real snippet."""

import asyncio
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from tqdm import tqdm

from ingest.snippet.views import STUB_PATH
from tests.packages.lab.shop import RELEASES, name_script, write_script
from tests.snippet_site import POLICY, IngestServer, serve

if TYPE_CHECKING:
    from playwright.async_api import Browser

Side = Literal["lab", "phones", "desktops"]
Envelope = dict[str, Any]  # Any: JSON of the snippet
PAGE: Final = "/list"
LAB_SIZE: Final = 400
KEPT_SHARE: Final = 0.6  # of users' visits find a cart of an earlier one
SIZE_SPREAD: Final = 0.5  # of the logarithm of users' lists
# Median length of users' lists, and how many times slower than this machine their processors are.
FIELD: Final[Mapping[Side, tuple[int, tuple[int, ...]]]] = {"phones": (600, (4, 6)), "desktops": (900, (1, 2))}
PHONE: Final = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36"
)
DESKTOP: Final = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
)
VISIT_LIMIT_MS: Final = 120_000
REST_S: Final = 0.3  # after the work, and after the page was left: the last chunk is sent
TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopVisit:
    """One page view: where, of which release (by number), with which list, and on a processor of which speed."""

    name: str
    side: Side
    release: int
    size: int
    is_kept: bool
    slowdown: int


def plan_visits(views: Mapping[Side, int], releases: Sequence[int], seed: int = 1) -> list[ShopVisit]:
    """Returns so many visits of each side and release, in a random order: what else the machine does meets all."""
    chance = random.Random(seed)  # repeatable, and no secret
    plans = []
    for release in releases:
        for side, count in views.items():
            for number in range(count):
                size, slowdown, is_kept = LAB_SIZE, 1, False
                if side in FIELD:
                    middle, slowdowns = FIELD[side]
                    size = round(min(max(chance.lognormvariate(math.log(middle), SIZE_SPREAD), 50), 4 * middle))
                    slowdown, is_kept = chance.choice(slowdowns), chance.random() < KEPT_SHARE
                name = f"{side}-{release}-{number}"
                plans.append(
                    ShopVisit(name=name, side=side, release=release, size=size, is_kept=is_kept, slowdown=slowdown)
                )
    chance.shuffle(plans)
    return plans


def _write_page(port: int, release: int) -> str:
    endpoint = f"http://127.0.0.1:{port}"
    return (
        f"<!doctype html><meta charset=utf-8><title>shop</title><link rel=icon href='data:,'>"
        f"<script>{STUB_PATH.read_text()}</script>"
        f"<script async src='{endpoint}/snippet.js' data-key=shop data-release={RELEASES[release].name}"
        f" data-page={PAGE}"
        f" data-localhost></script><main></main><script src='{name_script(release)}'></script>"
    )


async def _visit(browser: "Browser", port: int, visit: ShopVisit) -> None:
    is_phone = visit.side == "phones"
    context = await browser.new_context(
        user_agent=PHONE if is_phone else DESKTOP,
        is_mobile=is_phone,
        viewport={"width": 412, "height": 860} if is_phone else {"width": 1366, "height": 820},
    )
    try:
        page = await context.new_page()
        session = await context.new_cdp_session(page)
        await session.send("Emulation.setHardwareConcurrencyOverride", {"hardwareConcurrency": 8})
        await session.send("Emulation.setCPUThrottlingRate", {"rate": visit.slowdown})
        query = f"n={visit.size}&kept={int(visit.is_kept)}&visit={visit.name}"
        await page.goto(f"http://127.0.0.1:{port}/r{visit.release}?{query}", wait_until="commit")
        await page.wait_for_function("document.title === 'done'", timeout=VISIT_LIMIT_MS, polling=100)
        await asyncio.sleep(REST_S)
        await page.goto("about:blank")
        await asyncio.sleep(REST_S)
    finally:
        await context.close()


async def _record(visits: Sequence[ShopVisit], chromium: str, at_a_time: int) -> IngestServer:
    from playwright.async_api import async_playwright  # only the tests' packages have it

    endpoint = IngestServer()
    pages: dict[str, tuple[str, dict[str, str]]] = {}
    with serve(pages, endpoint) as port:
        for release in {visit.release for visit in visits}:
            pages[f"/r{release}"] = (_write_page(port, release), {"Document-Policy": POLICY})
            pages[name_script(release)] = (write_script(release), {})
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=chromium,
                chromium_sandbox=False,
                args=["--disable-gpu", "--no-first-run"],
                ignore_default_args=["--disable-back-forward-cache"],  # people's browsers have it
            )
            places, bar = asyncio.Semaphore(at_a_time), tqdm(total=len(visits), unit="visit")

            async def one(visit: ShopVisit) -> None:
                async with places:
                    for attempt in range(TRIES):
                        endpoint.envelopes.pop(visit.name, None)
                        try:
                            await _visit(browser, port, visit)
                            break
                        except Exception:  # a browser's word of any kind: it is tried again
                            if attempt == TRIES - 1:
                                raise
                    bar.update()

            await asyncio.gather(*(one(visit) for visit in visits))
            bar.close()
            await browser.close()
    return endpoint


def record(visits: Sequence[ShopVisit], *, chromium: str, at_a_time: int) -> dict[tuple[Side, int], list[Envelope]]:
    """Returns the envelopes of all visits by side and release. Chunks of one visit are in order."""
    endpoint = asyncio.run(_record(visits, chromium, at_a_time))
    envelopes: dict[tuple[Side, int], list[Envelope]] = defaultdict(list)
    for visit in visits:
        envelopes[visit.side, visit.release] += sorted(
            endpoint.envelopes.get(visit.name, []), key=lambda envelope: envelope["seq"]
        )
    return dict(envelopes)
