"""Highlighted sources: each line stays a line, in the language that symbolication sees."""

import pytest

from dashboard.pages.function.highlighting import highlight_lines
from profcore.symbolicate.languages import LANGUAGES


@pytest.mark.parametrize("ending", [*LANGUAGES, "unheard-of"])
def test_lines_of_each_language_stay_lines(ending: str) -> None:
    lines = ["sum = (rows) -> `a", "  # <b> \u2028 é", "", "fun click() { /* x", '*/ "', ""]
    highlighted = highlight_lines(lines, f"src/a.{ending}")
    assert len(highlighted) == len(lines)
    assert "<b>" not in "".join(highlighted)


def test_a_line_is_highlighted_in_its_language() -> None:
    for path, line, mark in (("a.coffee", "# note", "c1"), ("a.js", "// note", "c1"), ("a.kt", "fun f() = 1", "kd")):
        assert f'class="hl-{mark}' in highlight_lines([line], path)[0]
