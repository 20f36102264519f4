"""Func categories follow the documented rules, without a network, also for hostile names and URIs."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.code.categories import (
    FUNC_CATEGORIES,
    RULES,
    CategoryRule,
    ProjectPattern,
    categorize,
    category_key_of,
)
from profcore.code.sites import origin_of, site_of, sites_of
from profcore.trace.funcs import FuncKey

SHOP = sites_of(["https://www.shop.example.co.uk", "*"])


def at(uri: str | None, name: str = "f", line: int | None = 1) -> FuncKey:
    return FuncKey(uri, line, line, name)


@pytest.mark.parametrize(
    ("key", "category"),
    [
        (at(None, "Profiler", None), "profiler"),
        (at(None, "stop", None), "profiler"),
        (at(None, "appendChild", None), "built-in"),
        (at(None, "", None), "built-in"),
        (at(None, "js-to-wasm:i:i", None), "webassembly"),
        (at(None, "f", 3), "eval"),
        (at("chrome-extension:"), "extension"),
        (at("moz-extension:"), "extension"),
        (at("wasm://wasm/noise-1a2b"), "webassembly"),
        (at("https://www.shop.example.co.uk/lib/codec.wasm"), "webassembly"),
        (at("https://www.shop.example.co.uk/node_modules/react/index.js"), "library"),
        (at("https://cdn.jsdelivr.net/npm/d3@7/dist/d3.min.js"), "library"),
        (at("webpack-internal:///./node_modules/lodash/map.js"), "library"),
        (at("webpack-internal:///./src/app.js"), "eval"),
        (at("data:"), "eval"),
        (at("made-up.js"), "eval"),
        (at("javascript:void(0)"), "inline"),
        (at("https://www.shop.example.co.uk/product/:id"), "inline"),
        (at("https://www.shop.example.co.uk/"), "inline"),
        (at("https://www.shop.example.co.uk/v1.2/cart"), "inline"),
        (at("https://www.shop.example.co.uk/cart.html"), "inline"),
        (at("https://www.shop.example.co.uk/assets/main-A1.js"), "first-party"),
        (at("https://static.shop.example.co.uk:8443/main.js"), "first-party"),
        (at("blob:https://www.shop.example.co.uk"), "first-party"),
        (at("https://www.other.co.uk/assets/main.js"), "third-party"),
        (at("https://www.googletagmanager.com/gtag/js"), "third-party"),
        (at("null"), "eval"),
        (at("https://[::1/x.js"), None),
    ],
)
def test_each_func_has_the_category_of_the_first_rule_that_fits(key: FuncKey, category: str | None) -> None:
    assert categorize(key, SHOP) == category


def test_without_known_sites_own_and_foreign_cannot_be_told_apart() -> None:
    assert categorize(at("https://a.example/x.js"), frozenset()) is None
    assert categorize(at("https://a.example/node_modules/x/y.js"), frozenset()) == "library"


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("a.b.example.com", "example.com"),
        ("A.Example.COM.", "example.com"),
        ("me.github.io", "me.github.io"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
    ],
)
def test_a_site_is_the_registrable_domain(host: str, site: str) -> None:
    assert site_of(host) == site


def test_sites_come_from_the_origins_of_keys() -> None:
    assert sites_of(["*", "null", "https://*.shop.example", "http://localhost:3000", "nonsense"]) == {
        "shop.example",
        "localhost",
    }


def test_a_neighbour_on_a_shared_suffix_is_a_stranger() -> None:
    assert categorize(at("https://evil.github.io/x.js"), sites_of(["https://me.github.io"])) == "third-party"


def test_a_projects_rules_come_first() -> None:
    vendored, own = at("https://www.shop.example.co.uk/vendor/chart.js"), at("https://www.shop.example.co.uk/app.js")
    rules = [CategoryRule(category="library", reason="our vendored code", uri=ProjectPattern("/vendor/"))]
    assert (categorize(vendored, SHOP), categorize(own, SHOP)) == ("first-party", "first-party")
    assert (categorize(vendored, SHOP, rules), categorize(own, SHOP, rules)) == ("library", "first-party")


def test_a_rule_for_no_category_is_refused() -> None:
    with pytest.raises(ValueError, match="category must be one of"):
        CategoryRule(category="nonsense", reason="")


@pytest.mark.parametrize(
    ("pattern", "detail"),
    [
        ("(", "missing \\)"),
        (r"(?=a)b", "cannot be read"),
        (r"(a)\1", "cannot be read"),
        ("(a{1000}){1000}", "cannot be read"),
        (r"[\pL]{200}", "cannot be read"),
        ("(?:.?){200}", "too many alternatives"),
        ("(.|..|...){1,80}", "too many alternatives"),
    ],
)
def test_a_pattern_that_is_broken_or_too_large_is_refused(pattern: str, detail: str) -> None:
    with pytest.raises(ValueError, match=detail):
        ProjectPattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a|a)*c", "(a|aa)*c", "(a*)*c", "(a+)+$", "(.*a){9}b", ".*a.*a.*a.*a.*b", "(x+x+)+y"]
)
def test_patterns_that_would_freeze_a_backtracking_engine_answer(pattern: str) -> None:
    """Python's own engine takes hours for some of these, and longer than the universe for others."""
    regex = ProjectPattern(pattern)
    for name in ("a" * 1_999 + "!", "x" * 2_000, "é" * 2_000, "\ud800" * 2_000):
        assert regex.fullmatch(name) is None


