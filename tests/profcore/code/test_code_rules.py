"""A project's rules are checked once, and each error names the rule."""

from typing import Any

import pytest

from profcore.code.categories import categorize
from profcore.code.code_rules import CodeRuleError, read_code_rules
from profcore.trace.funcs import FuncKey

OLD, NEW, OTHER = "m" + "0" * 20, "m" + "1" * 20, "m" + "2" * 20


def test_no_rules_are_rules() -> None:
    rules = read_code_rules({})
    assert (rules.categories, rules.parties, rules.packages, rules.same) == ([], [], [], {})


def test_rules_of_each_kind_are_read() -> None:
    rules = read_code_rules(
        {
            "categories": [{"category": "library", "source": "^src/vendor/"}],
            "parties": [{"domain": "cdn.example", "owner": "own"}],
            "packages": [{"path": "packages/*", "name": "@acme/*"}],
            "same_funcs": [{"from": OLD, "to": NEW}],
        }
    )
    key = FuncKey("https://shop.example/app.js", 1, 1, "f")
    assert categorize(key, frozenset(), rules.categories, source="src/vendor/x.ts") == "library"
    assert categorize(key, frozenset(), rules.categories, source="src/x.ts") == "first-party"
    assert rules.parties[0].owner == "own"
    assert rules.packages[0].name == "@acme/*"
    assert rules.same == {OLD: NEW}


def test_what_is_the_same_as_a_func_that_is_another_is_that_other() -> None:
    rules = read_code_rules({"same_funcs": [{"from": OLD, "to": NEW}, {"from": NEW, "to": OTHER}]})
    assert rules.same == {OLD: OTHER, NEW: OTHER}


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ([], "rules"),
        ({"nonsense": []}, "rules"),
        ({"categories": [{"category": "nonsense", "uri": "x"}]}, "categories[0]"),
        ({"categories": [{"category": "library"}]}, "categories[0]"),
        ({"categories": [{"category": "library", "uri": "("}]}, "categories[0]"),
        ({"categories": [{"category": "library", "uri": "(?!a)b"}]}, "categories[0]"),
        (
            {"categories": [{"category": "library", "uri": "x"}, {"category": "library", "name": "(.?){200}"}]},
            "categories[1]",
        ),
        ({"categories": [{"category": "library", "uri": "x{400}"}] * 20}, "categories[12]"),
        ({"categories": [{"category": "library", "uri": "x" * 401}]}, "categories[0]"),
        ({"categories": [{"category": "library", "uri": "x"}] * 201}, "categories"),
        ({"parties": [{"domain": "x.example", "owner": "nobody"}]}, "parties[0].owner"),
        ({"parties": [{"domain": "https://x.example", "owner": "own"}]}, "parties[0]"),
        ({"packages": [{"path": "../x"}]}, "packages[0]"),
        ({"same_funcs": [{"from": "getLines", "to": NEW}]}, "same_funcs[0]"),
        ({"same_funcs": [{"from": OLD, "to": NEW}, {"from": OLD, "to": OTHER}]}, "same_funcs[1]"),
        ({"same_funcs": [{"from": OLD, "to": NEW}, {"from": NEW, "to": OLD}]}, "same_funcs"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(rules: Any, field: str) -> None:
    with pytest.raises(CodeRuleError) as caught:
        read_code_rules(rules)
    assert caught.value.field == field
