"""Route rules are checked first: errors tell what is wrong, and which rule is never reached."""

import pytest

from profcore.trace.routes import RouteRuleError, check_rule, find_unreached, route_of_path


@pytest.mark.parametrize("rule", ["/", "/cart", "/product/:sku", "/shop/*", "/:country/cart/", "/a/*/b", "/caf%C3%A9"])
def test_a_rule_that_can_fit_is_taken(rule: str) -> None:
    check_rule(rule)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("cart", "begin with /"),
        ("https://shop.example/cart", "without scheme and host"),
        ("/cart?x=1", "a route ends before these"),
        ("/cart#top", "a route ends before these"),
        ("/my cart", "a space"),
        ("/a\u200fb", "control character"),
        ("/café", "/caf%C3%A9"),
        ("/product/:", "needs a name"),
        ("/product-*", "be alone between slashes"),
        ("/product/x:sku", "first character of its segment"),
        ("/" + "a" * 400, "more than 400"),
    ],
)
def test_a_rule_that_would_not_do_what_it_seems_to_is_refused(rule: str, message: str) -> None:
    with pytest.raises(RouteRuleError, match=message.replace("*", r"\*")):
        check_rule(rule)


@pytest.mark.parametrize(
    ("rules", "unreached"),
    [
        (["/product/:id", "/product/new"], {1: 0}),
        (["/product/new", "/product/:id"], {}),
        (["/shop/*", "/shop/cart", "/shop"], {1: 0, 2: 0}),
        (["/a/:x", "/a/*"], {}),
        (["/a/*", "/a/b/*"], {1: 0}),
        (["/a/b/*", "/a/*"], {}),
        (["/*", "/"], {1: 0}),
        (["/a/*/c", "/a/:b/c"], {1: 0}),
        (["/x", "/x"], {1: 0}),
    ],
)
def test_a_rule_behind_one_that_fits_all_of_it_is_found(rules: list[str], unreached: dict[int, int]) -> None:
    assert find_unreached(rules) == unreached


@pytest.mark.parametrize("path", ["/shop/cart", "/a/b/c", "/a/b", "/", "/product/new", "/x"])
def test_what_is_called_unreached_really_is(path: str) -> None:
    rules = ["/product/:id", "/product/new", "/shop/*", "/shop/cart", "/a/*", "/a/b/*", "/x", "/x/"]
    unreached = {rules[at] for at in find_unreached(rules)}
    assert unreached == {"/product/new", "/shop/cart", "/a/b/*", "/x/"}
    assert route_of_path(path, rules) not in unreached
