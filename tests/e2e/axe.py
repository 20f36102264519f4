"""Accessibility of a page as axe-core sees it in a real browser; `./test` installs it into tests/node."""

from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.format_judges import MODULES

AXE = MODULES / "axe-core" / "axe.min.js"
RULES = {"type": "tag", "values": ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")}
# Those of these rules that ask for colours: all that another theme can break.
COLOUR_RULES = {"type": "rule", "values": ("color-contrast", "link-in-text-block")}
# Of what passes it tells no details then: half of its time.
RUN = "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})"


def find_violations(page: Page, rules: Mapping[str, object] = RULES) -> list[str]:
    """Returns what axe finds wrong on a page, a line a rule and element. Skips the test where axe is missing."""
    if not AXE.exists():
        pytest.skip("axe-core is missing: `./test` installs it into tests/node")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    report: dict[str, Any] = page.evaluate(RUN, rules)
    return [
        f"{violation['id']}: {node['html'][:200]}" for violation in report["violations"] for node in violation["nodes"]
    ]
