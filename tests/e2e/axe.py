"""Accessibility of a page as axe-core sees it in a real browser; `./test` installs it into tests/node."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.format_judges import MODULES

AXE = MODULES / "axe-core" / "axe.min.js"
TAGS: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# The rules that ask for colours: all that another theme can break.
COLOUR_RULES: Final = ("color-contrast", "link-in-text-block")
ALL: Final = {"runOnly": TAGS}
COLOURS: Final = {"runOnly": COLOUR_RULES}
# Colours are most of the work, and no others on a phone.
ALL_BUT_COLOURS: Final = {"runOnly": TAGS, "rules": {rule: {"enabled": False} for rule in COLOUR_RULES}}
# Of what passes it tells no details then: half of its time.
RUN = "options => axe.run(document, {...options, resultTypes: ['violations']})"
# Colours change slowly: axe would see those in between. A part that waits to be seen pulses without end.
TRANSITIONS_ENDED = """() => document.getAnimations().every(
  each => each.playState === "finished" || each.effect.getComputedTiming().endTime === Infinity)"""
PHONE: Final = ViewportSize(width=390, height=844)


def find_violations(page: Page, options: Mapping[str, object] = ALL) -> list[str]:
    """Returns what axe finds wrong on a page, a line a rule and element. Skips the test where axe is missing."""
    if not AXE.exists():
        pytest.skip("axe-core is missing: `./test` installs it into tests/node")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    report: dict[str, Any] = page.evaluate(RUN, options)
    return [
        f"{violation['id']}: {node['html'][:200]}" for violation in report["violations"] for node in violation["nodes"]
    ]


def is_wider_than_the_window(page: Page) -> bool:
    is_wider: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return is_wider


def find_dark_violations(page: Page) -> list[str]:
    """Returns what the dark theme breaks on a page that is shown light, which it is again afterwards."""
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(TRANSITIONS_ENDED)
    violations = find_violations(page, COLOURS)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(TRANSITIONS_ENDED)
    return violations


def find_faults(page: Page) -> list[str]:
    """Returns what is wrong with a page as it stands, a line each, in every look: light, dark, and on a phone."""
    return list(_list_faults(page))


def _list_faults(page: Page) -> Iterator[str]:
    yield from (f"light: {line}" for line in find_violations(page))
    yield from (f"dark: {line}" for line in find_dark_violations(page))
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size(PHONE)
    expect(page.locator("[aria-busy=true]"), "a part never came").to_have_count(0)
    yield from (f"phone: {line}" for line in find_violations(page, ALL_BUT_COLOURS))
    if is_wider_than_the_window(page):
        yield "phone: wider than the window"
    page.set_viewport_size(size)
