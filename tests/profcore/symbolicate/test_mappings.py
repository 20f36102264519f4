"""Decoding mappings: any segments are read back as they were written, and an error names the place of a bad one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.symbolicate.mappings import STRETCH_BYTES, MappingsError, decode_mappings
from tests.source_map_writer import vlq, write_mappings

numbers = st.integers(0, 2**31 - 2)
segments = st.one_of(
    st.tuples(st.integers(0, 5), numbers),
    st.tuples(st.integers(0, 5), numbers, st.integers(0, 3), numbers, numbers),
    st.tuples(st.integers(0, 5), numbers, st.integers(0, 3), numbers, numbers, st.integers(0, 4)),
)
SOURCES = 4
NAMES = 5


def decode(text: str, stretch_bytes: int = STRETCH_BYTES) -> list[tuple[int, ...]]:
    columns = decode_mappings(text, sources=SOURCES, names=NAMES, stretch_bytes=stretch_bytes).columns()
    return [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]


def padded(segment: tuple[int, ...]) -> tuple[int, ...]:
    return (*segment, *(-1,) * (6 - len(segment)))


@given(st.lists(segments, max_size=40), st.integers(36, 200))
def test_segments_come_back_as_they_were_written(rows: list[tuple[int, ...]], stretch: int) -> None:
    rows.sort(key=lambda row: row[:2])
    assert decode(write_mappings(rows), stretch) == [padded(row) for row in rows]


def test_a_line_in_disorder_is_put_in_order() -> None:
    rows = [(0, 9, 0, 1, 1), (0, 3, 0, 2, 2), (1, 0, 1, 0, 0)]
    assert decode(write_mappings(rows)) == [padded(row) for row in sorted(rows)]


def test_empty_lines_and_segments_are_nothing() -> None:
    assert decode(";;,,AAAA,;") == [(2, 0, 0, 0, 0, -1)]
    assert decode("") == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("AAAA;AAAA,A!AA", "line 2, segment 2"),
        ("AAAA,AÄ", "line 1, segment 2"),
        (";AAAA,AA", "line 2, segment 2"),
        ("AAAAAA", "line 1, segment 1"),
        (";;AAAg", "line 3, segment 1"),
        ("AAAA,AAAA;" + "gggggggg" + "A", "line 2, segment 1"),
        ("AAAA," + vlq(-1) + "AAA", "line 1, segment 2"),
        ("A" + vlq(SOURCES) + "AA", "line 1, segment 1"),
        ("A" + vlq(-1) + "AA", "line 1, segment 1"),
        (";AA" + vlq(-4) + "A", "line 2, segment 1"),
        ("AAA" + vlq(-4), "line 1, segment 1"),
        ("AAAA" + vlq(NAMES), "line 1, segment 1"),
        (vlq(2**31 - 2) + ",C,C,C", "line 1, segment 2"),
    ],
)
@pytest.mark.parametrize("before", ["", "AAAA,AAAA,AAAA;" * 20])
def test_a_bad_segment_is_named_by_its_place(text: str, place: str, before: str) -> None:
    line, _, segment = place.removeprefix("line ").partition(", ")
    wanted = f"line {int(line) + before.count(';')}, {segment}:"
    with pytest.raises(MappingsError, match=wanted):
        decode(before + text, 64)


@given(st.text(alphabet="ABCgh+/,;", max_size=200), st.integers(36, 80))
def test_any_text_is_decoded_or_refused(text: str, stretch: int) -> None:
    try:
        rows = decode(text, stretch)
    except MappingsError:
        return
    assert rows == sorted(rows, key=lambda row: row[:2])
