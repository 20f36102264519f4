"""The place of functions within their source, which distinguishes callbacks and methods with the same name."""

import re

from profcore.symbolicate.scopes import ScopeTree
from tests.hostile.measuring import Cost, measure


def standings(text: str, path: str = "x.ts") -> dict[str, str | None]:
    """Returns the standing of the function that begins at each `/*word*/`, by the word."""
    tree = ScopeTree(text, path)
    by_name = {}
    for match in re.finditer(r"/\*(\w+)\*/", text):
        line = text.count("\n", 0, match.end()) + 1
        column = match.end() - (text.rfind("\n", 0, match.end()) + 1) + 1
        function = tree.find(line, column)
        assert function is not None, match[1]
        by_name[match[1]] = function.standing
    return by_name


BEFORE = """
export function total(rows: Row[]) {
  const prices = rows.map(/*price*/(row) => row.price).sort(/*order*/(x, y) => x - y);
  return prices.reduce(/*sum*/(s, x) => s + x, 0);
}
const once = /*once*/() => 1;
"""


def test_a_function_whose_name_is_its_own_needs_nothing_more() -> None:
    assert standings(BEFORE)["once"] is None


def test_callbacks_stand_in_the_functions_around_them_and_by_what_they_are_given_to() -> None:
    by_name = standings(BEFORE)
    assert (by_name["price"], by_name["order"], by_name["sum"]) == ("/total/map()", "/total/sort()", "/total/reduce()")


def test_what_is_added_elsewhere_changes_no_standing() -> None:
    after = "// a header\nimport x from 'x';\nfunction added() { return [1].map((y) => y); }\n" + BEFORE.replace(
        "rows.map", "rows.filter(/*kept*/(row) => row.kept).map"
    )
    by_name = standings(after)
    assert {word: by_name[word] for word in standings(BEFORE)} == standings(BEFORE)
    assert by_name["kept"] == "/total/filter()"


def test_several_in_one_place_are_told_apart_by_their_order() -> None:
    by_name = standings("load(/*good*/() => 1, /*bad*/() => 2); a.then(/*first*/() => 3).then(/*second*/() => 4)")
    assert (by_name["good"], by_name["bad"]) == ("/load()", "/load()#2")
    assert {by_name["first"], by_name["second"]} == {"/then()", "/then()#2"}


def test_methods_of_one_name_are_told_apart_by_what_is_around() -> None:
    text = """
    function one() { return { get/*a*/(key) { return key; } }; }
    function two() { return { get/*b*/(key) { return key; } }; }
    """
    by_name = standings(text, "x.js")
    assert (by_name["a"], by_name["b"]) == ("/one/get", "/two/get")


def test_deep_nesting_takes_no_recursion() -> None:
    text = "f(" * 3_000 + "/*deep*/() => 1" + ")" * 3_000
    assert standings(text, "x.js")["deep"] == "/f()"


def test_a_long_standing_keeps_its_inner_end() -> None:
    text = "".join(f"function long_name_{n}() {{" for n in range(60)) + "g(/*inner*/() => 1)" + "}" * 60
    standing = standings(text, "x.js")["inner"]
    assert standing is not None
    assert len(standing) == 400
    assert standing.endswith("/long_name_59/g()")


def test_functions_within_functions_cost_as_much_as_others() -> None:
    """From the root each time, four times as many took sixteen times as long: 24 kB of source took a minute."""

    def cost_of(depth: int) -> Cost:
        return measure(lambda: ScopeTree("x=>" * depth + "1", "x.js").find(1, 1))

    small, large = cost_of(250), cost_of(1_000)
    assert small.steps > 250  # else nothing was counted
    assert large.steps <= 6 * small.steps
    assert large.peak_bytes <= 6 * small.peak_bytes
