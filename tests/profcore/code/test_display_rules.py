"""Display rules: allowed content, matching functions, and trees whose sums no rule changes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.code.display_rules import (
    COLOURS,
    DISPLAY_ID,
    FIELDS,
    MAX_PATTERN_CHARS,
    MAX_RULES,
    MAX_STARS,
    MAX_TITLE_CHARS,
    DisplayRuleError,
    DisplayRules,
    display_id,
    encode_display_rules,
    make_fit,
    read_display_rules,
    show_stacks,
)
from profcore.code.identity import MAPPED_ID
from profcore.sums.calltree import find_topmost

FOLD = {"action": "fold", "field": "package", "pattern": "react*", "title": "React"}
ONE_MORE = [{"action": "retitle", "field": "name", "pattern": "t", "title": "T"}] * (MAX_RULES + 1)


def decide(rules: Sequence[Mapping[str, Any]], **fields: str | None) -> Any:
    return read_display_rules(rules).decide(fields.get)


def test_no_rules_show_everything_as_it_is() -> None:
    assert DisplayRules().decide({"name": "t"}.get) is None
    assert not read_display_rules([]).sums_up


def test_the_first_rule_that_fits_decides() -> None:
    rules = [
        {"action": "retitle", "field": "name", "pattern": "render", "title": "Draws"},
        {"action": "colour", "field": "name", "pattern": "r*", "colour": "red"},
    ]
    first, second = decide(rules, name="render"), decide(rules, name="reduce")
    assert (first.rule, first.title, first.colour, first.row_id) == (0, "Draws", None, None)
    assert (second.rule, second.title, second.colour) == (1, None, "red")
    assert decide(list(reversed(rules)), name="render").colour == "red"
    assert decide(rules, name="total") is None


def test_a_group_is_one_row_for_each_title_that_comes_of_it() -> None:
    by_party = [{"action": "group", "field": "party", "pattern": "*", "title": "{party}"}]
    one, other = decide(by_party, party="Google Tag Manager"), decide(by_party, party="Hotjar")
    assert (one.title, other.title) == ("Google Tag Manager", "Hotjar")
    assert one.row_id != other.row_id
    assert decide(by_party, party=None) is None
    two_patterns = [FOLD, {**FOLD, "pattern": "scheduler"}]
    assert decide(two_patterns, package="react-dom").row_id == decide(two_patterns, package="scheduler").row_id
    assert decide([FOLD], package="react").is_folded
    assert display_id("group", "React") != display_id("fold", "React")


def test_rules_that_make_one_row_give_it_one_colour() -> None:
    rules = [FOLD, {**FOLD, "pattern": "scheduler", "colour": "blue"}, {**FOLD, "pattern": "fiber", "colour": "red"}]
    assert [decide(rules, package=name).colour for name in ("react", "scheduler", "fiber")] == ["blue"] * 3
    assert encode_display_rules(read_display_rules(rules)) == rules
    apart = [{**FOLD, "action": "group"}, *rules[1:]]
    assert [decide(apart, package=name).colour for name in ("react", "scheduler")] == [None, "blue"]


def test_the_id_of_a_made_row_is_not_that_of_a_function() -> None:
    made = display_id("group", "React")
    assert DISPLAY_ID.fullmatch(made)
    assert not MAPPED_ID.fullmatch(made)
    assert not made.isdigit()


def test_a_title_is_filled_with_what_is_known_of_the_function() -> None:
    rule = [{"action": "retitle", "field": "name", "pattern": "*", "title": "{name} of {package} ({source})"}]
    assert decide(rule, name="map", package="d3").title == "map of d3 ((none))"
    assert decide(rule, name="{package}", package="d3").title == "{package} of d3 ((none))"


@pytest.mark.parametrize(
    ("pattern", "text", "does"),
    [
        ("map", "map", True),
        ("map", "maps", False),
        ("map", "Map", False),
        ("re*", "re", True),
        ("re*", "render", True),
        ("re*", "are", False),
        ("*er", "render", True),
        ("*nd*", "render", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*ab*ab*", "ab", False),
        ("*ab*ab*", "xabab", True),
        ("a*bc*c", "abc", False),
        ("*", "", True),
        ("[a-z]?", "b", False),
        ("f(*)", "f(x)", True),
    ],
)
def test_a_star_stands_for_any_text_and_all_else_for_itself(pattern: str, text: str, does: bool) -> None:
    assert make_fit(pattern)(text) is does


@given(st.text("ab*", min_size=1, max_size=8), st.text("ab", max_size=10))
def test_patterns_fit_what_the_slow_way_says(pattern: str, text: str) -> None:
    fitting = {0}  # how much of the text is used, by the pattern up to here
    for letter in pattern:
        if letter == "*":
            fitting = {end for start in fitting for end in range(start, len(text) + 1)}
        else:
            fitting = {start + 1 for start in fitting if text[start : start + 1] == letter}
    assert make_fit(pattern)(text) is (len(text) in fitting)


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({}, "rules"),
        (None, "rules"),
        (["x"], "[0]"),
        ([{**FOLD, "action": "hide"}], "[0].action"),
        ([{**FOLD, "field": "line"}], "[0].field"),
        ([FOLD, {**FOLD, "why": "not"}], "[1]"),
        ([{**FOLD, "pattern": ""}], "[0].pattern"),
        ([{**FOLD, "pattern": "x" * (MAX_PATTERN_CHARS + 1)}], "[0].pattern"),
        ([{**FOLD, "pattern": "*" * (MAX_STARS + 1)}], "[0].pattern"),
        ([{**FOLD, "pattern": "a\0"}], "[0].pattern"),
        ([{**FOLD, "title": " "}], "[0].title"),
        ([{**FOLD, "title": "x" * (MAX_TITLE_CHARS + 1)}], "[0].title"),
        ([{**FOLD, "title": "\ud800"}], "[0].title"),
        ([{**FOLD, "title": "{line}"}], "[0].title"),
        ([{**FOLD, "title": "{name"}], "[0].title"),
        ([{**FOLD, "title": "{name.__class__}"}], "[0].title"),
        ([{**FOLD, "colour": "pinkish"}], "[0].colour"),
        ([{"action": "colour", "field": "name", "pattern": "t"}], "[0].colour"),
        ([{"action": "colour", "field": "name", "pattern": "t", "colour": "red", "title": "T"}], "[0].title"),
        (ONE_MORE, "rules"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_with_its_place(rules: Any, field: str) -> None:
    with pytest.raises(DisplayRuleError) as refused:
        read_display_rules(rules)
    assert refused.value.field == field
    assert refused.value.detail


def test_rules_are_written_as_they_were_read() -> None:
    rules = [FOLD, *({"action": "colour", "field": field, "pattern": "*", "colour": "red"} for field in FIELDS)]
    assert encode_display_rules(read_display_rules(rules)) == rules
    assert "red" in COLOURS


# Random trees over eight funcs, and for each func which of four it is shown as; some of these are folded.
@st.composite
def shown_trees(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int], list[bool]]:
    size = draw(st.integers(0, 40))
    prefix = [draw(st.integers(-1, node - 1)) for node in range(size)]
    func = [draw(st.integers(0, 7)) for _ in range(size)]
    self_us = [draw(st.integers(0, 1_000)) for _ in range(size)]
    number_of = [draw(st.integers(0, 3)) for _ in range(8)]
    is_folded = [draw(st.booleans()) for _ in range(4)]
    return prefix, func, self_us, number_of, is_folded


def sum_by(func: Sequence[int], us: Sequence[int]) -> Counter[int]:
    sums = Counter[int]()
    for index, value in zip(func, us, strict=True):
        sums[index] += value
    return sums


def totals_by(prefix: list[int], func: list[int], self_us: list[int]) -> Counter[int]:
    """Returns the total of each func, once per sample under recursion."""
    totals = list(self_us)
    for node in range(len(prefix) - 1, -1, -1):
        if prefix[node] >= 0:
            totals[prefix[node]] += totals[node]
    topmost = find_topmost(prefix, func, 8)
    return sum_by(func, [us if is_top else 0 for us, is_top in zip(totals, topmost, strict=True)])


@given(shown_trees())
def test_no_rule_changes_a_sum(made: tuple[list[int], list[int], list[int], list[int], list[bool]]) -> None:
    prefix, func, self_us, number_of, is_folded = made
    shown_prefix, shown_func, places = show_stacks(prefix, func, number_of, is_folded)
    shown_us = [0] * len(shown_func)
    for place, us in zip(places, self_us, strict=True):
        shown_us[place] += us
    before = [number_of[index] for index in func]
    assert sum(shown_us) == sum(self_us)
    assert sum_by(shown_func, shown_us) == sum_by(before, self_us)
    assert totals_by(shown_prefix, shown_func, shown_us) == totals_by(prefix, before, self_us)


@given(shown_trees())
def test_callers_come_first_and_what_is_shown_is_shown_the_same_again(
    made: tuple[list[int], list[int], list[int], list[int], list[bool]],
) -> None:
    prefix, func, _, number_of, is_folded = made
    shown_prefix, shown_func, _ = show_stacks(prefix, func, number_of, is_folded)
    assert all(above < node for node, above in enumerate(shown_prefix))
    assert len(set(zip(shown_prefix, shown_func, strict=True))) == len(shown_func)
    for above, number in zip(shown_prefix, shown_func, strict=True):
        assert above < 0 or not is_folded[number] or shown_func[above] != number
    again = show_stacks(shown_prefix, shown_func, range(4), is_folded)
    assert again == (shown_prefix, shown_func, list(range(len(shown_func))))


def test_a_fold_makes_a_run_one_frame_and_a_group_keeps_its_frames() -> None:
    # app > react > react > view > react, where 1 and 2 are both react
    prefix, func = [-1, 0, 1, 2, 3], [0, 1, 2, 3, 1]
    number_of = [0, 1, 1, 2]
    assert show_stacks(prefix, func, number_of, [False, True, False])[:2] == ([-1, 0, 1, 2], [0, 1, 2, 1])
    assert show_stacks(prefix, func, number_of, [False] * 3)[:2] == ([-1, 0, 1, 2, 3], [0, 1, 1, 2, 1])


def test_a_stack_of_ten_thousand_is_folded_without_recursion() -> None:
    deep = 10_000
    prefix, func, places = show_stacks(list(range(-1, deep - 1)), [0] * deep, [0], [True])
    assert (prefix, func, set(places)) == ([-1], [0], {0})
