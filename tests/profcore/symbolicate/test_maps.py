"""Reading source maps: required fields, index maps, and hostile maps, each refused with a path."""

import json
from typing import Any
from uuid import UUID

import pytest

from profcore.symbolicate.maps import MapError, MapPlace, read_map, read_map_debug_id
from tests.source_map_writer import write_map, write_mappings

ID = "85314830-023f-4cf1-a267-535f4e37bb17"


def test_a_position_belongs_to_the_last_segment_before_it_on_its_line() -> None:
    source_map = read_map(
        write_map([(0, 4, 0, 10, 2), (0, 9, 1, 20, 0, 0), (2, 0, 0, 0, 0)], ["a.js", "b.js"], names=["n"])
    )
    asked = [(1, 4), (1, 5), (1, 9), (1, 10), (1, 4_000), (2, 1), (3, 1), (4, 1), (0, 0), (1, 2**40)]
    assert source_map.find(asked) == [
        None,
        MapPlace(0, 11, 3, None),
        MapPlace(0, 11, 3, None),
        MapPlace(1, 21, 1, "n"),
        MapPlace(1, 21, 1, "n"),
        None,
        MapPlace(0, 1, 1, None),
        None,
        None,
        None,
    ]


def test_a_segment_without_a_source_maps_to_nothing() -> None:
    source_map = read_map(write_map([(0, 0, 0, 0, 0), (0, 5)], ["a.js"]))
    assert source_map.find([(1, 5), (1, 6)]) == [MapPlace(0, 1, 1, None), None]
    assert read_map(write_map([(0, 0, 0, 0, 0)], [None])).find([(1, 1)]) == [None]  # type: ignore[list-item]  # legal


def test_an_exact_find_takes_no_neighbour() -> None:
    source_map = read_map(write_map([(0, 4, 0, 10, 2)], ["a.js"]))
    assert source_map.find_exactly(1, 5) == MapPlace(0, 11, 3, None)
    assert source_map.find_exactly(1, 6) is None


def test_an_index_map_is_laid_out_flat() -> None:
    sections = [
        (0, 0, [(0, 0, 0, 0, 0), (0, 50, 0, 9, 9)], "a.js"),
        (0, 20, [(0, 0, 0, 1, 0, 0), (1, 3, 0, 2, 0)], "b.js"),
        (7, 0, [(0, 2, 0, 3, 0)], "c.js"),
    ]
    wire = {
        "version": 3,
        "sections": [
            {
                "offset": {"line": line, "column": column},
                "map": {
                    "version": 3,
                    "sources": [name],
                    "sourcesContent": [f"// {name}"],
                    "names": [f"of {name}"],
                    "mappings": write_mappings(rows),  # type: ignore[arg-type]  # rows of unlike length
                },
            }
            for line, column, rows, name in sections
        ],
    }
    source_map = read_map(json.dumps(wire).encode())
    assert source_map.sources == ["a.js", "b.js", "c.js"]
    assert source_map.contents == ["// a.js", "// b.js", "// c.js"]
    # Columns count from the section's start only on its first line; a section ends where the next begins.
    assert source_map.find([(1, 1), (1, 21), (1, 51), (2, 4), (8, 3), (8, 1)]) == [
        MapPlace(0, 1, 1, None),
        MapPlace(1, 2, 1, "of b.js"),
        MapPlace(1, 2, 1, "of b.js"),
        MapPlace(1, 3, 1, None),
        MapPlace(2, 4, 1, None),
        None,
    ]


def test_the_root_stands_before_sources() -> None:
    assert read_map(write_map([], ["a.js", "b.js"], sourceRoot="src")).sources == ["src/a.js", "src/b.js"]


@pytest.mark.parametrize("key", ["debugId", "debug_id"])
def test_either_key_gives_the_debug_id(key: str) -> None:
    content = write_map([], [], **{key: ID})
    assert read_map(content).debug_id == UUID(ID)
    assert read_map_debug_id(content) == UUID(ID)


def test_a_prefix_against_inclusion_and_a_byte_order_mark_are_skipped() -> None:
    content = write_map([(0, 0, 0, 0, 0)], ["a.js"])
    assert read_map(b")]}'\n" + content).sources == ["a.js"]
    assert read_map(b"\xef\xbb\xbf" + content).sources == ["a.js"]


