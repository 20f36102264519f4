"""Lines are those of ECMAScript wherever a position is counted, in sources and in bundles."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.symbolicate.labels import label_positions
from profcore.symbolicate.lines import blank, count_line_ends, find_character, find_line_starts, read_lines, split_lines
from profcore.symbolicate.maps import read_map
from profcore.symbolicate.scopes import ScopeTree, read_scopes
from tests.source_map_writer import write_map

ENDS = {"LF": "\n", "CR": "\r", "CRLF": "\r\n", "U+2028": "\u2028", "U+2029": "\u2029"}
NO_ENDS = ["\v", "\f", "\x1c", "\x85", " "]  # `str.splitlines` ends a line at the first four
each_end = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
FUNCTIONS = [
    "/* prices",
    "and taxes */",
    "function first() {}",
    "// é🎈",
    "const second = () => 1",
    "function third() {}",
]
LANGUAGES = ["a.js", "a.ts", "a.tsx"]


@each_end
def test_each_end_is_one_line_end(end: str) -> None:
    text = f"a{end}{end}é{end}"
    assert split_lines(text) == ["a", "", "é", ""]
    starts = find_line_starts(text.encode())
    assert [text.encode()[start:].decode() for start in starts] == [text, f"{end}é{end}", f"é{end}", ""]


def test_mixed_ends_are_each_one() -> None:
    assert split_lines("a\n\rb\r\r\nc\u2028\n") == ["a", "", "b", "", "c", "", ""]
    assert split_lines("a" + "".join(NO_ENDS) + "b") == ["a" + "".join(NO_ENDS) + "b"]
    assert split_lines("") == [""]


@each_end
@pytest.mark.parametrize("path", LANGUAGES)
def test_functions_are_found_by_the_lines_of_their_source(end: str, path: str) -> None:
    tree = ScopeTree(end.join(FUNCTIONS), path)
    found = [tree.find(3, 10), tree.find(5, 16), tree.find(6, 10)]
    assert [func and func.name for func in found] == ["first", "second", "third"]
    assert [func and func.name_at for func in found] == [(3, 10), (5, 7), (6, 10)]


@pytest.mark.parametrize("path", LANGUAGES)
@pytest.mark.parametrize("end", ["\u2028", "\u2029"])
def test_a_separator_ends_a_line_within_a_string_too(end: str, path: str) -> None:
    tree = ScopeTree(f"const a = 'x{end}y'; function f() {{}}", path)
    found = tree.find(2, 5)
    assert found is not None
    assert (found.name, found.begins_at) == ("f", (2, 5))


@each_end
@pytest.mark.parametrize("path", LANGUAGES)
def test_a_statement_ends_at_each_end_without_a_semicolon(end: str, path: str) -> None:
    tree = ScopeTree(f"class A {{ x = 1{end}m() {{}} }}{end}let x = 1{end}let y = () => 1", path)
    found = [tree.find(2, 1), tree.find(4, 9)]
    assert [func and func.name for func in found] == ["A.m", "y"]


@each_end
def test_the_text_of_a_function_has_the_lines_of_its_source(end: str) -> None:
    tree = ScopeTree(end.join(["// a", "function f() {", "  return `", "`", "}", "g()"]), "a.js")
    text = tree.find_text(2, 10)
    assert text is not None
    assert (text.first_line, text.last_line) == (2, 5)


@each_end
def test_a_component_keeps_its_lines_and_columns(end: str) -> None:
    text = f"<p>é🎈</p>{end}<b>é🎈</b><script>const f = () => 1</script>{end}<script>function g() {{}}</SCRIPT >"
    tree = ScopeTree(text, "a.vue")
    found = [tree.find(2, 29), tree.find(3, 18)]
    assert [func and func.name for func in found] == ["f", "g"]


@pytest.mark.slow(5)
@pytest.mark.parametrize("text", ["<script" * 100_000, "<script>" * 100_000, "<script></script" * 100_000])
def test_scripts_of_a_hostile_component_are_found_in_linear_time(text: str) -> None:
    read_scopes(text, "a.vue")


@each_end
def test_a_label_follows_the_lines_of_source_and_bundle(end: str) -> None:
    bundle = f"/*! a{end}b */function f(){{}}const g=function(){{}};"
    segments = [(1, 4, 0, 2, 0), (1, 13, 0, 2, 9), (1, 26, 0, 4, 6), (1, 29, 0, 4, 15)]
    source_map = read_map(write_map(segments, ["a.js"], sourcesContent=[end.join(FUNCTIONS)]))
    positions = [(2, 15), (2, 36)]
    labels = label_positions(source_map, positions, file="b.js", bundle=b"\xef\xbb\xbf" + bundle.encode())
    assert [label and label.name for label in labels] == ["first", "second"]


def test_a_column_counts_utf_16_units() -> None:
    assert [find_character("a🎈b", column) for column in (1, 2, 4, 5, 9)] == [0, 1, 2, 3, 3]
    assert [find_character("ab", column) for column in (1, 3, 9)] == [0, 2, 2]
    assert blank("é🎈\r\nx\u2028") == "   \r\n \u2028"


@given(st.text(alphabet="ab\n\r\u2028\u2029\x0b", max_size=40), st.integers(0, 12), st.integers(0, 12))
@pytest.mark.parametrize("block", [1, 2, 5, 64 * 1024])
def test_a_stretch_of_lines_is_that_of_all_lines(block: int, text: str, first: int, count: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("profcore.symbolicate.lines.BLOCK_CHARS", block)
        lines = split_lines(text)
        assert read_lines(text, first, count) == (lines[first : first + count], len(lines))
        assert 1 + count_line_ends(text) == len(lines)


def test_a_stretch_of_many_lines_takes_little_memory() -> None:
    text = "\r\n" * 3_000_000
    tracemalloc.start()
    assert read_lines(text, 2_999_990, 60) == ([""] * 11, 3_000_001)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
