"""Routes: one page for all addresses of a template, and nothing private in its name."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.trace.routes import MAX_ROUTE_CHARS, MAX_SEGMENT_CHARS, clean_page, fits_rule, route_of_path, route_of_url
from tests.profcore.strategies import PROPERTY
from tests.urls import LOCAL_FILE


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("", "/"),
        ("/", "/"),
        ("//", "/"),
        ("/cart", "/cart"),
        ("/cart/", "/cart"),
        ("/a//b", "/a/b"),
        ("/product/81724", "/product/:id"),
        ("/product/9/reviews/3", "/product/:id/reviews/:id"),
        ("/v2/docs", "/v2/docs"),
        ("/user/0E5F7A54-2f0d-5c0b-8f0e-3b1f2a9d7c11", "/user/:id"),
        ("/user/0e5f7a542f0d5c0b8f0e3b1f2a9d7c11", "/user/:id"),
        ("/commit/deadbee1", "/commit/:id"),
        ("/cafe/deadbeef", "/cafe/deadbeef"),  # a word may be spelt with a to f alone
        ("/blog/2026-11-21", "/blog/:id"),
        ("/blog/2026-11", "/blog/:id"),
        ("/blog/2026/11", "/blog/:id/:id"),
        ("/p/blue-shirt-81724", "/p/:id"),
        ("/p/blue_shirt_817", "/p/:id"),
        ("/p/blue.817", "/p/:id"),
        ("/p/blue-shirt-81", "/p/blue-shirt-81"),  # a size or a version, not an id
        ("/p/blue-shirt-81724x", "/p/blue-shirt-81724x"),
        ("/p/817-817", "/p/817-817"),
        ("/s/01JD3ZK8Q1X5T9V7WMB2N4R6PY", "/s/:id"),
        ("/s/V1StGXR8_Z5jdHi6B-myT", "/s/:id"),
        ("/getting-started-with-profiling", "/getting-started-with-profiling"),
        ("/getting-started-with-es2015", "/getting-started-with-es2015"),
        ("/dc5be1a2-feed-4bad-8c0d-c0ffee123456", "/:id"),  # words of a UUID make no slug
        ("/u/ada@example.org", "/u/:id"),
        ("/u/ada%40example.org", "/u/:id"),
        ("/%37%37", "/:id"),
        ("/produit/caf%C3%A9", "/produit/caf%C3%A9"),
        ("/%zz", "/%zz"),
        ("/١٢٣", "/:id"),
    ],
)
def test_what_tells_one_address_from_another_becomes_an_id(path: str, route: str) -> None:
    assert route_of_path(path) == route


@pytest.mark.parametrize(
    ("url", "route"),
    [
        ("https://shop.example/product/7?session=SECRET#buy", "/product/:id"),
        ("https://ada:pw@shop.example/cart", "/cart"),
        ("/cart?x=1", "/cart"),
        ("https://shop.example", "/"),
        ("https://[broken/cart", "/"),
        ("not a url", "/not a url"),
        ("//shop.example/cart", "/cart"),
        (f"{LOCAL_FILE}/docs/cart", "/docs/cart"),
        ("about:blank", "/"),
        ("data:text/html,SECRET", "/"),
        ("blob:https://shop.example/9888", "/"),
        ("https://shop.example/cart;jsessionid=SECRET/pay", "/cart/pay"),
        ("https://shop.example/cart/pay;jsessionid=SECRET?x", "/cart/pay"),
    ],
)
def test_a_route_has_no_host_and_no_query(url: str, route: str) -> None:
    assert route_of_url(url) == route


@pytest.mark.parametrize(
    ("path", "rule", "fits"),
    [
        ("/a/b", "/a/:x", True),
        ("/a", "/a/:x", False),
        ("/a/b/c", "/a/:x", False),
        ("/a/b/c", "/a/*", True),
        ("/a", "/a/*", True),
        ("/b", "/a/*", False),
        ("/a/b/c", "/a/*/c", True),
        ("/a/b/d", "/a/*/c", False),
        ("/", "/", True),
        ("/a", "/", False),
        ("/", "/*", True),
        ("/x/y", "*", True),
    ],
)
def test_a_rule_is_a_template(path: str, rule: str, fits: bool) -> None:
    assert fits_rule([segment for segment in path.split("/") if segment], rule) is fits


def test_the_first_rule_that_fits_is_the_route() -> None:
    rules = ["/shop/:kind/new", "/shop/:kind/:product", "/shop/*"]
    assert route_of_url("https://shop.example/shop/shoes/new", rules) == "/shop/:kind/new"
    assert route_of_url("https://shop.example/shop/shoes/red-boots", rules) == "/shop/:kind/:product"
    assert route_of_url("https://shop.example/shop/1/2/3", rules) == "/shop/*"
    assert route_of_url("https://shop.example/help/1", rules) == "/help/:id"


def test_a_deep_path_is_cut() -> None:
    assert route_of_path("/a" * 12) == "/a" * 12
    assert route_of_path("/a" * 13) == "/a" * 12 + "/*"


def test_a_long_path_is_cut() -> None:
    assert route_of_path(("/" + "a" * 99) * 3) == ("/" + "a" * 99) * 3
    assert route_of_path(("/" + "a" * 99) * 4) == ("/" + "a" * 99) * 3 + "/*"


def test_a_long_segment_is_an_id() -> None:
    assert route_of_path("/x/" + "a" * 128) == "/x/" + "a" * 128
    assert route_of_path("/x/" + "a" * 129) == "/x/:id"


@pytest.mark.parametrize(
    ("page", "clean"),
    [
        ("/product/:id", "/product/:id"),
        ("  /cart ", "/cart"),
        ("/cart?token=SECRET", "/cart"),
        ("/cart#token=SECRET", "/cart"),
        ("https://ada:pw@shop.example/cart?x", "/cart"),
        ("//shop.example/cart", "/cart"),
        ("https://shop.example//cart/a", "/cart/a"),
        ("//shop.example///cart", "/cart"),
        ("/proxy/https://other.example/x", "/proxy/https://other.example/x"),
        ("blob:https://shop.example/9888", "/"),
        ("https://[broken/cart", "/"),
        ("?x", "/"),
        ("Checkout", "Checkout"),
        ("/cart?", "/cart"),
        ("https://shop.example/a?/b", "/a"),
        ("//shop.example/:a?/b?c", "/:a"),
        ("/go?to=https://other.example/?/x", "/go"),
        ("/:lang?/cart?token=SECRET/x", "/:lang?/cart"),
        ("/a?b/?/c", "/a"),
        ("/?token=SECRET", "/"),
        ("/:id?token=SECRET", "/:id"),
        ("/(a?b", "/(a"),
    ],
)
def test_a_page_that_the_client_names_loses_what_is_private(page: str, clean: str) -> None:
    assert clean_page(page) == clean


@pytest.mark.parametrize(
    "page",
    [
        "/:lang?/cart",
        "/:lang?/about",
        "/shop?/products/:id",
        "/product/?/reviews",
        "/product/?",
        "/?",
        "/?/?/x",
        "/users/:id?",
        "/:lang?/users/:id?",
        r"/:lang(en|de)?/cart",
        r"/:slug((?!admin).*)/x",
        r"/:slug((?:a|b)?)",
        ":lang?/cart",
    ],
)
def test_optional_segments_of_a_pattern_are_no_query(page: str) -> None:
    assert clean_page(page) == page
    assert clean_page(page + "?token=SECRET") == page
    assert clean_page(page + "#token=SECRET") == page


@PROPERTY
@given(st.text(alphabet="/?:()#ab", max_size=40))
def test_a_clean_page_is_its_own_clean_page(page: str) -> None:
    assert clean_page(clean_page(page)) == clean_page(page)


@pytest.mark.parametrize("segment", ["a", "a-1111", "-123", "%41", "a1!", "Az_-", "some-word-"])
def test_a_segment_too_long_for_the_patterns_is_an_id(segment: str) -> None:
    short = segment * (MAX_SEGMENT_CHARS // len(segment) + 1)
    assert route_of_path(f"/{segment * 20_000}/x") == "/:id/x"
    assert len(unquote(short)) <= MAX_SEGMENT_CHARS or route_of_path(f"/{short}") == "/:id"


@PROPERTY
@given(st.text(max_size=60), st.lists(st.sampled_from(["/*", "/a/:b", ":x", "/a/*/c"]), max_size=2))
def test_a_route_is_short_and_holds_no_query(url: str, rules: list[str]) -> None:
    route = route_of_url(url, rules)
    assert route in rules or route.startswith("/")
    assert len(route) <= MAX_ROUTE_CHARS
    assert "?" not in route
    assert "#" not in route


@PROPERTY
@given(st.lists(st.sampled_from(["cart", "7", "a-123", "x" * 150, "é"]), max_size=15))
def test_a_route_is_its_own_route(segments: list[str]) -> None:
    route = route_of_path("/" + "/".join(segments))
    assert route_of_path(route) == route
    assert len(route) <= MAX_ROUTE_CHARS
