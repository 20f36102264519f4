"""Visits of the shop in Chromium: a load and two soft navigations, with clicks and keys, on one of four devices.

The driver speaks only with the browser's own protocol, in a world of its own, so that it leaves no frames in traces.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ops.demo.story import INGEST_HOST, RELEASES, SHOP_HOST, TAG_HOST
from tools.recording.site import RELEASE_COOKIE, VISIT_COOKIE, IngestServer

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Page

HOSTS: Final = (SHOP_HOST, TAG_HOST, INGEST_HOST)
CATEGORIES: Final = ("boots", "jackets", "tents", "backpacks")
POLL_S: Final = 0.1
STEP_LIMIT_S: Final = 60.0  # of a busy machine: a visit takes some 9 s
REST_S: Final = 0.6  # after the last action of a view
SETTLE_S: Final = 1.0  # what a page that is gone has left in the browser arrives so much later
TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a desktop or a phone is like: its window, and the name of its browser."""

    width: int
    height: int
    is_mobile: bool
    user_agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A kind of device: how many times slower than this machine, its memory (GiB) and its cores."""

    name: str
    form: Form
    slowdown: int
    memory: int
    cores: int


DESKTOP: Final = Form(
    width=1366,
    height=820,
    is_mobile=False,
    user_agent="Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Safari/537.36",
)
PHONE: Final = Form(
    width=412,
    height=860,
    is_mobile=True,
    user_agent="Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Mobile Safari/537.36",
)
DEVICES: Final = (
    Device(name="desktop-high", form=DESKTOP, slowdown=1, memory=8, cores=8),
    Device(name="desktop-low", form=DESKTOP, slowdown=2, memory=8, cores=4),
    Device(name="mobile-high", form=PHONE, slowdown=4, memory=8, cores=8),
    Device(name="mobile-low", form=PHONE, slowdown=6, memory=2, cores=8),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One visit: the release, the device, and the addresses of its three page views."""

    name: str
    release: str
    device: Device
    paths: Sequence[str]


def plan_visits(repeats: int, seed: int = 1) -> list[Plan]:
    """Returns visits in a random order, so that what else the machine does is spread over all releases.

    Each release gets `repeats` visits for each device and first page. A page is first, second and third equally often:
    its views are one load and two soft navigations in three.
    """
    chance = random.Random(seed)  # noqa: S311  # repeatable, and no secret
    plans = []
    for release in RELEASES:
        chance_of_visit = random.Random(seed)  # noqa: S311  # all releases get the same addresses
        for repeat in range(repeats):
            for device in DEVICES:
                for first in range(4):
                    paths = _choose_paths(first, chance_of_visit)
                    name = f"{release}-{device.name}-{first}-{repeat}"
                    plans.append(Plan(name=name, release=release, device=device, paths=paths))
    chance.shuffle(plans)
    return plans


def _choose_paths(first: int, chance: random.Random) -> list[str]:
    round_trip = ["/", f"/category/{chance.choice(CATEGORIES)}", f"/product/{chance.randrange(1_200)}", "/checkout"]
    return (round_trip + round_trip)[first : first + 3]


