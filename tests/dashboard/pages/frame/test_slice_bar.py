"""The slice bar: category and search go along between pages, and what is chosen can be taken away one by one."""

import html
import re

import pytest
from django.test import Client

from ingest.models import Project
from tests.builders import make_cell, make_func, make_hotspot

ALL = "release=1.0.0&page=/cart&category=first-party&category=library&q=Dr%C3%A4w&tag=a:b&tag=c:d"


def read_bar(client: Client, address: str) -> str:
    page = html.unescape(client.get(address).content.decode())
    start = page.index('<form class="slice-bar"')
    return page[start : page.index("</form>", start)]


def read_tabs(client: Client, address: str) -> dict[str, str]:
    page = html.unescape(client.get(address).content.decode())
    start = page.index('<nav class="tabs"')
    return {word: link for link, word in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)<', page[start:])}


def read_chips(bar: str) -> list[tuple[str, str]]:
    found = re.findall(r'class="chip" href="([^"]+)".*?class="muted">([^<]+)</span> <\w+>(.*?)</', bar, re.S)
    return [(f"{field} {word}", link) for link, field, word in found]


@pytest.mark.parametrize("here", ["/projects/shop/", "/projects/shop/page/", "/projects/shop/tree/"])
def test_category_and_search_go_along_to_every_page_of_a_slice(member: Client, here: str) -> None:
    tabs = read_tabs(member, f"{here}?{ALL}")
    for word in ("Overview", "Functions", "Flame graph"):
        assert "category=first-party&category=library&q=Dr%C3%A4w" in tabs[word]
        assert "tag=a:b" in tabs[word]


def test_where_no_function_is_shown_they_go_along_unseen(member: Client) -> None:
    bar = read_bar(member, f"/projects/shop/?{ALL}")
    for name, value in (("category", "first-party"), ("category", "library"), ("q", "Dräw")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in bar
    assert "Category" not in bar
    assert "category=library&q=Dr%C3%A4w" in (re.search(r'href="([^"]+)"[^>]*>7 days', bar) or [""])[1]


def test_the_flame_graph_has_the_category_and_a_search_of_its_own(member: Client) -> None:
    bar = read_bar(member, f"/projects/shop/tree/?{ALL}")
    assert 'name="category" value="library" checked' in bar
    assert '<input type="hidden" name="q" value="Dräw">' in bar
    assert 'type="search" class="search"' not in bar


def test_every_chosen_value_is_a_chip_that_leads_to_the_rest(member: Client) -> None:
    address = f"/projects/shop/page/?{ALL}&from=2026-11-16T09:00Z&sort=total_ms"
    bar = read_bar(member, address)
    chips = dict(read_chips(bar))
    assert [word for word in chips if not word.startswith("Time")] == [
        "Release 1.0.0",
        "Page /cart",
        "Tag a:b",
        "Tag c:d",
        "Category First party",
        "Category Library",
        "Search Dräw",
    ]
    assert "category=library" in chips["Category First party"]
    assert "category=first-party" not in chips["Category First party"]
    assert "tag=c:d" in chips["Tag a:b"]
    assert "tag=a:b" not in chips["Tag a:b"]
    assert "q=" not in chips["Search Dräw"]
    assert all(link.endswith("&sort=total_ms") for link in chips.values())
    assert '2026-11-16 09:00 UTC</time></span><span class="cross"' in bar
    assert 'href="/projects/shop/page/?sort=total_ms">Clear filters' in bar


def test_nothing_chosen_has_no_chips(member: Client) -> None:
    assert 'class="chips"' not in read_bar(member, "/projects/shop/page/?category=&q=&release=")


def test_a_slice_that_the_bar_has_no_field_for_is_kept_by_its_form(member: Client) -> None:
    view = "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11"
    spans = "from=2026-11-01&to=2026-11-02&from=2026-11-03&to=2026-11-04"
    bar = read_bar(member, f"/projects/shop/page/?view={view}&{spans}")
    hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', bar)
    assert hidden == [
        ("from", "2026-11-01T00:00:00Z"),
        ("to", "2026-11-02T00:00:00Z"),
        ("from", "2026-11-03T00:00:00Z"),
        ("to", "2026-11-04T00:00:00Z"),
        ("view", view),
    ]
    assert 'type="text" name="from"' not in bar


def test_the_functions_page_is_narrowed_and_its_sums_stay(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/lib", js_us=9_000)
    make_hotspot(cell, make_func(shop, "Render"), self_us=5_000, total_us=5_000)
    make_hotspot(cell, make_func(shop, "push", uri=None, line=None), self_us=4_000, total_us=4_000)
    page = member.get("/projects/shop/page/?page=/lib&category=built-in").content.decode()
    assert ">push<" in page
    assert ">Render<" not in page
    assert "44.4" in page  # push is 4 of 9 ms, not of 4
    page = member.get("/projects/shop/page/?page=/lib&q=rEND").content.decode()
    assert ">Render<" in page
    assert ">push<" not in page
    page = member.get("/projects/shop/page/?page=/lib&q=nowhere").content.decode()
    assert "No function of this slice matches" in page


@pytest.mark.parametrize("query", ["category=nonsense", "q=" + "x" * 201, "q=a&q=b"])
def test_a_narrowing_that_cannot_be_read_is_told(member: Client, query: str) -> None:
    for address in ("/projects/shop/page/", "/projects/shop/tree/"):
        assert member.get(f"{address}?{query}").status_code == 400
