"""The flame graph's pure modules in Node: trees turned over and cut in two, where bars lie, and what keys do."""

from typing import Any

import pytest

from profcore.numbers import choose_unit, write_change_in
from tests.dashboard.pages.flamegraph.trees import STACKS, answer_of, picture, run
from tests.dashboard.pages.written_numbers import CHANGES, SCALES, SHARES, TIMES, TIMES_BY_COLUMN, thin


def test_a_tree_is_per_view_under_one_row_of_all() -> None:
    assert run("picture", answer_of(STACKS, views=2)) == picture("""
- all (total: 2.5, self: 0)
  - A (total: 2, self: 0)
    - B (total: 1.5, self: 0.5)
      - C (total: 1, self: 1)
    - D (total: 0.5, self: 0)
      - B (total: 0.5, self: 0.5)
  - E (total: 0.5, self: 0.5)
""")


def test_turned_over_each_function_with_self_time_comes_first_and_then_who_called_it() -> None:
    assert run("turned", answer_of(STACKS)) == picture("""
- all (total: 5, self: 0)
  - B (total: 2, self: 0)
    - A (total: 1, self: 1)
    - D (total: 1, self: 0)
      - A (total: 1, self: 1)
  - C (total: 2, self: 0)
    - B (total: 2, self: 0)
      - A (total: 2, self: 2)
  - E (total: 1, self: 1)
""")


def test_a_sandwich_adds_up_the_same_time_on_both_sides() -> None:
    answer = answer_of(STACKS)
    b = answer["functions"]["label"].index("B")
    assert run("callers", answer, b) == picture("""
- all (total: 4, self: 0)
  - B (total: 4, self: 0)
    - A (total: 3, self: 3)
    - D (total: 1, self: 0)
      - A (total: 1, self: 1)
""")
    assert run("callees", answer, b) == picture("""
- all (total: 4, self: 0)
  - B (total: 4, self: 2)
    - C (total: 2, self: 2)
""")


def test_a_function_that_recurs_counts_once() -> None:
    answer = answer_of("A B A\nA B A\nB A\nA")
    assert run("sums", answer) == [["A", 4, 4], ["B", 0, 3]]
    assert run("callees", answer, 0)[:2] == ["- all (total: 4, self: 0)", "  - A (total: 4, self: 2)"]
    assert run("callers", answer, 0)[1] == "  - A (total: 4, self: 3)"
    assert run("search", answer, ["a"]) == {"nodes": 3, "ms": 4, "funcs": 1}


def test_a_search_finds_names_files_and_packages_and_addresses_by_a_slash() -> None:
    answer = answer_of("render\ncommit\nhash")
    answer["functions"]["uri"] = ["https://render.example/app.js", "https://cdn.example/render/x.js", "app:///hash.js"]
    answer["functions"]["package"] = [None, None, "@render/kit"]
    assert run("search", answer, [" RENDER "])["funcs"] == 2
    assert run("search", answer, ["/render"])["funcs"] == 2
    assert run("search", answer, ["x.js"])["funcs"] == 1
    answer["functions"]["original_source"] = [None, None, "src/orders.ts"]
    assert run("search", answer, ["orders.ts"])["funcs"] == 1
    assert run("search", answer, ["  "]) is None


def test_a_search_may_be_for_categories_with_or_without_a_text() -> None:
    answer = answer_of("a b\na c\nb")
    answer["functions"]["category"] = ["first-party", "library", None]
    assert run("search", answer, ["", ["library"]]) == {"nodes": 2, "ms": 2, "funcs": 1}
    assert run("search", answer, ["a", ["library"]])["funcs"] == 0
    assert run("search", answer, ["", []]) is None


def test_bars_lie_left_heavy_within_their_callers() -> None:
    assert run("bars", answer_of(STACKS)) == [
        [["all", 0, 1]],
        [["A", 0, 0.8], ["E", 0.8, 0.2]],
        [["B", 0, 0.6], ["D", pytest.approx(0.6), 0.2]],
        [["C", 0, 0.4], ["B", pytest.approx(0.6), 0.2]],
    ]


