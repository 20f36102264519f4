"""Source text as HTML, highlighted by Pygments with classes: the pages' policy allows no inline styles."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name

from dashboard.templatetags.figures import visible
from profcore.symbolicate.languages import language_of

# Some lexers take time in proportion to the square of a text: two seconds for 24 kB of `<?`. So longer texts are
# highlighted line by line, which costs the colours of what spans lines. A character may be a token of 25 µs: what comes
# after so many characters stays plain.
WHOLE_MAX_CHARS: Final = 6_000
MOST_CHARS: Final = 12_000
FORMATTER: Final = HtmlFormatter(nowrap=True, classprefix="hl-")


def highlight_lines(lines: Sequence[str], path: str) -> list[SafeString]:
    """Returns lines of a source as HTML, each by itself; control and direction characters are made visible.

    The language is that of the path (`language_of`). Text that is not of this language stays plain.
    """
    visible_lines = [visible(line.replace("\t", "    ")) for line in lines]
    lexer = _lexer_of(path)
    if sum(map(len, visible_lines)) <= WHOLE_MAX_CHARS:
        html = highlight("\n".join(visible_lines), lexer, FORMATTER).split("\n")[: len(visible_lines)]
    else:
        lengths = accumulate(map(len, visible_lines))
        html = [
            highlight(line, lexer, FORMATTER).removesuffix("\n") if end <= MOST_CHARS else escape(line)
            for line, end in zip(visible_lines, lengths, strict=True)
        ]
    if len(html) != len(visible_lines):
        html = [escape(line) for line in visible_lines]
    return [mark_safe(line) for line in html]  # noqa: S308  # Pygments escapes what it is given; so does `escape`


def _lexer_of(path: str) -> Lexer:
    return get_lexer_by_name(language_of(path).name, stripnl=False, ensurenl=True)
