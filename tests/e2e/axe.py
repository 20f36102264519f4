"""Accessibility of a page as axe-core sees it in a real browser; `./test` installs it into tests/node."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.format_judges import MODULES

AXE = MODULES / "axe-core" / "axe.min.js"
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


def find_violations(page: Page) -> list[str]:
    """Returns what axe finds wrong on a page, a line a rule and element. Skips the test where axe is missing."""
    if not AXE.exists():
        pytest.skip("axe-core is missing: `./test` installs it into tests/node")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    run = "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})"
    found: dict[str, Any] = page.evaluate(run, list(RULES))
    return [f"{each['id']}: {node['html'][:200]}" for each in found["violations"] for node in each["nodes"]]
