"""Hostile maps and sources give only labels or a `MapError`."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from profcore.symbolicate.builds import InlineMapError, pair_files, read_bundle
from profcore.symbolicate.labels import label_positions
from profcore.symbolicate.maps import MapError, read_map, read_map_debug_id
from profcore.symbolicate.paths import source_path
from profcore.symbolicate.scopes import read_scopes
from tests.source_map_writer import write_mappings

WORDS = "function class get set static async export default import const in => ... ${ /*"
PIECES = st.sampled_from([*WORDS.split(), *"(){}[],;:?=.`<>/\"'#@*ab1🎈é\n\r"])
SOURCES = st.lists(PIECES, max_size=60).map(" ".join)
NAMES = st.sampled_from(
    ["a.js", "../b.ts", "webpack://x/./c.tsx?1", "d.vue", "e.coffee", "f.html", "", "\0", "\ud83c", "..", "C:\\e.js"]
)
NUMBERS = st.integers(0, 12)
SEGMENTS = st.lists(st.tuples(NUMBERS, NUMBERS, st.just(0), NUMBERS, NUMBERS), max_size=20).map(sorted)
FIELDS = st.sampled_from(
    ["version", "sources", "sourcesContent", "mappings", "names", "sections", "offset", "map", "line", "column", "url"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_map_or_refused(content: bytes) -> None:
    read_map_debug_id(content)
    with suppress(MapError):
        read_map(content)


@given(JUNK)
def test_any_json_is_a_map_or_refused(wire: Any) -> None:
    for fields in (wire, {"version": 3, **wire} if isinstance(wire, dict) else wire):
        try:
            source_map = read_map(json.dumps(fields).encode())
        except MapError:
            continue
        assert len(source_map.sources) == len(source_map.contents)
        source_map.find([(1, 1)])


@given(SOURCES, st.integers(-1, 6), st.integers(-1, 80), NAMES)
def test_any_source_has_a_function_at_a_position_or_none(text: str, line: int, column: int, name: str) -> None:
    scopes = read_scopes(text, name)
    assert scopes is not None or name not in ("a.js", "../b.ts", "webpack://x/./c.tsx", "C:\\e.js")
    function = None if scopes is None else scopes.find(line, column)
    if function is not None and function.name_at is not None:
        assert function.key is not None
        assert min(function.name_at) >= 1


@given(SOURCES, SOURCES, SEGMENTS, NAMES, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=10), st.booleans())
def test_any_map_and_bundle_label_every_position(
    text: str, bundle: str, segments: list[Any], name: str, positions: list[tuple[int, int]], has_content: bool
) -> None:
    wire: dict[str, Any] = {"version": 3, "sources": [name], "names": ["n"], "mappings": write_mappings(segments)}
    if has_content:
        wire["sourcesContent"] = [text]
    source_map = read_map(json.dumps(wire).encode())
    labels = label_positions(source_map, positions, file="assets/main.js", bundle=bundle.encode())
    assert len(labels) == len(positions)
    assert [label is None for label in labels] == [place is None for place in source_map.find(positions)]


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_name_has_a_path_without_ways_out(name: str, file: str) -> None:
    assert ".." not in source_path(name, file).split("/")


@given(st.binary(max_size=80))
def test_any_bundle_tells_of_a_map_or_of_none(tail: bytes) -> None:
    for content in (tail, b"f()\n//# sourceMappingURL=" + tail, b"//# sourceMappingURL=data:;base64," + tail):
        try:
            comments = read_bundle(content)
        except InlineMapError:
            continue
        pair_files({"a/b.js": comments}, {"a/b.js.map": None})