class Driver:
    """One page, driven by the browser's protocol."""

    def __init__(self, page: "Page", session: "CDPSession") -> None:
        self.page = page
        self.session = session
        self.world = 0

    async def enter_world(self) -> None:
        """Makes a world of its own in the present document, whose scripts no trace shows."""
        tree = await self.session.send("Page.getFrameTree")
        made = await self.session.send("Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"]})
        self.world = made["executionContextId"]

    async def ask(self, expression: str) -> Any:  # Any: JSON of the page
        answer = await self.session.send(
            "Runtime.evaluate", {"expression": expression, "contextId": self.world, "returnByValue": True}
        )
        return answer["result"].get("value")

    async def wait_until_shown(self, path: str) -> None:
        deadline = time.monotonic() + STEP_LIMIT_S
        while await self.ask("document.querySelector('main')?.dataset.shown") != path:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} is not shown after {STEP_LIMIT_S:.0f} s")
            await asyncio.sleep(POLL_S)

    async def click(self, selector: str, index: int = 0) -> None:
        place = await self.ask(
            f"(() => {{ const found = document.querySelectorAll({selector!r})[{index}];"
            " found.scrollIntoView({block: 'center'}); const place = found.getBoundingClientRect();"
            " return [place.x + place.width / 2, place.y + Math.min(place.height / 2, 20)]; })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            event = {"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            await self.session.send("Input.dispatchMouseEvent", event)

    async def type(self, text: str) -> None:
        for letter in text:
            await self.session.send("Input.dispatchKeyEvent", {"type": "keyDown", "text": letter, "key": letter})
            await self.session.send("Input.dispatchKeyEvent", {"type": "keyUp", "key": letter})
            await asyncio.sleep(0.1)


async def _use_home(driver: Driver) -> None:
    await asyncio.sleep(0.8)
    wheel = {"type": "mouseWheel", "x": 200, "y": 400, "deltaX": 0, "deltaY": 700}
    await driver.session.send("Input.dispatchMouseEvent", wheel)


async def _use_category(driver: Driver) -> None:
    await asyncio.sleep(0.4)
    await driver.click("#search")
    await driver.type("dry")
    await asyncio.sleep(0.2)
    await driver.click(".facet", 1)


async def _use_product(driver: Driver) -> None:
    await asyncio.sleep(0.6)
    await driver.click(".thumb", 0)
    await asyncio.sleep(0.2)
    await driver.click("#add")


async def _use_checkout(driver: Driver) -> None:
    await asyncio.sleep(0.3)
    await driver.click("#name")
    await driver.type("Ada L")
    await driver.click("#postcode")
    await driver.type("90210")
    await driver.click("#buy")


ACTIONS: Final = {"": _use_home, "category": _use_category, "product": _use_product, "checkout": _use_checkout}


async def _go_on(driver: Driver, path: str) -> None:
    """Clicks on a link to another page. The first card of the page leads to the product that the visit is about."""
    link = f'a[href="{path}"]'
    if path.startswith("/product/"):
        await driver.ask(f"document.querySelector('.card').setAttribute('href', {path!r})")
    await driver.click(link)


async def _visit(browser: "Browser", plan: Plan) -> None:
    device, form = plan.device, plan.device.form
    context = await browser.new_context(
        viewport={"width": form.width, "height": form.height},
        user_agent=form.user_agent,
        is_mobile=form.is_mobile,
        has_touch=form.is_mobile,
        device_scale_factor=2 if form.is_mobile else 1,
        ignore_https_errors=True,
    )
    try:
        await context.add_cookies(
            [
                {"name": name, "value": value, "url": f"https://{SHOP_HOST}/"}
                for name, value in ((RELEASE_COOKIE, plan.release), (VISIT_COOKIE, plan.name))
            ]
        )
        memory = f"Object.defineProperty(Navigator.prototype, 'deviceMemory', {{ get: () => {device.memory} }})"
        await context.add_init_script(memory)
        page = await context.new_page()
        session = await context.new_cdp_session(page)
        await session.send("Emulation.setHardwareConcurrencyOverride", {"hardwareConcurrency": device.cores})
        await session.send("Emulation.setCPUThrottlingRate", {"rate": device.slowdown})
        driver = Driver(page, session)
        await page.goto(f"https://{SHOP_HOST}{plan.paths[0]}", wait_until="commit")
        await driver.enter_world()
        for number, path in enumerate(plan.paths):
            if number:
                await _go_on(driver, path)
            await driver.wait_until_shown(path)
            await ACTIONS[path.split("/")[1]](driver)
            await asyncio.sleep(REST_S)
        await page.goto("about:blank")
        await asyncio.sleep(SETTLE_S)
    finally:
        await context.close()


async def record_visits(
    plans: Sequence[Plan],
    *,
    chromium: str,
    port: int,
    endpoint: IngestServer,
    at_a_time: int,
    show: Callable[[], object],
) -> list[str]:
    """Makes all visits, some at a time; returns what went wrong with those that failed three times."""
    from playwright.async_api import async_playwright  # only the tests' packages have it

    mapped = ", ".join(f"MAP {host} 127.0.0.1:{port}" for host in HOSTS)
    flags = [f"--host-resolver-rules={mapped}", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    failures: list[str] = []
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(
            executable_path=chromium,
            chromium_sandbox=False,
            args=flags,
            ignore_default_args=["--disable-back-forward-cache"],  # people's browsers have it
        )
        stack.push_async_callback(browser.close)
        places = asyncio.Semaphore(at_a_time)

        async def one(plan: Plan) -> None:
            async with places:
                for attempt in range(TRIES):
                    endpoint.envelopes.pop(plan.name, None)
                    try:
                        await _visit(browser, plan)
                        break
                    except Exception as error:  # a browser's word of any kind: it is tried again, then reported
                        if attempt == TRIES - 1:
                            failures.append(f"{plan.name}: {error}")
                show()

        await asyncio.gather(*(one(plan) for plan in plans))
    return failures
