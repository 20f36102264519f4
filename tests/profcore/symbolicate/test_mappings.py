"""Decoding mappings: segments are read back as they were written, impossible ones are dropped, errors name a place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.symbolicate.mappings import STRETCH_BYTES, MappingsError, decode_mappings
from tests.source_map_writer import vlq, write_mappings

numbers = st.integers(0, 2**31 - 1)
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


LARGE = vlq(2**31 - 1)
# Segments of which one is impossible, and what is left of them. The differences after it count from it.
IMPOSSIBLE = [
    ("AAAA,A" + vlq(SOURCES) + "AA,CAAA,C" + vlq(-1) + "AA", "0:0>0 0:0> 0:1> 0:2>3"),
    ("AAAA,A" + vlq(-1) + "AA,C" + vlq(2) + "AA", "0:0>0 0:0> 0:1>1"),
    ("A" + vlq(SOURCES) + "AA", "0:0>"),
    ("AA" + vlq(-4) + "A;CA" + vlq(4) + "A", "0:0> 1:1>0"),
    ("AAA" + vlq(-4) + ",CAA" + vlq(4), "0:0> 0:1>0"),
    ("AAAA" + vlq(NAMES) + ",CAAAA,CAAA" + vlq(-1), "0:0>0 0:1>0 0:2>0=4"),
    ("AAAA" + vlq(-1) + ",CAAAC", "0:0>0 0:1>0=0"),
    ("CAAA," + vlq(-2) + "CAA,CAAA,CAAA;AAAA", "0:0>1 0:1>0 0:1>1 1:0>1"),
    (LARGE + ",C," + vlq(-1), f"0:{2**31 - 1}> 0:{2**31 - 1}>"),
    ("AA" + LARGE + "A,CACA,CA" + vlq(-1) + "A", "0:0>0 0:1> 0:2>0"),
    ("AA,CAAA,CAA,CAAAAA,CAAACAAAA", "0:0> 0:1>0 0:2> 0:3>0=0 0:4>0=1"),
]


@pytest.mark.parametrize(("text", "left"), IMPOSSIBLE)
@pytest.mark.parametrize("stretch", [4, 9, STRETCH_BYTES])
def test_an_impossible_segment_is_dropped_and_the_others_count(text: str, left: str, stretch: int) -> None:
    rows = [
        f"{line}:{column}>{source if source >= 0 else ''}{f'={name}' if name >= 0 else ''}"
        for line, column, source, _, _, name in decode(text, stretch)
    ]
    assert " ".join(rows) == left


def test_a_number_may_have_any_length() -> None:
    zero = "g" * 300 + "A"
    assert decode(f"{zero}A{zero}C,C") == decode("AAAC,C")
    assert decode(f"i{zero}AAA") == decode("CAAA")
    assert decode(f"AAAA,{zero}AAA,{zero};AAAA", 40) == decode("AAAA,AAAA,A;AAAA")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("AAAA;AAAA,A!AA", "line 2, segment 2"),
        ("AAAA,AÄ", "line 1, segment 2"),
        (";;AAAg", "line 3, segment 1"),
        ("AAAA,AAAA;" + "ggggggg" + "E", "line 2, segment 1"),
        ("AAAA,AAAA;" + "ggggggg" + "gggggggC", "line 2, segment 1"),
        ("A," + vlq(2**31), "line 1, segment 2"),
        ("A," + vlq(-(2**31)), "line 1, segment 2"),
        (";AAA" + vlq(2**35), "line 2, segment 1"),
    ],
)
@pytest.mark.parametrize("before", ["", "AAAA,AAAA,AAAA;" * 20])
def test_a_segment_that_cannot_be_read_is_named_by_its_place(text: str, place: str, before: str) -> None:
    line, _, segment = place.removeprefix("line ").partition(", ")
    wanted = f"line {int(line) + before.count(';')}, {segment}:"
    with pytest.raises(MappingsError, match=wanted):
        decode(before + text, 64)


@given(st.text(alphabet="ABCDFgh+/,;", max_size=200), st.integers(4, 80))
def test_any_text_is_decoded_or_refused_and_parts_make_no_difference(text: str, stretch: int) -> None:
    try:
        rows = decode(text)
    except MappingsError as error:
        with pytest.raises(MappingsError, match=str(error).partition(":")[0]):
            decode(text, stretch)
        return
    assert rows == sorted(rows, key=lambda row: row[:2])
    assert rows == decode(text, stretch)
    assert all(0 <= row[1] < 2**31 and row[2] < SOURCES and row[5] < NAMES for row in rows)
