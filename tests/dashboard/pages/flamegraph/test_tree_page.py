"""The page "Flame graph" without its script: what is there at once, what leads on, and what is refused."""

import html
import re

import pytest
from django.test import Client
from pytest_django import Settings

from projects.models import Project
from tests.builders import make_call_tree, make_cell, make_func, make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import HOSTILE, attribute, text_of

TREE = "/projects/shop/flame-graph/"


def test_the_page_names_the_data_of_its_slice(member: Client) -> None:
    page = member.get(TREE + "?page=/cart&release=1.0.0").content.decode()
    address = attribute(page, "data-url")
    assert address == "/api/v1/projects/shop/flamegraph?release=1.0.0&page=/cart"
    assert member.get(address).json()["head"]["views"] == 1
    assert re.search(r'aria-current="page"[^>]*>Flame graph<', page)


def test_the_table_has_the_calls_without_a_script(member: Client) -> None:
    text = text_of(member, TREE + "?plain=1")
    assert "Level 1: main app.js:1:10 9 ms 100 % 2 ms 0 ms" in text
    assert "Level 2: draw app.js:1:20 7 ms 77.8 % 7 ms 0 ms" in text
    assert "2 calls. From 1 page views." in text


def test_a_page_without_a_script_leads_to_the_table(member: Client) -> None:
    page = member.get(TREE + "?page=/cart").content.decode()
    aside = page[page.index("<noscript>") : page.index("</noscript>")]
    assert '<a href="/projects/shop/flame-graph/?page=/cart&amp;plain=1">' in aside


def test_two_releases_are_compared(member: Client, shop: Project) -> None:
    cell = make_cell(shop, release="2.0.0", views=2, js_us=36_000)
    make_call_tree(cell, [(-1, make_func(shop, "main", column=10), 36_000)])
    address = TREE + "?base_release=1.0.0&head_release=2.0.0&plain=1&page=/cart"
    text = text_of(member, address)
    assert "Level 1: main app.js:1:10 18 ms 100 % 9 ms 18 ms 0 ms" in text
    assert "Level 2: draw app.js:1:20 0 ms 0.0 % 7 ms 0 ms 0 ms" in text
    page = member.get(address).content.decode()
    sides = "page=/cart&base_release=1.0.0&head_release=2.0.0"
    assert attribute(page, "data-url").endswith("flamegraph?" + sides)
    assert attribute(page, "data-profile-url").endswith(f"profile?{sides}&format=firefox&compress=gzip&sources=content")
    downloads = re.findall(r'<a href="([^"]+)" download>', page)
    assert downloads
    assert {member.get(html.unescape(link)).status_code for link in downloads} == {200}
    bar = page[page.index('<form class="slice-bar"') : page.index("</form>", page.index("slice-bar"))]
    assert 'name="release"' not in bar  # the two sides name theirs
    assert '<input type="hidden" name="base_release" value="1.0.0">' in bar
    assert '<input type="hidden" name="plain" value="1">' in bar


def test_any_two_slices_are_compared_and_the_bar_keeps_what_both_share(member: Client, shop: Project) -> None:
    make_call_tree(make_cell(shop, page="/list", js_us=4_000), [(-1, make_func(shop, "main", column=10), 4_000)])
    address = TREE + "?page=/cart&head_page=/list&release=1.0.0&plain=1"
    page = member.get(address).content.decode()
    assert "main app.js:1:10 4 ms 100 % 9 ms" in text_of(member, address)
    assert attribute(page, "data-url").endswith("flamegraph?release=1.0.0&base_page=/cart&head_page=/list")
    assert "<bdi>/cart</bdi></b> to <b><bdi>/list</bdi>" in page
    bar = page[page.index('<form class="slice-bar"') : page.index("</form>", page.index("slice-bar"))]
    assert 'name="release" value="1.0.0" checked' in bar
    assert 'name="page"' not in bar
    assert '<input type="hidden" name="head_page" value="/list">' in bar
    assert '"/projects/shop/compare/?release=1.0.0&amp;base_page=/cart&amp;head_page=/list"' in page


