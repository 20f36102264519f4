"""Calls within functions: their original place, and the name of the function around them."""

import json
from collections.abc import Sequence

from profcore.symbolicate.calls import place_calls
from profcore.symbolicate.maps import read_map
from tests.source_map_writer import write_map

SOURCE = """\
export class Cart {
  total(items) {
    return items.map((item) => find(item));
  }
}
const find = function (item) { while (item) { item.next(); } };
find(1);
"""


def place(
    segments: Sequence[tuple[int, ...]], column: int, **fields: object
) -> tuple[str, int, int, str | None] | None:
    content = write_map(segments, ["../src/cart.js"], **{"sourcesContent": [SOURCE], "names": [], **fields})
    return place_calls(read_map(content), [(1, column)], file="main.js")[0]


def test_a_call_is_in_the_innermost_function_around_it() -> None:
    segments = [(0, 0, 0, 2, 11), (0, 30, 0, 2, 31), (0, 60, 0, 5, 46), (0, 90, 0, 6, 0)]
    assert place(segments, 5) == ("src/cart.js", 3, 12, "Cart.total")
    assert place(segments, 35) == ("src/cart.js", 3, 32, None)  # the arrow function has no name
    assert place(segments, 61) == ("src/cart.js", 6, 47, "find")  # in its body, where no function begins
    assert place(segments, 91) == ("src/cart.js", 7, 1, None)  # outside of functions


def test_what_no_segment_maps_has_no_place() -> None:
    assert place([(0, 10, 0, 2, 11)], 5) is None
    assert place([(0, 0)], 5) is None


def test_without_a_readable_source_there_is_a_place_and_no_name() -> None:
    segments = [(0, 0, 0, 2, 11)]
    assert place(segments, 5, sourcesContent=[None]) == ("src/cart.js", 3, 12, None)
    assert place(segments, 5, sourcesContent=["not a { program"]) == ("src/cart.js", 3, 12, None)
    beyond = json.loads(write_map([(0, 0, 0, 900, 900)], ["a.js"], sourcesContent=[SOURCE]))
    assert place_calls(read_map(json.dumps(beyond).encode()), [(1, 1)], file="")[0] == ("a.js", 901, 901, None)
