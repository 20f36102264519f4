"""Functions, pages and releases by a part of their name."""

import pytest
from pytest_django import Settings

from aggregate.selectors.search.function_hits import find_functions
from aggregate.selectors.search.matching import escape_like, rank_name
from aggregate.selectors.search.place_hits import find_pages, find_releases
from ingest.models import Group
from projects.models import Project
from tests.builders import MONDAY, make_func, make_group, make_label, make_project

pytestmark = pytest.mark.django_db
BUNDLE = "https://shop.example/assets/app.{}.js"


@pytest.fixture
def shop() -> Project:
    project = make_project("shop")
    make_group(project, "2025.1", "/")  # traces have come, or there would be no functions
    return project


def names(*projects: Project, text: str, limit: int = 8) -> list[str]:
    functions = find_functions([project.pk for project in projects], text, limit=limit)
    return [f"{row.name} {row.place}".strip() for row in functions]


def test_the_name_itself_comes_first_then_beginnings_words_and_shorter_names(shop: Project) -> None:
    for name in ("prerender", "doRender", "renderRow", "unrenderedRows", "Render"):
        make_func(shop, name, column=1)
    labels = [row.name for row in find_functions([shop.pk], "render", limit=8)]
    assert labels == ["Render", "renderRow", "doRender", "prerender", "unrenderedRows"]
    assert sorted(["prerender", "doRender"], key=lambda name: rank_name(name, "render")) == ["doRender", "prerender"]


def test_no_more_are_found_than_wanted(shop: Project) -> None:
    for n in range(5):
        make_func(shop, f"draw{n}")
    assert len(names(shop, text="draw", limit=3)) == 3


def test_a_text_means_itself_and_no_pattern(shop: Project) -> None:
    make_func(shop, "a_b", column=1)
    make_func(shop, "axb", column=1)
    make_func(shop, "100%\\", column=1)
    assert names(shop, text="a_b") == ["a_b app.js:1:1"]
    assert names(shop, text="0%\\") == ["100%\\ app.js:1:1"]
    assert escape_like("%_\\") == "\\%\\_\\\\"
    assert names(shop, text="a\0_b") == ["a_b app.js:1:1"]


def test_files_are_found_by_their_name_and_not_by_their_host(shop: Project) -> None:
    make_func(shop, "draw", uri="https://shop.example/assets/cart.js", column=7)
    make_func(shop, "push", uri=None, line=None)
    assert names(shop, text="cart.j") == ["draw cart.js:1:7"]
    assert names(shop, text="shop.ex") == []
    assert names(shop, text="push") == ["push"]


def test_names_come_before_files_of_that_name(shop: Project) -> None:
    make_func(shop, "other", uri="https://a.example/cart.js", column=1)
    make_func(shop, "openCartDrawer", column=1)
    assert names(shop, text="cart") == ["openCartDrawer app.js:1:1", "other cart.js:1:1"]


def test_a_function_of_many_bundles_is_found_once_as_the_newest(shop: Project) -> None:
    for n in range(4):
        newest = make_func(shop, "draw", uri=BUNDLE.format(f"abcdef0{n}"), column=5)
    (function,) = find_functions([shop.pk], "draw", limit=8)
    assert function.func_id == newest.id


def test_functions_are_found_as_source_maps_name_them(shop: Project) -> None:
    short = make_func(shop, "xt", uri=BUNDLE.format("abcdef01"))
    make_label(short, "1.0.0", "src/rules/findRule.ts", "findRuleFor", line=12, column=3)
    assert names(shop, text="rulefor") == ["findRuleFor findRule.ts:12:3"]
    assert names(shop, text="findrule.ts") == ["findRuleFor findRule.ts:12:3"]
    assert names(shop, text="xt") == ["findRuleFor findRule.ts:12:3"]  # the name that a stack trace may have
    assert names(shop, text="rules/") == []


def test_only_the_given_projects_are_searched(shop: Project) -> None:
    other = make_project("other")
    make_func(shop, "drawMine", column=1)
    make_func(other, "drawTheirs", column=1)
    make_group(other, "2.0.0-theirs", "/theirs")
    assert names(shop, text="draw") == ["drawMine app.js:1:1"]
    assert names(shop, other, text="draw") == ["drawMine app.js:1:1", "drawTheirs app.js:1:1"]
    assert find_pages([shop.pk], "their", limit=5) == find_releases([shop.pk], "their", limit=5) == []


def test_only_the_newest_functions_are_read(shop: Project, settings: Settings) -> None:
    make_func(shop, "drawOld", column=1)
    make_func(shop, "drawNew", column=1)
    settings.SEARCH_MAX_FUNCS = 1
    assert names(shop, text="draw") == ["drawNew app.js:1:1"]


def test_pages_and_releases_with_data_are_found(shop: Project) -> None:
    for page in ("/cart", "/cart/:id", "/my-cart", "/list"):
        make_group(shop, "2026.1", page)
    make_group(shop, "2026.2", "/list")
    make_group(shop, "2025.9", "/carton")
    Group.objects.filter(page="/carton").update(closed_at=MONDAY)
    assert [row.name for row in find_pages([shop.pk], "CART", limit=5)] == ["/cart", "/my-cart", "/cart/:id"]
    assert [row.name for row in find_pages([shop.pk], "/cart", limit=1)] == ["/cart"]
    assert {row.name for row in find_releases([shop.pk], "2026", limit=5)} == {"2026.1", "2026.2"}
