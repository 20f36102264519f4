"""The style page: every token with its values, for those who work on the dashboard, and for nobody else."""

from typing import Literal

import pytest
from django.test import Client
from playwright.sync_api import expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from dashboard.pages.style import TOKENS_PATH, read_tokens
from tests.e2e.axe import COLOURS, find_violations
from tests.e2e.browser import lend_chromium, open_page, save_screenshot

TEXT = """:root {
  color-scheme: light dark;

  /* Surfaces. */
  --bg: #fafaf9;
  --shadow: 0 1px 2px rgb(0 0 0 / 0.1); /* of menus */

  /* Spacing. */
  --space-1: 4px;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --bg: #141211;
  }
}
"""


def test_tokens_are_read_in_groups_with_both_values() -> None:
    surfaces, spacing = read_tokens(TEXT)
    assert (surfaces.head, spacing.head) == ("Surfaces.", "Spacing.")
    bg, shadow = surfaces.tokens
    assert (bg.name, bg.light, bg.dark, bg.is_colour) == ("--bg", "#fafaf9", "#141211", True)
    assert (shadow.light, shadow.is_colour) == ("0 1px 2px rgb(0 0 0 / 0.1)", False)
    assert spacing.tokens[0].dark == "4px"


def test_the_page_is_there_with_debug_only(member: Client, settings: Settings) -> None:
    assert member.get("/style/").status_code == 404
    settings.DEBUG = True
    page = member.get("/style/").content.decode()
    names = [token.name for group in read_tokens(TOKENS_PATH.read_text()) for token in group.tokens]
    assert len(names) > 100
    assert [name for name in names if f"<code>{name}</code>" not in page] == []
    for class_name in ("segmented", "skeleton", "facet is-set", "tag is-slower", "menu", "list", "stack", "said-line"):
        assert f'class="{class_name}' in page or f" {class_name}" in page


@pytest.mark.e2e
@pytest.mark.slow(10)
@pytest.mark.django_db(transaction=True)
def test_its_parts_can_be_read_in_both_themes_and_narrow(
    live_server: LiveServer, member: Client, settings: Settings
) -> None:
    settings.DEBUG = True
    session = member.cookies["sessionid"].value
    with lend_chromium() as browser, open_page(browser) as page:
        page.context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page.goto(f"{live_server.url}/style/")
        expect(page.get_by_role("heading", name="Style")).to_be_visible()
        looks: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1440), ("dark", 1440), ("light", 390))
        for scheme, width in looks:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": 900})
            save_screenshot(page, f"style-{scheme}-{width}")
            assert find_violations(page, COLOURS) == []
            assert page.evaluate("document.documentElement.scrollWidth") == width
