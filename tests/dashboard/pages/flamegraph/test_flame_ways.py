"""The flame graph's addresses, its tree without recursion, and its colours, in Node."""

import colorsys
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.pages.flamegraph.trees import STACKS, answer_of, picture, run
from tests.dashboard.pages.luminance import luminance

STATIC = Path("dashboard/static/dashboard")


class TestAddress:
    def test_each_path_leads_to_its_node(self) -> None:
        paths = run("paths", answer_of(STACKS))
        assert paths[0] == ["", ""]
        assert [path for path, _ in paths[1:]] == ["0", "0.1", "0.1.2", "0.3", "0.3.1", "4"]
        assert [stack for _, stack in paths[1:]] == ["A", "A B", "A B C", "A D", "A D B", "E"]

    def test_ids_are_short_and_any_text(self) -> None:
        answer = answer_of("A B")
        answer["functions"]["id"] = ["1234567", "r:a.b/ü~"]
        assert run("paths", answer)[1:] == [["qglj", "A"], ["qglj.~r%3Aa%2Eb%2F%C3%BC~", "A B"]]

    def test_a_path_that_is_gone_leads_to_its_nearest_ancestor(self) -> None:
        answer = answer_of(STACKS)
        assert run("lead", answer, ["0.3.1"]) == ["A D B", True]
        assert run("lead", answer, ["0.3.zz.1"]) == ["A D", False]
        assert run("lead", answer, ["zz"]) == ["", False]
        assert run("lead", answer, ["%%%<b>"]) == ["", False]

    def test_a_selection_is_relative_to_the_zoom(self) -> None:
        answer = answer_of(STACKS)
        assert run("relative", answer, ["0.3.1", "0"]) == ".3.1"
        assert run("lead", answer, [".3.1", "0"]) == ["A D B", True]
        assert run("relative", answer, ["4", "0"]) == "4"  # it is elsewhere
        assert run("relative", answer, ["0", "0"]) == ""

    def test_a_path_has_a_bound_and_then_means_an_ancestor(self) -> None:
        path = max((path for path, _ in run("paths", answer_of(" ".join(f"f{n}" for n in range(2_000))))), key=len)
        assert 1_400 < len(path) <= 1_500


class TestRecursion:
    def test_a_function_that_calls_itself_is_one_bar(self) -> None:
        assert run("collapsed", answer_of("A A A B\nA A")) == picture("""
- all (total: 2, self: 0)
  - A (total: 2, self: 1)
    - B (total: 1, self: 1)
""")

    def test_functions_that_call_each_other_stand_once_on_a_path(self) -> None:
        assert run("collapsed", answer_of("A B A B A B C\nA B C")) == picture("""
- all (total: 2, self: 0)
  - A (total: 2, self: 0)
    - B (total: 2, self: 0)
      - C (total: 2, self: 2)
""")

    def test_a_repeated_call_that_took_time_itself_stays(self) -> None:
        assert run("collapsed", answer_of("A B A\nA B A C")) == picture("""
- all (total: 2, self: 0)
  - A (total: 2, self: 0)
    - B (total: 2, self: 0)
      - A (total: 1, self: 1)
      - C (total: 1, self: 1)
""")

    @pytest.mark.parametrize("views", [1, 4])
    def test_all_sums_are_those_of_the_whole_tree(self, views: int) -> None:
        text = "A B A\nA B A C A\nB A B\nA A A B\nD\nC D C D C\nA D A D B"
        answer = answer_of(text, views=views, base="A B A B\nC D C\nD D")
        for node in range(len(answer["nodes"]["prefix"])):
            answer["head"]["hidden_ms"][node] = float(node % 3)
        # Lighter calls were left out below the first node: their time is in all totals above, and in no self time.
        answer["head"]["total_ms"][0] += 8.0
        answer["head"]["time_ms"]["js"] += 8.0
        whole, collapsed = run("facts", answer)
        assert collapsed == whole
        assert whole["all"][0] == (7 + 8) / views

    def test_a_collapsed_tree_can_be_turned_over(self) -> None:
        assert run("collapsedTurned", answer_of("A B A B C\nA B A B")) == picture("""
- all (total: 2, self: 0)
  - B (total: 1, self: 0)
    - A (total: 1, self: 1)
  - C (total: 1, self: 0)
    - B (total: 1, self: 0)
      - A (total: 1, self: 1)
""")


