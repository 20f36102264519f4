"""Labels: a map's segment names only the function to which it belongs."""

from collections.abc import Sequence

from profcore.symbolicate.labels import label_positions
from profcore.symbolicate.maps import read_map
from tests.source_map_writer import write_map

CURRIED = "const curried = (a) => () => 1;\n"


def names(
    bundle: str, segments: Sequence[tuple[int, ...]], columns: list[int], *, is_there: bool = True
) -> list[str | None]:
    """Labels functions at columns (from 1) of a bundle of one line; its source is CURRIED."""
    source_map = read_map(write_map(segments, ["a.js"], sourcesContent=[CURRIED]))
    positions = [(1, column) for column in columns]
    labels = label_positions(source_map, positions, file="b.js", bundle=bundle.encode() if is_there else None)
    return [None if label is None else label.name for label in labels]


def test_an_inner_function_without_a_segment_does_not_get_the_name_of_the_outer_one() -> None:
    segments = [(0, 6, 0, 0, 6), (0, 8, 0, 0, 17)]  # of `f` and of `a`, as some generators have it
    assert names("const f=a=>()=>1", segments, [9, 12]) == ["curried", None]


def test_a_segment_at_the_name_or_the_first_word_is_the_functions_own() -> None:
    assert names("function f(a){}", [(0, 0, 0, 0, 6)], [11]) == [None]  # the variable's name is no function's head
    assert names("function f(a){}", [(0, 0, 0, 0, 16)], [11]) == ["curried"]
    assert names("function f(a){}", [(0, 9, 0, 0, 16)], [11]) == ["curried"]
    assert names("f=async function(a){}", [(0, 0, 0, 0, 16)], [17]) == ["curried"]


def test_a_segment_at_the_bracket_or_semicolon_before_a_function_is_its_own() -> None:
    assert names("(async(a)=>1)()", [(0, 0, 0, 0, 16)], [2]) == ["curried"]
    assert names("class A{;m(a){}}", [(0, 8, 0, 0, 16)], [11]) == ["curried"]
    assert names("x(async(a)=>1)", [(0, 0, 0, 0, 16)], [3]) == [None]


def test_without_the_bundle_a_segment_must_begin_at_the_function() -> None:
    assert names("f=a=>1", [(0, 2, 0, 0, 16)], [3], is_there=False) == ["curried"]
    assert names("function f(a){}", [(0, 0, 0, 0, 16)], [11], is_there=False) == [None]


def test_without_names_in_the_map_an_identifier_of_the_bundle_is_no_name() -> None:
    source_map = read_map(write_map([(0, 0, 0, 0, 0), (0, 9, 0, 0, 9), (0, 16, 0, 5, 0)], ["a.js"]))
    bundle = b"function f(){}({m(){}})"
    labels = label_positions(source_map, [(1, 11), (1, 18)], file="b.js", bundle=bundle)
    assert [label and label.name for label in labels] == [None, "m"]
