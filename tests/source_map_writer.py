"""Source maps written by hand."""

import json
from collections.abc import Sequence
from typing import Any, Final

DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def vlq(number: int) -> str:
    """Returns one number in the form of the format."""
    rest = (-number << 1 | 1) if number < 0 else number << 1
    text = ""
    while True:
        rest, digit = rest >> 5, rest & 31
        text += DIGITS[digit | (32 if rest else 0)]
        if not rest:
            return text


def write_mappings(segments: Sequence[tuple[int, ...]]) -> str:
    """Returns the mappings of segments (line, column[, source, source line, source column[, name]]), all from 0."""
    lines: dict[int, list[str]] = {}
    before = [0, 0, 0, 0]
    last_line, column = 0, 0
    for line, *fields in segments:
        if line != last_line:
            last_line, column = line, 0
        numbers = [fields[0] - column]
        column = fields[0]
        for index, value in enumerate(fields[1:]):
            numbers.append(value - before[index])
            before[index] = value
        lines.setdefault(line, []).append("".join(vlq(number) for number in numbers))
    return ";".join(",".join(lines.get(line, [])) for line in range(max(lines, default=-1) + 1))


def write_map(segments: Sequence[tuple[int, ...]], sources: list[str], **fields: Any) -> bytes:
    """Returns a map with one or more sources, and other fields as they are given."""
    wire = {"version": 3, "sources": sources, "mappings": write_mappings(segments), **fields}
    return json.dumps(wire).encode()