def hostile(**fields: Any) -> bytes:
    return json.dumps({"version": 3, "sources": ["a.js"], "mappings": "", **fields}).encode()


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (b"", r"\$"),
        (b"{", r"\$"),
        (b"[]", r"\$"),
        (b"\xff\xfe", r"\$"),
        (b'{"version": 3, "sources": ["\xff"], "mappings": ""}', r"\$"),
        (hostile(version=2), r"\$\.version"),
        (hostile(mappings=[]), r"\$\.mappings"),
        (hostile(version="3foo"), r"\$\.version"),
        (hostile(version="x" * 100_000), r"\$\.version: version x{20} is not 3\.$"),
        (hostile(sources="a.js"), r"\$\.sources"),
        (hostile(mappings="AAAA;A!AA"), r"\$\.mappings: line 2, segment 1"),
        (b'{"version": 3, "mappings": ""}', r"\$\.sources"),
        (b'{"version": 3, "sources": []}', r"\$\.mappings"),
        (hostile(sections=[{"offset": {"line": 0, "column": -1}}]), r"\$\.sections\[0\]\.offset"),
        (hostile(sections=[{"offset": {"line": 2**40, "column": 0}}]), r"\$\.sections\[0\]\.offset"),
        (hostile(sections=[{"offset": {"line": 0, "column": 0}, "url": "b.map"}]), r"\$\.sections\[0\]\.map"),
        (
            hostile(sections=[{"offset": {"line": 0, "column": 0}, "map": {"version": 3, "sections": []}}]),
            r"\$\.sections\[0\]\.map\.mappings",
        ),
        (b'{"version": 3, "x": ' + b"[" * 100_000, r"\$"),
        (b'{"sections": ' + b'[{"offset": {"line": 0, "column": 0}, "map": {"sections": ' * 5_000, r"\$"),
    ],
)
def test_a_hostile_map_is_refused_with_a_path(content: bytes, path: str) -> None:
    with pytest.raises(MapError, match=f"^{path}"):
        read_map(content)


def test_sections_come_in_the_order_of_their_offsets() -> None:
    section = {"offset": {"line": 0, "column": 0}, "map": {"version": 3, "sources": [], "mappings": ""}}
    with pytest.raises(MapError, match=r"^\$\.sections\[1\]\.offset"):
        read_map(hostile(sections=[section, section]))


def test_one_odd_value_leaves_the_others() -> None:
    odd = hostile(
        version="3",
        sources=["a.js", 7, {}, None],
        sourcesContent=["a", 7, ["b"]],
        sourceRoot=["root"],
        names=["n", 1223, None, "m"],
        mappings=write_mappings([(0, 0, 0, 0, 0, 0), (0, 1, 1, 0, 0, 1), (0, 2, 0, 0, 0, 1), (0, 3, 0, 0, 0, 3)]),
        file=7,
        ignoreList="none",
    )
    source_map = read_map(odd)
    assert (source_map.sources, source_map.contents) == (["a.js", None, None, None], ["a", None, None, None])
    names = [place and place.name for place in source_map.find([(1, 1), (1, 2), (1, 3), (1, 4)])]
    assert names == ["n", None, None, "m"]
    for fields in ({"names": "n"}, {"names": {"n": 1}}, {"sourcesContent": "a"}, {"sourceRoot": 1}):
        assert read_map(hostile(mappings="AAAA", **fields)).find([(1, 1)]) == [MapPlace(0, 1, 1, None)]


def test_the_largest_numbers_of_the_format_are_read() -> None:
    largest = 2**31 - 1
    source_map = read_map(write_map([(0, 5, 0, largest, largest), (0, largest, 0, 0, 0)], ["a.js"]))
    # Counted from 1 they would not fit the columns of labels.
    assert source_map.find([(1, 6), (1, 2**31)]) == [MapPlace(0, largest, largest, None), MapPlace(0, 1, 1, None)]


def test_segments_beyond_the_largest_column_of_a_moved_section_are_dropped() -> None:
    rows = [(0, 0, 0, 0, 0), (0, 2**31 - 1, 0, 1, 0), (1, 2**31 - 1, 0, 2, 0)]
    sections = [
        {
            "offset": {"line": 2**30, "column": 2**30},
            "map": {"version": 3, "sources": ["a.js"], "mappings": write_mappings(rows)},
        }
    ]
    source_map = read_map(hostile(sections=sections))
    assert source_map.segments.column.tolist() == [2**30, 2**31 - 1]
    assert source_map.segments.line.tolist() == [2**30, 2**30 + 1]


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        (rb"a\ud83d", "a\ufffd"),
        (rb"\uDE00b", "\ufffdb"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\ud83d\n\ude00", "\ufffd\n\ufffd"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\\\\ud83d\ud83d", "\\\\ud83d\ufffd"),
        (b"a\xed\xa0\xbdb\\ud83d", "a\ufffdb\ufffd"),
    ],
)
def test_half_a_surrogate_pair_is_a_replacement_character(wire: bytes, text: str) -> None:
    content = b'{"version":3,"mappings":"AAAAA","sources":["%s"],"names":["%s"],"sourcesContent":["%s"],"debugId":"%s"}'
    source_map = read_map(content % (wire, wire, wire, ID.encode()))
    assert [*source_map.sources, *source_map.contents, *source_map.names] == [text] * 3
    assert read_map_debug_id(content % (wire, wire, wire, ID.encode())) == UUID(ID)