def test_each_side_of_a_comparison_has_widths_of_its_own() -> None:
    answer = answer_of("A B\nA B\nA B\nA C", base="A C\nD")
    assert run("bars", answer, "head")[1:] == [[["A", 0, 1]], [["B", 0, 0.75], ["C", 0.75, 0.25]]]
    assert run("bars", answer, "base")[1:] == [[["A", 0, 0.5], ["D", 0.5, 0.5]], [["C", 0, 0.5]]]


def test_an_empty_tree_is_one_row_without_width() -> None:
    answer = answer_of("A")
    answer["head"]["time_ms"]["js"] = 0
    assert run("bars", answer) == [[["all", 0, 0]]]


def test_a_place_leads_to_its_bar_and_beside_all_bars_to_none() -> None:
    places = [[0, 0.99], [1, 0.79], [1, 0.81], [2, 0.59], [2, 0.9], [9, 0.1], [-1, 0.1]]
    assert run("find", answer_of(STACKS), places) == ["all", "A", "E", "B", None, None, None]


def test_keys_lead_to_the_caller_the_heaviest_callee_and_along_the_row() -> None:
    keys = ["callee", "callee", "next", "next", "callee", "previous", "caller", "caller", "next", "callee", "caller"]
    assert run("walk", answer_of(STACKS), keys) == ["A", "B", "D", "D", "B", "C", "B", "A", "E", "E", "all"]


def test_the_view_never_leaves_the_whole() -> None:
    view = {"from": 0.25, "to": 0.75}
    moves = [{"factor": 4}, {"shift": 9}, {"shift": -9}, {"factor": 0.5, "at": 0}, {"factor": 0.5}]
    assert run("move", None, [[view, how] for how in moves]) == [
        {"from": 0, "to": 1},
        {"from": 0.5, "to": 1},
        {"from": 0, "to": 0.5},
        {"from": 0.25, "to": 0.5},
        {"from": 0.375, "to": 0.625},
    ]


@pytest.mark.slow(5)
def test_a_stack_of_ten_thousand_passes_all_of_it() -> None:
    answer = answer_of(" ".join(f"f{n}" for n in range(10_000)))
    assert len(run("bars", answer)) == 10_001
    assert len(run("turned", answer)) == 10_001
    assert len(run("callees", answer, 0)) == 10_001


def test_words_are_those_of_the_server() -> None:
    from dashboard.templatetags import figures

    for word, cases in (("asTime", TIMES), ("asChange", CHANGES), ("asShare", SHARES)):
        asked = [[word, number] for number, _ in cases]
        assert run("words", None, asked) == [thin(text) for _, text in cases]
    scales = [["asScale", values] for values, _ in SCALES]
    assert run("words", None, scales) == [[thin(text) for text in texts] for _, texts in SCALES]
    columns = [list(values) for values, _ in TIMES_BY_COLUMN]
    assert run("column", None, columns) == [[thin(text) for text in texts] for _, texts in TIMES_BY_COLUMN]
    changes = [[write_change_in(ms, choose_unit(values)) for ms in values] for values in columns]
    assert run("columnOfChanges", None, columns) == changes
    names = ["plain", "\u202ex\x07\x7f\u2028\u00ad", "名前 é"]
    assert run("words", None, [["visible", name] for name in names]) == [figures.visible(name) for name in names]
    counts = [0, 999, 1_234_567]
    assert run("words", None, [["asCount", number] for number in counts]) == [figures.count(n) for n in counts]


def test_a_display_rules_colour_stands_before_category_and_package_and_not_before_a_change() -> None:
    answer = answer_of("A B\nA C", base="A B")
    answer["functions"] |= {"colour": [None, "red", None], "category": ["library", "library", None]}
    answer["functions"]["package"] = ["d3", "d3", None]
    assert run("colour", answer, "category") == [
        ["A", "--flame-library"],
        ["B", "--shown-red"],
        ["C", "--flame-unknown"],
    ]
    by_package = run("colour", answer, "package")
    assert by_package[0][1].startswith("--flame-name-")
    assert by_package[1:] == [["B", "--shown-red"], ["C", "--flame-none"]]
    assert "--shown-red" not in str(run("colour", answer, "change"))


