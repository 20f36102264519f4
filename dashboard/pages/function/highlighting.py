"""Source text as HTML, highlighted by Pygments with classes: the pages' policy allows no inline styles."""

from collections.abc import Sequence
from typing import Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name

from dashboard.templatetags.figures import visible
from profcore.symbolicate.languages import language_of

FORMATTER: Final = HtmlFormatter(nowrap=True, classprefix="hl-")


def highlight_lines(lines: Sequence[str], path: str) -> list[SafeString]:
    """Returns lines of a source as HTML, each by itself; control and direction characters are made visible.

    The language is that of the path (`language_of`). Text that is not of this language stays plain.
    """
    visible_lines = [visible(line.replace("\t", "    ")) for line in lines]
    html = highlight("\n".join(visible_lines), _lexer_of(path), FORMATTER).split("\n")[: len(visible_lines)]
    if len(html) != len(visible_lines):
        html = [escape(line) for line in visible_lines]
    return [mark_safe(line) for line in html]  # noqa: S308  # Pygments escapes what it is given; so does `escape`


def _lexer_of(path: str) -> Lexer:
    return get_lexer_by_name(language_of(path).name, stripnl=False, ensurenl=True)
