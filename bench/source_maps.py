"""Source maps written by hand, and builds of many functions, for benchmarks and tests."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from aggregate.sourcemaps.archives import BuildFile

DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

FUNCS_A_SOURCE: Final = 50


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


def make_script(number: int, funcs: int) -> tuple[bytes, bytes, list[int]]:
    """Returns a bundle of so many functions on one line, its map with all sources, and their columns from 1."""
    pieces: list[str] = []
    segments: list[tuple[int, ...]] = []
    columns = []
    at = 0
    for index in range(funcs):
        source, line = index // FUNCS_A_SOURCE, index % FUNCS_A_SOURCE * 4
        code = f"function f{index}(a,b){{return a.map(c=>c*{index}+b)}}"
        head = len(f"function f{index}")
        segments += [
            (0, at, source, line, 7),
            (0, at + len("function "), source, line, 16, index),
            (0, at + head, source, line, 16 + len(f"compute{index}")),
            (0, at + code.index("c=>"), source, line + 1, 22),
        ]
        columns.append(at + head + 1)
        pieces.append(code)
        at += len(code)
    sources = [f"../src/module{number}/part{part}.js" for part in range(-(-funcs // FUNCS_A_SOURCE))]
    contents = [
        "".join(
            f"export function compute{index}(rows, plus) {{\n  return rows.map((row) => row * {index} + plus);\n}}\n\n"
            for index in range(part * FUNCS_A_SOURCE, min(funcs, (part + 1) * FUNCS_A_SOURCE))
        )
        for part in range(len(sources))
    ]
    names = [f"compute{index}" for index in range(funcs)]
    bundle = "".join(pieces) + f"\n//# sourceMappingURL=script{number}.js.map\n"
    return bundle.encode(), write_map(segments, sources, sourcesContent=contents, names=names), columns


def make_build(scripts: int, funcs: int) -> tuple[list[BuildFile], list[tuple[str, int]]]:
    """Returns the files of a build, and (path, column) of each function in it; `funcs` are those of one script."""
    files: list[BuildFile] = []
    places: list[tuple[str, int]] = []
    for number in range(scripts):
        bundle, source_map, columns = make_script(number, funcs)
        path = f"script{number}.js"
        for name, content in ((path, bundle), (path + ".map", source_map)):
            files.append(BuildFile(name, len(content), partial(bytes, content)))
        places += [(path, column) for column in columns]
    return files, places
