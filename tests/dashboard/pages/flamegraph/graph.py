"""The flame graph in a browser, as tests look at it."""

from playwright.sync_api import Page

CANVAS = "#flame-canvas"


ROW = 20  # px


def wait_for_colour(page: Page, x: int, y: int, colour: str) -> None:
    for _ in range(50):
        if colour_at(page, x, y) == colour:
            return
        page.wait_for_timeout(50)
    assert colour_at(page, x, y) == colour


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
