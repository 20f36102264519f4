"""The page of a trace: the client's own route, else one made of its URL; and how many there may be."""

import pytest
from pytest_django import Settings

from ingest.door.keys import forget_keys
from ingest.models import Project
from profcore.trace.routes import MAX_ROUTE_CHARS
from tests.envelopes import make_envelope, view_id_of
from tests.ingest.door.posting import Door

SHOP = "https://shop.example"


def post_url(door: Door, url: str) -> list[str]:
    answer = door.post(make_envelope("a", page=None, url=url))
    assert answer.status == 202, answer.json
    return door.pages()


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("", "/"),
        ("/", "/"),
        ("/cart", "/cart"),
        ("/cart/", "/cart"),
        ("//cart", "/cart"),
        ("/product/81724", "/product/:id"),
        ("/product/blue-shirt-81724", "/product/:id"),
        ("/order/0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11/edit", "/order/:id/edit"),
        ("/commit/9fceb02d0ae598e95dc970b74767f19372d61af8", "/commit/:id"),
        ("/news/2026-11-21/rain", "/news/:id/rain"),
        ("/user/ann@example.com", "/user/:id"),
        ("/user/ann%40example.com", "/user/:id"),
        ("/share/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/share/:id"),
        ("/deadbeef", "/deadbeef"),
        ("/about-us", "/about-us"),
        ("/v2/cart", "/v2/cart"),
        ("/cart;jsessionid=0A1B2C", "/cart"),
        ("/%E5%95%86", "/%E5%95%86"),
        ("/" + "x" * 129, "/:id"),
    ],
)
def test_what_differs_from_visit_to_visit_becomes_an_id(door: Door, path: str, page: str) -> None:
    assert post_url(door, SHOP + path + "?token=1#part") == [page]


def test_the_clients_own_page_comes_before_the_url(door: Door) -> None:
    door.post(make_envelope("a", page="/product/:slug", url=f"{SHOP}/product/81724"))
    assert door.pages() == ["/product/:slug"]


@pytest.mark.parametrize(
    "url", ["about:blank", "data:text/html,SECRET", f"blob:{SHOP}/0e5f", "javascript:alert(1)", "http://[", "?q", "x:y"]
)
def test_a_url_without_a_path_is_the_root(door: Door, url: str) -> None:
    assert post_url(door, url) == ["/"]


def test_a_projects_rules_come_first(door: Door) -> None:
    Project.objects.update(route_rules=["/shop/:category/sale", "/docs/*"])
    forget_keys()
    for number, path in enumerate(("/shop/hats/sale", "/shop/shoes/sale", "/docs/a/b/c", "/docs", "/shop/hats/7")):
        door.post(make_envelope(str(number), page=None, url=SHOP + path))
    assert door.pages() == ["/docs/*", "/shop/:category/sale", "/shop/hats/:id"]


@pytest.mark.parametrize("url", [SHOP + "/a" * 30_000, SHOP + "/" + "é" * 60_000, SHOP + "/a-b" * 16_000])
def test_a_long_url_is_cut_soon(door: Door, url: str) -> None:
    (page,) = post_url(door, url)
    assert len(page) <= MAX_ROUTE_CHARS


def test_release_and_page_of_the_longest_kind_fit_their_index(door: Door) -> None:
    answer = door.post(make_envelope("a", release="🛒" * 200, page="/" + "🛒" * 399))
    assert answer.status == 202
    assert len(door.pages()[0]) == 400


def test_beyond_the_bound_new_pages_are_refused_and_known_ones_taken(door: Door, settings: Settings) -> None:
    settings.INGEST_MAX_GROUPS = 2
    assert door.post([make_envelope("a", page="/1"), make_envelope("b", page="/2")]).json["accepted"] == 2
    answer = door.post(make_envelope("c", page="/3"))
    assert (answer.status, answer.reason, answer.json["path"]) == (429, "too_many_pages", "$.page")
    assert int(answer.headers["Retry-After"]) > 0
    named = "0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11"
    answer = door.post(
        [make_envelope("d", page="/1"), make_envelope("e", page="/3", traceId=named), 7, make_envelope("f", page="/2")]
    )
    assert (answer.status, answer.json["accepted"]) == (202, 2)
    assert [(r["index"], r["traceId"], r["reason"]) for r in answer.json["rejected"]] == [
        (1, named, "too_many_pages"),
        (2, None, "wrong_type"),
    ]
    assert door.pages() == ["/1", "/2"]
    assert {view for view, _ in door.receipts()} == {view_id_of(word) for word in "abdf"}
    assert door.refusals() == {"too_many_pages": 2, "wrong_type": 1}


def test_new_pages_are_taken_up_to_the_bound_within_one_body(door: Door, settings: Settings) -> None:
    settings.INGEST_MAX_GROUPS = 3
    answer = door.post([make_envelope(str(n), page=f"/{n}") for n in range(5)])
    assert answer.json["accepted"] == 3
    assert len(door.pages()) == 3