def test_noise_is_asked_for_unless_the_filter_is_finer_than_page_views(member: Client) -> None:
    sides = "base_page=/cart&head_page=/list"
    judged = attribute(member.get(f"{TREE}?{sides}").content.decode(), "data-compare-url")
    assert judged == f"/api/v1/projects/shop/compare?{sides}"
    assert member.get(judged + "&measure=total&only=significant").status_code == 200
    assert attribute(member.get(f"{TREE}?{sides}&tag=a:b").content.decode(), "data-compare-url") == ""


@pytest.mark.parametrize("query", ["base_release=1.0.0", "show=x", "plain=x", "device=x"])
def test_a_bad_address_is_answered_in_words(member: Client, query: str) -> None:
    assert "This address is not valid" in text_of(member, f"{TREE}?{query}", 400)


def test_names_are_text_and_nothing_else(member: Client, shop: Project) -> None:
    cell = make_cell(shop, release="<b>", js_us=5_000)
    make_call_tree(cell, [(-1, make_func(shop, HOSTILE), 5_000)])
    for how in ("show=table", "plain=1"):
        page = member.get(f"{TREE}?{how}&base_release=<b>&head_release=1.0.0").content.decode()
        assert "<script>alert" not in page
        assert "<b></bdi>" not in page
        assert re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", page) is None


def test_a_project_without_a_release_leads_to_the_first_steps(member: Client, people: People) -> None:
    fresh = make_project("fresh")
    fresh.memberships.create(user=people.member)
    assert member.get("/projects/fresh/flame-graph/").headers["Location"] == "/projects/fresh/"


def test_nothing_in_the_slice_leads_on(member: Client) -> None:
    text = text_of(member, TREE + "?plain=1&release=9")
    assert "No calls here. Clear filters" in text


def test_a_slice_that_is_too_large_is_reported_with_the_way_on(
    client: Client, site: Project, settings: Settings, people: People
) -> None:
    settings.READ_MAX_RAW_TRACES = 1
    site.memberships.create(user=people.owner)
    client.force_login(people.owner)
    text = text_of(client, "/projects/site/flame-graph/?plain=1&tag=cache:warm")
    assert "More than 1 raw traces would be folded" in text
    assert "POST /api/v1/projects/site/jobs" in text
    assert client.get("/projects/site/flame-graph/?tag=cache:warm").status_code == 200


def test_deep_calls_keep_their_level_and_stop_being_indented(member: Client, shop: Project) -> None:
    funcs = [make_func(shop, f"f{level}") for level in range(40)]
    make_call_tree(
        make_cell(shop, page="/deep", js_us=5), [(n - 1, func, int(n == 39)) for n, func in enumerate(funcs)]
    )
    page = member.get(TREE + "?plain=1&page=/deep").content.decode()
    assert "Level 40: " in page
    assert "indent-12" in page
    assert "indent-13" not in page


def test_without_script_what_is_looked_for_stands_out_and_the_bar_has_the_search(member: Client) -> None:
    page = member.get(TREE + "?plain=1&q=DRAW&category=").content.decode()
    assert 'name="q" value="DRAW"' in page
    assert page.count('<tr class="beside">') == 1  # main, which called it
    assert "1 match the search, the others are pale" in page
    assert 'class="beside"' not in member.get(TREE + "?plain=1").content.decode()


def test_category_and_search_go_along_to_a_comparison(member: Client, shop: Project) -> None:
    make_cell(shop, release="2.0.0", js_us=5)
    page = member.get(TREE + "?q=draw&category=library&base_release=1.0.0&head_release=2.0.0").content.decode()
    form = page[page.index('class="compare" data-slice') :]
    form = form[: form.index("</form>")]
    assert '<input type="hidden" name="category" value="library"><input type="hidden" name="q" value="draw">' in form
    assert page.count("category=library&amp;q=draw") >= 3  # tabs, and both links of the comparison
