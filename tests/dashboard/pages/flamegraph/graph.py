"""The flame graph in a browser, as tests look at it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.test import Client
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from tests.e2e.browser import open_signed_in

CANVAS = "#flame-canvas"
DETAILS = "#flame-details"

ROW = 20  # px


def wait_for_colour(page: Page, x: int, y: int, colour: str) -> None:
    for _ in range(1_200):  # a minute: the machine may be busy
        if colour_at(page, x, y) == colour:
            return
        page.wait_for_timeout(50)
    pixel = colour_at(page, x, y)
    assert pixel == colour, f"{pixel} at {x}, {y}"


def colour_at(page: Page, x: int, y: int) -> str:
    """Returns the colour of the canvas at a place in CSS px."""
    pixel = """(canvas, [x, y]) => {
      const ratio = canvas.width / canvas.clientWidth;
      const copy = new OffscreenCanvas(1, 1).getContext("2d");
      copy.drawImage(canvas, -Math.floor(x * ratio), -Math.floor(y * ratio));
      const [r, g, b] = copy.getImageData(0, 0, 1, 1).data;
      return "#" + [r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("");
    }"""
    colour: str = page.locator(CANVAS).evaluate(pixel, [x, y])
    return colour


@contextmanager
def open_tree(live_server: LiveServer, client: Client, query: str = "", **options: object) -> Iterator[Page]:
    """Opens the page with a client's session; no database beyond this point. Any complaint of the browser fails."""
    options = {"viewport": {"width": 1200, "height": 800}, **options}
    with open_signed_in(live_server, client, f"/projects/shop/flame-graph/?{query}", options) as page:
        yield page
