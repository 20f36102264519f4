"""Where functions are found in a file that has changed since they were measured."""

from collections.abc import Sequence

import pytest
from fieldflame.lsp.costs import Cost, list_endings
from fieldflame.lsp.places import MAX_LINES, Place, find_places

from tests.packages.written_code import LINES, make_cost


def find(lines: Sequence[str], cost: Cost, measured: Sequence[str] | None = None) -> tuple[list[Place], int]:
    return find_places(lines, [cost], lambda _: measured)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("render", 3),
        ("Cart.add", 10),
        ("Cart.load", 13),
        ("describe", 18),
        ("handlers.onClick", 20),
        ("onKey", 21),
        ("Cart", 8),
    ],
)
def test_a_function_is_found_by_its_line_and_elsewhere_by_its_definition(name: str, line: int) -> None:
    (place,), missing = find(LINES, make_cost(name, line))
    assert (place.line, place.is_stale, missing) == (line - 1, False, 0)
    moved = ["// new", f"{name.rpartition('.')[2]}(1); // a call", *LINES]
    (place,), missing = find(moved, make_cost(name, line))
    assert (place.line, place.is_stale, missing) == (line + 1, True, 0)


def test_of_two_definitions_the_nearer_one_counts() -> None:
    lines = ["function step() {", "}", *[""] * 20, "function step() {", "}"]
    assert find(lines, make_cost("step", 5))[0][0].line == 0
    assert find(lines, make_cost("step", 19))[0][0].line == 22


def test_an_anonymous_function_is_found_by_the_lines_around_it() -> None:
    measured = LINES[:7]
    (place,), _ = find(["// a", "// b", *LINES], make_cost(None, 4), measured)
    assert (place.line, place.is_stale) == (5, True)
    (place,), _ = find(LINES, make_cost(None, 4), measured)
    assert (place.line, place.is_stale) == (3, False)
    other = ["  const all = rows.map((row) => row.cells);", "  something();", "  else();"]
    assert find(other, make_cost(None, 4), measured) == ([], 1)  # the same line in another place
    assert find(LINES, make_cost(None, 4), None) == ([], 1)


def test_what_is_gone_is_counted() -> None:
    assert find(LINES, make_cost("removed", 3)) == ([], 1)
    assert find([], make_cost("render", 3)) == ([], 1)


@pytest.mark.parametrize("name", ["(((", "a|b", "[", "*", "\\", "x" * 5_000, "a" * 30 + "("])
def test_any_name_is_looked_for_as_it_is(name: str) -> None:
    long = [name + ":" + " a" * 600, "a:" * 500, "function " + "a " * 400]
    assert find(long, make_cost(name, 40))[1] in (0, 1)


def test_a_file_that_nobody_wrote_shows_nothing() -> None:
    assert find(["render"] * (MAX_LINES + 1), make_cost("render", 1)) == ([], 0)


def test_a_path_is_also_asked_for_without_its_first_folders() -> None:
    assert list_endings("web/src/cart.ts") == ["web/src/cart.ts", "src/cart.ts", "cart.ts"]
    assert len(list_endings("/".join("abcdefghijklmnopqrst"))) == 12


def test_what_is_shown_has_its_certainty() -> None:
    cost = make_cost("render", 3)
    assert cost.describe("1.1.0", "1.0.0") == "5 ms per view (4 to 6 ms) · in 40 % of views"
    changed = Cost(**{**cost.__dict__, "delta_ms": 0.94, "ci95": None, "views_share": None})
    assert changed.describe("1.1.0", "1.0.0") == "5 ms per view · too few views for an interval · +0.9 ms in 1.1.0"
