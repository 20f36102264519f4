"""Lines and columns as ECMAScript counts them, and so do browsers and generators of source maps.

A line ends with LF, CR, CR and LF together, U+2028 or U+2029 (ECMA-262, 12.3), also within strings and comments.
Columns count UTF-16 units. So a source has other lines here than in tools that only know LF.
"""

import re
from itertools import islice
from typing import Final

LINE_END: Final = re.compile("\r\n|[\n\r\u2028\u2029]")
LINE_END_BYTES: Final = re.compile(b"\r\n|[\n\r]|\xe2\x80[\xa8\xa9]")  # the same in UTF-8
SEPARATOR: Final = re.compile(b"\xe2\x80[\xa8\xa9]")  # U+2028 and U+2029 in UTF-8
BLOCK_CHARS: Final = 64 * 1024
NOT_LINE_END: Final = re.compile("[^\n\r\u2028\u2029]+")


def split_lines(text: str) -> list[str]:
    """Returns the lines of a text without their ends; at least one."""
    return LINE_END.split(text)


def count_line_ends(text: str, start: int = 0, end: int | None = None) -> int:
    """Returns the number of line ends in a stretch of a text, which does not end between a CR and its LF."""
    end = len(text) if end is None else end
    ends = sum(text.count(mark, start, end) for mark in "\n\r\u2028\u2029")
    return ends - text.count("\r\n", start, end)


def read_lines(text: str, first: int, count: int) -> tuple[list[str], int]:
    """Returns `count` lines of a text from `first` (from 0) on, and the number of all lines.

    Lines before these are counted in blocks: a text of 20 MB of line ends, split, would take 1.4 GB.
    """
    start, passed = _skip_blocks(text, first)
    ends = LINE_END.finditer(text, start)
    for match in islice(ends, first - passed):
        start, passed = match.end(), passed + 1
    lines: list[str] = []
    while passed == first and len(lines) < count:
        line_end = next(ends, None)
        if line_end is None:
            lines.append(text[start:])
            break
        lines.append(text[start : line_end.start()])
        start = line_end.end()
    return lines, 1 + count_line_ends(text)


def _skip_blocks(text: str, first: int) -> tuple[int, int]:
    """Returns where the last block begins that has fewer line ends before it than `first`, and how many these are."""
    start, passed = 0, 0
    while start < len(text):
        end = min(start + BLOCK_CHARS, len(text))
        if text[end - 1] == "\r" and text[end : end + 1] == "\n":
            end += 1
        ends = count_line_ends(text, start, end)
        if passed + ends >= first:
            break
        start, passed = end, passed + ends
    return start, passed


def find_line_starts(content: bytes) -> list[int]:
    """Returns the first byte of each line of a text in UTF-8."""
    return [0, *(match.end() for match in LINE_END_BYTES.finditer(content))]


def count_units(text: str) -> int:
    """Returns the length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def find_character(line: str, column: int) -> int:
    """Returns the index of the character at a column of a line, which is counted from 1 in UTF-16 units."""
    if line.isascii():
        return min(column - 1, len(line))
    units = line.encode("utf-16-le", "surrogatepass")[: 2 * (column - 1)]
    return len(units.decode("utf-16-le", "ignore"))


def blank(text: str) -> str:
    """Returns a text of spaces with the same lines and columns."""
    return NOT_LINE_END.sub(lambda match: " " * count_units(match[0]), text)
