"""The pages that `own-cost` visits, and what a visitor does there at fixed moments."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.snippet_site import POLICY
from tools.recording.programs import SHOP
from tools.recording.visits import Driver

Served = tuple[str, dict[str, str]]
Action = Callable[[Driver], Awaitable[object]]

SCRIPT: Final = {"Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"}
HTML: Final = "text/html; charset=utf-8"
RELEASE: Final = "1.0.0"
# Each function is called once, so that the browser compiles it. A text that no one reads makes the script large.
HEAVY_FUNCTIONS: Final = 12_000
HEAVY_TEXT: Final = "x" * 330
# All chunks end at a multiple of that, in every version of the snippet.
CLICK_EVERY_S: Final = 0.5
CLICKS_UNTIL_S: Final = 30
SPIN: Final = "function spin(ms) { const end = performance.now() + ms; while (performance.now() < end); }"
SHOP_HEAD: Final = """<title>Hill &amp; Dale</title>
<meta name=viewport content="width=device-width, initial-scale=1"><link rel=stylesheet href="/shop.css">
<script type=module src="{entry}" crossorigin></script>"""
TOUR: Final = ("/category/boots", "/product/417", "/checkout", "/")
TOUR_STEP_S: Final = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitedPage:
    """A page by its address, the rest of its document, its files by path, and actions by their second."""

    path: str
    head: str
    files: Mapping[str, Served]
    actions: Sequence[tuple[float, Action]]
    route: str = "/"

    def write(self, tags: str) -> Served:
        """Returns the document with these tags first in its head."""
        html = (
            f"<!doctype html><html lang=en><head><meta charset=utf-8>{tags}<link rel=icon href='data:,'>"
            f"{self.head}</head><body><main></main></body></html>"
        )
        return html, {"Content-Type": HTML, "Document-Policy": POLICY}


def read_shop(folder: Path) -> tuple[str, dict[str, Served]]:
    """Returns the address of the demo shop's entry, and its files by path, from a folder of its builds."""
    release = folder / RELEASE
    files: dict[str, Served] = {
        f"/assets/{path.name}": (path.read_text(), SCRIPT) for path in (release / "assets").glob("*.js")
    }
    files["/api/catalogue.json"] = ((folder / "catalogue.json").read_text(), {"Content-Type": "application/json"})
    files["/shop.css"] = ((SHOP / "shop.css").read_text(), {"Content-Type": "text/css"})
    return f"/{(release / 'entry.txt').read_text().strip()}", files


def _click(selector: str, index: int = 0) -> Action:
    return lambda driver: driver.click(selector, index)


def _type(text: str) -> Action:
    async def run(driver: Driver) -> None:
        await driver.click("#search")
        await driver.type(text)

    return run


async def _scroll(driver: Driver) -> None:
    wheel = {"type": "mouseWheel", "x": 200, "y": 400, "deltaX": 0, "deltaY": 900}
    await driver.session.send("Input.dispatchMouseEvent", wheel)


def _follow(path: str) -> Action:
    async def run(driver: Driver) -> None:
        if path.startswith("/product/"):
            await driver.ask(f"document.querySelector('.card').setAttribute('href', {path!r})")
        await driver.click(f'a[href="{path}"]')

    return run


def _make_shop(folder: Path, path: str, route: str, actions: Sequence[tuple[float, Action]]) -> VisitedPage:
    entry, files = read_shop(folder)
    return VisitedPage(path=path, route=route, head=SHOP_HEAD.format(entry=entry), files=files, actions=actions)


def make_shop(folder: Path) -> VisitedPage:
    """Returns a page of the demo shop: a search, filters, and scrolling."""
    first = [(3.0, _type("dry")), (5.0, _click(".facet", 1)), (6.5, _click(".facet", 2)), (8.0, _scroll)]
    later = [(11.0, _type("a")), (15.0, _scroll), (20.0, _click(".facet")), (25.0, _click(".facet", 3))]
    return _make_shop(folder, "/category/boots", "/category/:name", first + later)


def make_tour(folder: Path) -> VisitedPage:
    """Returns the shop's first page, from which the visitor goes on to others by links."""
    return _make_shop(
        folder, "/", "/", [(TOUR_STEP_S * (1 + step), _follow(TOUR[step % len(TOUR)])) for step in range(11)]
    )


def make_empty(_: Path) -> VisitedPage:
    return VisitedPage(path="/", head="<title>empty</title>", files={}, actions=[])


def make_heavy(_: Path) -> VisitedPage:
    """Returns a page with a script of 5 MB, whose functions all run once, and which works every tenth of a second."""
    functions = "\n".join(
        f"function f{n}(x) {{ const text = '{HEAVY_TEXT}'; return x > {n} ? text.length : x + {n}; }} f{n}({n});"
        for n in range(HEAVY_FUNCTIONS)
    )
    script = f"{functions}\n{SPIN} setInterval(() => spin(10), 100);"
    files = {"/heavy.js": (script, SCRIPT)}
    return VisitedPage(path="/", head="<title>heavy</title><script src=/heavy.js></script>", files=files, actions=[])


def make_clicks(_: Path) -> VisitedPage:
    """Returns a page that is clicked at each half second, which is when chunks end. It works a little at each."""
    head = (
        f"<title>clicks</title><script>{SPIN} addEventListener('click', () => {{ spin(5);"
        " document.querySelector('main').textContent = performance.now(); });</script>"
    )
    clicks = [(CLICK_EVERY_S * number, _click("main")) for number in range(1, round(CLICKS_UNTIL_S / CLICK_EVERY_S))]
    return VisitedPage(path="/", head=head + "<style>main { height: 200px }</style>", files={}, actions=clicks)


# Each is made from the folder of the shop's builds.
PAGES: Final[Mapping[str, Callable[[Path], VisitedPage]]] = {
    "empty": make_empty,
    "shop": make_shop,
    "tour": make_tour,
    "heavy": make_heavy,
    "clicks": make_clicks,
}
