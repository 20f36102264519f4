"""Patterns of pages: a star is any text, and a made-up page takes no longer than others."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.alerts.routing import is_page_wanted


@pytest.mark.parametrize(
    ("pattern", "page", "is_matched"),
    [
        ("/cart", "/cart", True),
        ("/cart", "/cart/", False),
        ("/product/:id", "/product/:id", True),
        ("/product/:id", "/product/7", False),
        ("/checkout/*", "/checkout/pay", True),
        ("/checkout/*", "/checkout", False),
        ("*", "", True),
        ("/a*a", "/a", False),
        ("*/edit*", "/posts/:id/edit", True),
        ("/a*b*a", "/aba", True),
        ("/a*b*a", "/aa", False),
        ("/x.y", "/xzy", False),
    ],
)
def test_a_star_is_any_text_and_all_else_is_itself(pattern: str, page: str, is_matched: bool) -> None:
    assert is_page_wanted([pattern], page) is is_matched


@given(st.text("a/*", max_size=8), st.text("a/*", max_size=12))
def test_it_is_what_a_regular_expression_says(pattern: str, page: str) -> None:
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert is_page_wanted([pattern], page) is (re.fullmatch(expression, page) is not None)


def test_without_patterns_each_page_is_wanted_and_with_them_none_about_all_pages() -> None:
    assert is_page_wanted(None, None)
    assert is_page_wanted(None, "/cart")
    assert is_page_wanted(["/list", "/c*"], "/cart")
    assert not is_page_wanted(["/list"], "/cart")
    assert not is_page_wanted(["*"], None)
    assert not is_page_wanted([], "/cart")
