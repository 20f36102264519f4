"""Source maps by their grammar: written in any of the forms that the format allows, with what each position means.

What a position means is computed from the segments before they are written, so the reader has an independent oracle.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from profcore.symbolicate.mappings import MAX_NUMBER
from profcore.symbolicate.maps import read_map
from tests.hostile.cases import Place, WrittenMapCase
from tests.hostile.edits import pick
from tests.hostile.measuring import check_cpu
from tests.source_map_writer import DIGITS, vlq

NUMBERS: Final = pick([0, 0, 1, 2, 15, 16, 31, 32, 500, 2**20, 2**31 - 1])
LINES: Final = st.integers(0, 6)
HALF: Final = chr(0xD83D)  # of a surrogate pair
NAMES: Final = ("", "a", "<b>", "🎈", HALF, "a\0b", "__proto__", 1_223, None)
SOURCES: Final = ("a.js", "../b.ts", "webpack://x/c.vue?1", "", None, "\u202e.js")
PREFIXES: Final = (b"", b"\xef\xbb\xbf", b")]}'\n", b")]}',x\n", b"\xef\xbb\xbf)]}'\n")


class Drawn(NamedTuple):
    """A segment, all from 0: its place in the bundle and in a source; `name` is an index or none."""

    line: int
    column: int
    source: int
    source_line: int
    source_column: int
    name: int | None


class Form(NamedTuple):
    """How a map is written: longer numbers, empty segments, its start, and how many sections it is cut into."""

    padding: int
    empty: int
    prefix: bytes
    sections: int
    extra: int


SEGMENTS: Final = st.lists(
    st.builds(
        Drawn,
        LINES,
        NUMBERS,
        st.integers(0, len(SOURCES) - 1),
        NUMBERS,
        NUMBERS,
        st.none() | st.integers(0, len(NAMES) - 1),
    ),
    max_size=12,
    unique_by=lambda segment: (segment.line, segment.column),
).map(sorted)
FORMS: Final = st.builds(
    Form, st.integers(0, 2), st.integers(0, 2), pick(PREFIXES), st.integers(0, 3), st.integers(0, 5)
)
EXTRAS: Final[Sequence[dict[str, Any]]] = (
    {},
    {"ignoreList": [0, 99, -1]},
    {"x_google_ignoreList": "all", "file": 1},
    {"debugId": "85314830-023f-4cf1-a267-535f4e37bb17", "names ": [], "\u202e": None},
    {"sourceRoot": None, "sourcesContent": None},
    {"sourcesContent": [None, 5, HALF, "x"]},
)


def pad(number: str, digits: int) -> str:
    """Returns a number in a longer spelling: further digits that are zero."""
    if not digits:
        return number
    last = DIGITS[DIGITS.index(number[-1]) | 32]
    return number[:-1] + last + DIGITS[32] * (digits - 1) + DIGITS[0]


def write_mappings(segments: Sequence[Drawn], form: Form) -> str:
    """Returns segments as mappings, in a form."""
    before = [0, 0, 0, 0]
    lines: list[list[str]] = [[] for _ in range(max((segment.line for segment in segments), default=-1) + 1)]
    columns = [0] * len(lines)
    for line, column, *original in segments:
        numbers = [column - columns[line]]
        columns[line] = column
        for index, value in enumerate(original):
            if value is not None:
                numbers.append(value - before[index])
                before[index] = value
        lines[line] += ["".join(pad(vlq(number), form.padding) for number in numbers), *[""] * form.empty]
    return ";".join(",".join(line) for line in lines)


def write_case(segments: list[Drawn], form: Form) -> WrittenMapCase:
    """Returns the bytes of a map, and what its positions mean."""
    shared = {"sources": list(SOURCES), "names": list(NAMES), **EXTRAS[form.extra]}
    if form.sections:
        cuts = sorted({segment.line for segment in segments})[: form.sections] or [0]
        if cuts[0] != 0:
            cuts = [0, *cuts]
        parts = []
        for first, end in zip(cuts, [*cuts[1:], 2**30], strict=True):
            part = [segment._replace(line=segment.line - first) for segment in segments if first <= segment.line < end]
            parts.append(
                {
                    "offset": {"line": first, "column": 0},
                    "map": {"version": 3, **shared, "mappings": write_mappings(part, form)},
                }
            )
        wire: dict[str, Any] = {"version": 3, "sections": parts}
    else:
        wire = {"version": 3, **shared, "mappings": write_mappings(segments, form)}
    positions = [(s.line + 1, s.column + more) for s in segments for more in (0, 1, 2) if s.column + more < 2**31]
    positions += [(line, 1) for line in range(9)]
    places = [find(segments, line - 1, column - 1) for line, column in positions]
    return WrittenMapCase(form.prefix + json.dumps(wire).encode(), positions, places)


def find(segments: Sequence[Drawn], line: int, column: int) -> Place | None:
    """Returns what a position means by the format: the last segment of its line that begins at or before it."""
    before = [segment for segment in segments if segment.line == line and segment.column <= column]
    if not before:
        return None
    found = max(before, key=lambda segment: segment.column)
    if SOURCES[found.source] is None:
        return None
    name = None if found.name is None else NAMES[found.name]
    return Place(
        SOURCES[found.source],
        min(found.source_line + 1, MAX_NUMBER),  # databases have 32 bits for these, and no source is so long
        min(found.source_column + 1, MAX_NUMBER),
        name.replace(HALF, "\ufffd") if isinstance(name, str) else None,
    )


WRITTEN_MAPS: Final = st.builds(write_case, SEGMENTS, FORMS)


def check_written_map(case: WrittenMapCase) -> None:
    """Reads a map: each position means what its segments say."""
    places: list[Place | None] = []

    def read() -> None:
        source_map = read_map(case.map)
        for place in source_map.find(case.positions):
            places.append(
                None if place is None else Place(source_map.sources[place.source], place.line, place.column, place.name)
            )

    check_cpu(read)
    assert places == case.places