def test_what_a_rule_made_of_several_functions_is_no_built_in() -> None:
    func = {"label": "React", "uri": None, "original": None, "line": None, "column": None}
    assert run("words", None, [["placeOf", {**func, "isGroup": True}], ["placeOf", func]]) == [
        "several functions",
        "built-in",
    ]


def compared_function(
    name: str, delta_ms: float, status: str = "changed", line: int | None = None, uri: str = "https://shop.example/a.js"
) -> dict[str, Any]:
    """One function of the comparison's answer; ids are those of `answer_of` for A, B and C in this order."""
    return {
        "id": str("ABC".index(name)),
        "delta_ms_per_view": delta_ms,
        "status": status,
        "line": line,
        "uri": uri,
        "original": None,
    }


class TestNoise:
    ANSWER = answer_of("A B C\nA B C\nA C", base="A B C")  # each of A, B and C took more in the head

    def judge(self, *functions: dict[str, Any], operation: str = "noise", is_awaited: bool = False) -> Any:  # Any: JSON
        answer = None if is_awaited else {"functions": list(functions)}
        return run(operation, self.ANSWER, {"found": answer, "isAwaited": is_awaited})

    def test_a_node_may_be_noise_unless_its_function_changed_for_certain(self) -> None:
        assert self.judge(compared_function("A", 2.0), compared_function("C", 2.0)) == {
            "state": "known",
            "nodes": ["B"],
        }

    def test_a_node_that_changed_the_other_way_than_its_function_may_be_noise(self) -> None:
        assert self.judge(compared_function("A", 2.0), compared_function("B", -1.0), compared_function("C", 2.0))[
            "nodes"
        ] == ["B"]

    def test_too_few_views_prove_nothing(self) -> None:
        assert self.judge()["nodes"] == ["A", "B", "C", "C"]

    def test_what_is_awaited_is_as_good_as_noise(self) -> None:
        assert self.judge(is_awaited=True) == {"state": "awaited", "nodes": ["A", "B", "C", "C"]}

    def test_without_an_answer_nothing_is_called_noise(self) -> None:
        assert run("noise", self.ANSWER, {"found": None}) == {"state": "unknown", "nodes": []}

    def test_what_came_and_went_without_a_source_map_may_have_moved(self) -> None:
        moved = [compared_function("B", 1.0, "new", 1), {**compared_function("C", -1.0, "gone", 1), "id": "9"}]
        assert self.judge(compared_function("A", 2.0), compared_function("C", 2.0), *moved)["nodes"] == ["B"]
        assert self.judge(compared_function("A", 2.0), compared_function("C", 2.0), moved[0])["nodes"] == []

    def test_what_a_source_map_of_one_side_alone_knows_may_have_moved_within_its_origin(self) -> None:
        original = {"source": "src/a.ts", "line": 1, "column": 1}
        came, went = compared_function("B", 1.0, "new", 1), {**compared_function("C", -1.0, "gone", 1), "id": "9"}
        sure = compared_function("A", 2.0), compared_function("C", 2.0)
        assert self.judge(*sure, came, went | {"original": original})["nodes"] == ["B"]
        assert self.judge(*sure, came | {"original": original}, went)["nodes"] == ["B"]
        assert self.judge(*sure, came | {"original": original}, went | {"original": original})["nodes"] == []
        elsewhere = {"uri": "https://vendor.example/a.js"}
        assert self.judge(*sure, came | {"original": original}, went | elsewhere)["nodes"] == []

    def test_by_caller_the_function_at_the_root_decides(self) -> None:
        turned = self.judge(compared_function("C", 2.0), operation="noiseTurned")
        assert turned == {"state": "known", "nodes": []}  # C alone has self time; its callers stand below it
        assert self.judge(compared_function("A", 2.0), operation="noiseTurned")["nodes"][0] == "C"
