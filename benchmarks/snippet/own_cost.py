"""Measures what collection costs a page: loads without the header, with the header, and with header and snippet.

The processor time is that of the renderer processes that a load started, until some seconds after its begin.
"""

import asyncio
import random
import statistics
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from playwright.async_api import Browser, CDPSession, async_playwright
from tqdm import tqdm

from benchmarks.shared.browser import add_chromium
from benchmarks.shared.resampling import find_interval
from tests.snippet_site import POLICY, IngestServer, serve, write_tags

Kind = Literal["none", "header", "snippet"]
KINDS: Final[Sequence[Kind]] = ("none", "header", "snippet")
STAY_S: Final = 3.0
CONTENT_TYPES: Final = {".js": "text/javascript", ".html": "text/html; charset=utf-8", ".css": "text/css"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load of an app: the processor s of its renderer, and the ms of tasks on its main thread."""

    app: str
    kind: Kind
    processor_s: float
    tasks_ms: float


def read_apps(folder: Path) -> dict[str, dict[str, tuple[str, dict[str, str]]]]:
    """Returns the files of each app by path. An app is a folder with an `index.html`; it gets its name as its path."""
    apps = {}
    for index in sorted(folder.rglob("index.html")):
        root = index.parent
        name = "-".join(root.relative_to(folder).parts) or folder.name
        apps[name] = {
            f"/{path.relative_to(root)}": (path.read_text(), {"Content-Type": CONTENT_TYPES[path.suffix]})
            for path in root.rglob("*")
            if path.suffix in CONTENT_TYPES
        }
    return apps


async def _renderers(session: CDPSession) -> dict[int, float]:
    """Returns the processor s of each renderer, by process."""
    answer = await session.send("SystemInfo.getProcessInfo")
    return {process["id"]: process["cpuTime"] for process in answer["processInfo"] if process["type"] == "renderer"}


async def _load(browser: Browser, session: CDPSession, url: str) -> tuple[float, float]:
    before = await _renderers(session)
    context = await browser.new_context()
    try:
        page = await context.new_page()
        page_session = await context.new_cdp_session(page)
        await page_session.send("Performance.enable")
        await page.goto(url, wait_until="commit")
        await asyncio.sleep(STAY_S)
        after = await _renderers(session)
        metrics = {
            metric["name"]: metric["value"] for metric in (await page_session.send("Performance.getMetrics"))["metrics"]
        }
    finally:
        await context.close()
    processor_s = sum(used - before.get(process, 0.0) for process, used in after.items())
    return processor_s, metrics["TaskDuration"] * 1000


async def _run(apps: Mapping[str, Mapping[str, tuple[str, dict[str, str]]]], loads: int, chromium: str) -> list[Load]:
    results: list[Load] = []
    chance = random.Random(1)  # noqa: S311  # repeatable, and no secret
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, chromium_sandbox=False, args=["--disable-gpu", "--no-first-run"]
        )
        session = await browser.new_browser_cdp_session()
        bar = tqdm(total=len(apps) * loads * len(KINDS), unit="load")
        for app, files in apps.items():
            pages = dict(files)
            with serve(pages, IngestServer()) as port:
                html = files["/index.html"][0]
                tagged = html.replace("<head>", f"<head>{write_tags(f'http://127.0.0.1:{port}')}", 1)
                kind_pages: dict[Kind, tuple[str, dict[str, str]]] = {
                    "none": (html, {}),
                    "header": (html, {"Document-Policy": POLICY}),
                    "snippet": (tagged, {"Document-Policy": POLICY}),
                }
                for _ in range(loads):
                    for kind in chance.sample(KINDS, len(KINDS)):
                        pages["/"] = kind_pages[kind]
                        used = await _load(browser, session, f"http://127.0.0.1:{port}/?visit=0")
                        results.append(Load(app=app, kind=kind, processor_s=used[0], tasks_ms=used[1]))
                        bar.update()
        bar.close()
        await browser.close()
    return results


def bench_own_cost(*, apps: Path, loads: int, chromium: str) -> list[Load]:
    """Loads each app of a folder so many times in each way, interleaved."""
    return asyncio.run(_run(read_apps(apps), loads, chromium))


def _excess(pairs: Sequence[tuple[float, float]]) -> float:
    """Returns by how much more the second of each pair is, in the mean, as a share."""
    return sum(other for _, other in pairs) / sum(base for base, _ in pairs) - 1


def _write_excess(base: Sequence[float], other: Sequence[float]) -> str:
    pairs = list(zip(base, other, strict=True))
    low, high = find_interval(pairs, _excess)
    return f"{_excess(pairs):+.1%} [{low:+.1%}, {high:+.1%}]"


def describe(loads: Sequence[Load]) -> str:
    """Returns a table by app: the medians without anything, and what header and snippet add."""
    lines = [f"{'app':24}{'loads':>6}{'median':>15}{'header':>26}{'header + snippet':>26}"]
    names = list(dict.fromkeys(load.app for load in loads))
    for app in [*names, "all"]:
        for measure, unit, factor in (("processor_s", "ms CPU", 1000), ("tasks_ms", "ms tasks", 1)):
            values = {
                kind: [
                    getattr(load, measure) * factor for load in loads if load.kind == kind and app in (load.app, "all")
                ]
                for kind in KINDS
            }
            cells = [f"{_write_excess(values['none'], values[kind]):>26}" for kind in ("header", "snippet")]
            median = f"{statistics.median(values['none']):.0f} {unit}"
            lines.append(f"{app:24}{len(values['none']):6}{median:>15}{''.join(cells)}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("apps", type=Path, help="a folder of apps, each with an index.html")
    parser.add_argument("--loads", type=int, default=20, help="of each app and kind (default: %(default)s)")
    add_chromium(parser)
    options = parser.parse_args()
    if not options.apps.is_dir():
        raise SystemExit(f"{options.apps} is not a folder.")
    print(describe(bench_own_cost(**vars(options))))