def test_project_patterns_search_and_match_as_documented() -> None:
    assert ProjectPattern("lib/").search("https://x.example/lib/a.js")
    assert ProjectPattern("lib/").fullmatch("https://x.example/lib/a.js") is None
    assert ProjectPattern("(?i)HELPER.*").fullmatch("helperÜ")


def test_every_category_has_a_rule_and_every_rule_is_in_the_documentation() -> None:
    assert {rule.category for rule in RULES} == set(FUNC_CATEGORIES)
    documented = (Path(__file__).parents[3] / "docs" / "categories.md").read_text()
    rows = re.findall(r"^\| \d+ \| (\S+) \| (.*?) \|$", documented, flags=re.MULTILINE)
    assert rows == [(rule.category, rule.reason) for rule in RULES]


@given(st.text(max_size=200), st.text(max_size=50), st.none() | st.integers(1, 9))
def test_hostile_uris_and_names_raise_nothing(uri: str, name: str, line: int | None) -> None:
    for text in (uri, "https://" + uri, "blob:" + uri):
        category = categorize(FuncKey(text, line, line, name), SHOP)
        assert category is None or category in FUNC_CATEGORIES
        origin_of(text)


BY_NAME = (CategoryRule(category="library", reason="our helpers", name=ProjectPattern("helper.*")),)
FUNCS = st.builds(
    FuncKey,
    st.sampled_from([None, "https://www.shop.example.co.uk/app.js", "https://cdn.example/x.js", "wasm:", "data:"]),
    st.sampled_from([None, 1, 2]),
    st.just(1),
    st.sampled_from(["", "f", "helperOfRows", "stop", "Profiler", "js-to-wasm:i"]),
)


@given(FUNCS, FUNCS, st.sampled_from([(), BY_NAME]))
def test_functions_with_equal_facts_have_one_category(
    one: FuncKey, other: FuncKey, rules: tuple[CategoryRule, ...]
) -> None:
    by_name = bool(rules)
    if category_key_of(one, by_name=by_name) == category_key_of(other, by_name=by_name):
        assert categorize(one, SHOP, rules) == categorize(other, SHOP, rules)


def test_functions_of_one_script_share_their_facts_unless_a_rule_looks_at_names() -> None:
    one, other = at("https://cdn.example/x.js", "f", 1), at("https://cdn.example/x.js", "g", 2)
    assert category_key_of(one, by_name=False) == category_key_of(other, by_name=False)
    assert category_key_of(one, by_name=True) != category_key_of(other, by_name=True)
