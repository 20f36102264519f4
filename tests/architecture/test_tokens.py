"""Colours have one place: layout/tokens.css. Other style sheets name them."""

import re
from typing import Final

from tests.architecture.tree import ROOT, list_files

TOKENS: Final = "dashboard/static/dashboard/layout/tokens.css"
COLOUR: Final = re.compile(r"(?<![\w-])(?:#[0-9a-fA-F]{3,8}\b|(?:rgb|hsl|oklch|oklab|lab|lch|hwb)a?\()")
DEFINED: Final = re.compile(r"(--[\w-]+)\s*:")
USED: Final = re.compile(r"var\((--[\w-]+)")
COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)


def list_styles() -> dict[str, str]:
    """Returns the text of each style sheet of ours, without comments, by its path."""
    paths = [path for path in list_files(".css") if path.startswith("dashboard/static/") and "/vendor/" not in path]
    return {path: COMMENT.sub("", (ROOT / path).read_text(encoding="utf-8")) for path in paths}


def test_no_other_style_sheet_has_a_colour() -> None:
    rules = {
        path: [line.strip() for line in text.splitlines() if COLOUR.search(re.sub(r"#[\w-]+(?=[^;]*\{)", "", line))]
        for path, text in list_styles().items()
        if path != TOKENS
    }
    assert len(rules) > 10
    assert {path: lines for path, lines in rules.items() if lines} == {}


def test_every_token_that_a_style_sheet_names_exists() -> None:
    styles = list_styles()
    defined = {name for text in styles.values() for name in DEFINED.findall(text)}
    assert {path: missing for path, text in styles.items() if (missing := set(USED.findall(text)) - defined)} == {}


def test_both_themes_have_the_same_colours() -> None:
    light, dark = list_styles()[TOKENS].split("@media", 1)
    values = dict(re.findall(r"(--[\w-]+)\s*:\s*([^;]+);", light))
    colours = {name for name, value in values.items() if COLOUR.search(value)}
    assert colours == set(DEFINED.findall(dark))


def test_no_other_style_sheet_has_a_font_size() -> None:
    by_sheet = {
        path: re.findall(r"font(?:-size)?: [\d.]+px", text) for path, text in list_styles().items() if path != TOKENS
    }
    assert {path: sizes for path, sizes in by_sheet.items() if sizes} == {}
