"""Label selectors: Prometheus' syntax, within bounds, and no pattern that takes for ever."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.formats.pyroscope.matchers import (
    MAX_MATCHERS,
    MAX_SELECTOR_CHARS,
    LabelMatcher,
    SelectorError,
    parse_selector,
    unescape,
)


def accepted(selector: str, *values: str) -> list[str]:
    (matcher,) = parse_selector(selector)
    return [value for value in values if matcher.accepts(value)]


@pytest.mark.parametrize("selector", ["", "  ", "{}", " { } "])
def test_an_empty_selector_has_no_conditions(selector: str) -> None:
    assert list(parse_selector(selector)) == []


def test_each_operator_compares_whole_values() -> None:
    values = ("1.0.0", "1.1.0", "11.1.0", "")
    assert accepted('{release="1.0.0"}', *values) == ["1.0.0"]
    assert accepted('{release!="1.0.0"}', *values) == ["1.1.0", "11.1.0", ""]
    assert accepted(r'{release=~"1\\..*"}', *values) == ["1.0.0", "1.1.0"]
    assert accepted(r'{release!~"1\\..*"}', *values) == ["11.1.0", ""]


def test_conditions_are_listed_in_order_and_may_end_with_a_comma() -> None:
    one, two = parse_selector("""{ service_name = 'shop' , "page" =~ `/product/\\d+`, }""")
    assert (one.label, one.texts, one.is_positive) == ("service_name", frozenset({"shop"}), True)
    assert (two.label, two.texts) == ("page", None)
    assert two.accepts("/product/17")


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("/cart", {"/cart"}),
        ("/cart|/pay", {"/cart", "/pay"}),
        (r"(1\\.0\\.0|1\\.1\\.0)", {"1.0.0", "1.1.0"}),
        (r"/a\\|b", {"/a|b"}),
        ("/a|", {"/a", ""}),
        ("", {""}),
        ("/product/:id", {"/product/:id"}),
    ],
)
def test_plain_alternatives_name_their_texts(pattern: str, texts: set[str]) -> None:
    assert list(parse_selector(f'{{page=~"{pattern}"}}')) == [LabelMatcher("page", True, frozenset(texts))]


@pytest.mark.parametrize("pattern", ["/a.", "/a*", "(/a|/b)c", r"\\d", r"(/a\\)x", "(/a)|(/b)", "^/a$", "/[ab]"])
def test_other_patterns_name_none(pattern: str) -> None:
    try:
        (matcher,) = parse_selector(f'{{page=~"{pattern}"}}')
    except SelectorError:
        assert pattern == r"(/a\\)x"
    else:
        assert matcher.texts is None


@pytest.mark.parametrize(
    ("selector", "detail"),
    [
        ("page", "A label selector is written"),
        ("{", "A label selector is written"),
        ("{page}", "cannot be read from 'page}'"),
        ('{page=="/a"}', "cannot be read"),
        ('{page="/a" release="1"}', "needs a comma before"),
        ('{page="/a",,release="1"}', "cannot be read"),
        ('{pa ge="/a"}', "cannot be read"),
        ('{page="/a}', "cannot be read"),
        (r'{page="\q"}', "unknown escape"),
        (r'{page="\uD800"}', "unknown escape"),
        (r'{page="\UFFFFFFFF"}', "unknown escape"),
        ('{page=~"("}', "Of page, the pattern '(' cannot be read"),
        (f'{{page=~"{"(a|b?){40}" * 40}"}}', "Of page, the pattern"),
        ("{" + 'page="/a",' * (MAX_MATCHERS + 1) + "}", f"more than {MAX_MATCHERS} conditions"),
        ("{" + " " * MAX_SELECTOR_CHARS + "}", f"more than {MAX_SELECTOR_CHARS} characters"),
    ],
)
def test_what_cannot_be_read_is_said(selector: str, detail: str) -> None:
    with pytest.raises(SelectorError) as raised:
        parse_selector(selector)
    assert detail in str(raised.value)


def test_escapes_are_those_of_go() -> None:
    assert unescape(r"\a\b\f\n\r\t\v\\\"\'\x41\u00e9\U0001F600") == "\a\b\f\n\r\t\v\\\"'Aé😀"


def read(selector: str) -> str:
    """Returns the error of a selector, "" if it can be read."""
    try:
        parse_selector(selector)
    except SelectorError as error:
        return str(error)
    return ""


@given(st.text(max_size=300))
def test_any_text_is_a_selector_or_an_error(text: str) -> None:
    for selector in (text, f"{{{text}}}", f'{{page=~"{text}"}}'):
        assert read(selector)[-1:] in ("", ".")


@pytest.mark.parametrize("text", ["\\\\." * 5_000, "a|" * 8_000, "(" * 16_000, "|" * 16_000, "\\" * 16_000])
def test_long_patterns_are_read_in_linear_time(text: str) -> None:
    started_s = time.process_time()
    read(f'{{page=~"{text}"}}')
    assert time.process_time() - started_s < 1.0
