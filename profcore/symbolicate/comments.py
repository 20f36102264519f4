"""The comments at the end of a script that name its source map and its debug id, by ECMA-426 "without parsing".

Such a comment is `//# sourceMappingURL=…`, `//@ …` or `/*# … */`, with only white space and comments after it. So a
string or a template that contains such text names no map: its end follows.
"""

import re
from collections.abc import Mapping
from typing import Final

from profcore.symbolicate.lines import SEPARATOR

WHITE: Final = re.compile("[\\s\ufeff]*")
NAMED: Final = re.compile("[#@]\\s*(sourceMappingURL|debugId)=([^\\s\ufeff'\"`]+)[\\s\ufeff]*")
OPENINGS: Final = ("//#", "//@", "/*#", "/*@")
QUOTES: Final = re.compile("['\"`]")


def read_comments(content: bytes) -> Mapping[str, str]:
    """Returns the values of `sourceMappingURL` and `debugId` at a script's end, as far as it has them; the last counts.

    Lines are read from the last one up to the first with code. That takes linear time for any text.
    """
    text = SEPARATOR.sub(b"\n", content.replace(b"\r", b"\n"))
    values: dict[str, str] = {}
    end = len(text)
    while end >= 0:
        start = text.rfind(b"\n", 0, end) + 1
        line = text[start:end].decode("utf-8", "replace")
        comments, code_at = _split(line)
        end = start - 1
        if code_at is not None:
            close = line.find("*/", code_at)
            opening = -1 if close < 0 or line.find("/*", 0, close) >= 0 else _find_opening(text, start)
            comments, code_at = _split(line, close + 2) if opening >= 0 else ([_find_last(line)], code_at)
            end = opening if code_at is None else -1
        for comment in reversed(comments):
            if match := NAMED.fullmatch(comment):
                values.setdefault(match[1], match[2])
    return values


def _split(line: str, start: int = 0) -> tuple[list[str], int | None]:
    """Returns the comments that a line has before any code, and where its code begins, None if it has none."""
    comments: list[str] = []
    at = start
    while True:
        white = WHITE.match(line, at)
        assert white is not None  # the pattern matches any text
        at = white.end()
        if at == len(line):
            return comments, None
        opening = line[at : at + 2]
        if opening == "//":
            return [*comments, line[at + 2 :]], None
        if opening != "/*":
            return comments, at
        end = line.find("*/", at + 2)
        if end < 0:  # it ends on a later line
            return comments, None
        comments.append(line[at + 2 : end])
        at = end + 2


def _find_opening(text: bytes, start: int) -> int:
    """Returns where the comment begins that a line ends, whose start is given; -1 if there is none."""
    opening = text.rfind(b"/*", 0, start)
    return opening if opening >= 0 and text.find(b"*/", opening + 2, start) < 0 else -1


def _find_last(line: str) -> str:
    """Returns the comment that ends a line with code, "" if there is none that names something."""
    line = line.rstrip(" \t\v\f\u00a0\ufeff")
    begin = max(line.rfind(opening) for opening in OPENINGS)
    if begin < 0:
        return ""
    before = max(line.rfind("//", 0, begin), line.rfind("/*", 0, begin))
    between = line[before:begin]
    # An earlier `//` or `/*` is that of the comment, unless it is in a string, or is a comment that has ended.
    if before >= 0 and not QUOTES.search(between) and not (between[1] == "*" and "*/" in between[2:]):
        return ""
    if line[begin + 1] == "/":
        return line[begin + 2 :]
    return line[begin + 2 : -2] if line.endswith("*/") else ""
