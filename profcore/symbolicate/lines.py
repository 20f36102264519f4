"""Lines and columns as ECMAScript counts them, and so do browsers and generators of source maps.

A line ends with LF, CR, CR and LF together, U+2028 or U+2029 (ECMA-262, 12.3), also within strings and comments.
Columns count UTF-16 units. So a source has other lines here than in tools that only know LF.
"""

import re
from typing import Final

LINE_END: Final = re.compile("\r\n|[\n\r\u2028\u2029]")
LINE_END_BYTES: Final = re.compile(b"\r\n|[\n\r]|\xe2\x80[\xa8\xa9]")  # the same in UTF-8
NOT_LINE_END: Final = re.compile("[^\n\r\u2028\u2029]+")


def split_lines(text: str) -> list[str]:
    """Returns the lines of a text without their ends; at least one."""
    return LINE_END.split(text)


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