class TestColours:
    WORDS = (["first-party", "First party"], ["library", "Library"])

    def answer(self, *rows: tuple[str, int, str, str | None, str | None]) -> dict[str, Any]:
        """Functions by name, with their ms of self time, category, package and file."""
        answer = answer_of("\n".join("\n".join([name] * ms) for name, ms, *_ in rows))
        for column, at in (("category", 2), ("package", 3), ("uri", 4)):
            answer["functions"][column] = [row[at] for row in rows]
        return answer

    def test_colours_are_by_category_unless_one_has_nearly_all_of_the_time(self) -> None:
        mixed = self.answer(("a", 80, "first-party", None, "/a.js"), ("b", 20, "library", None, "/b.js"))
        assert run("chosenColour", mixed, self.WORDS) == "category"
        plain = self.answer(("a", 70, "first-party", None, "/a.js"), ("b", 30, "first-party", None, "/b.js"))
        assert run("chosenColour", plain, self.WORDS) == "file"

    def test_packages_come_before_files_if_the_code_has_some(self) -> None:
        packages = self.answer(("a", 60, "library", "d3", "/a.js"), ("b", 40, "library", "vue", "/a.js"))
        assert run("chosenColour", packages, self.WORDS) == "package"
        few = self.answer(("a", 70, "library", None, "/a.js"), ("b", 30, "library", "vue", "/b.js"))
        assert run("chosenColour", few, self.WORDS) == "file"

    def test_one_file_of_one_category_keeps_the_categories(self) -> None:
        assert run("chosenColour", self.answer(("a", 9, "library", None, "/a.js")), self.WORDS) == "category"

    def test_a_file_has_the_same_colour_in_any_slice(self) -> None:
        one = self.answer(("a", 9, "library", None, "/a.js"), ("b", 5, "library", None, "/b.js"))
        other = self.answer(("b", 8, "library", None, "/b.js"), ("c", 1, "library", None, "/c.js"))
        colours = [{word: colour for word, colour, _ in run("legend", of, ["file", []])} for of in (one, other)]
        assert colours[0]["b.js"] == colours[1]["b.js"]

    def test_the_heaviest_files_have_colours_of_their_own_and_names_that_differ(self) -> None:
        rows = [(f"f{n}", 20 - n, "library", None, f"https://shop.example/{n}/index.js") for n in range(12)]
        legend = run("legend", self.answer(*rows), ["file", []])
        named = [
            (word, colour) for word, colour, _ in legend if colour.startswith("--flame-name-") and "rest" not in colour
        ]
        assert [word for word, _ in named] == [f"{n}/index.js" for n in range(9)]
        assert len({colour for _, colour in named}) == 9
        rest = next(share for word, _, share in legend if word == "Other files")
        assert rest == pytest.approx((11 + 10 + 9) / sum(row[1] for row in rows))

    @pytest.mark.parametrize("theme", [0, 1])
    def test_names_colours_bear_text_differ_and_mean_no_change(self, theme: int) -> None:
        style = (STATIC / "layout" / "tokens.css").read_text(encoding="utf-8")
        text = re.findall(r"--flame-text: #([0-9a-f]{6})", style)[theme]
        fills = [re.findall(rf"--flame-name-{n}: #([0-9a-f]{{6}})", style)[theme] for n in range(1, 10)]
        for fill in fills:
            light, dark = sorted((luminance(text), luminance(fill)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5
            hue, _, saturation = colorsys.rgb_to_hls(*(int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4)))
            assert saturation < 0.15 or not (hue < 18 / 360 or hue > 345 / 360 or 75 / 360 < hue < 175 / 360)
        pairs = [(one, other) for one in fills for other in fills if one < other]
        far = [math.dist(bytes.fromhex(one), bytes.fromhex(other)) for one, other in pairs]
        assert min(far) > 30
