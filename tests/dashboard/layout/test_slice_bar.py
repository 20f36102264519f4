"""The slice bar: category and search go along between pages, and what is chosen can be taken away one by one."""

import html
import re

import pytest
from django.test import Client

from projects.models import Project
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


def read_crosses(bar: str) -> dict[str, str]:
    """Returns the link that removes a filter, by its words."""
    links = re.findall(r'class="cross" href="([^"]+)".*?class="unseen">Remove (.*?)</span>', bar, re.S)
    return {re.sub(r"<[^>]+>", "", label).strip(): link for link, label in links}


def test_the_menu_of_browsers_says_that_no_selection_leaves_bots_out(member: Client) -> None:
    bar = read_bar(member, "/projects/shop/")
    menus = {re.findall(r"<legend[^>]*>(\w+)", menu)[0]: menu for menu in bar.split("<fieldset>")[1:]}
    assert ">No selection = any except bots.<" in menus["Browser"]
    assert "selection = all" not in menus["Browser"]
    assert "Device: no selection = all" in menus["Device"]
    assert "bots" not in menus["Device"]


@pytest.mark.parametrize("here", ["/projects/shop/", "/projects/shop/functions/", "/projects/shop/flame-graph/"])
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
    bar = read_bar(member, f"/projects/shop/flame-graph/?{ALL}")
    assert 'name="category" value="library" checked' in bar
    assert '<input type="hidden" name="q" value="Dräw">' in bar
    assert 'type="search" class="search"' not in bar


def test_every_field_with_a_selection_has_a_link_that_removes_it(member: Client) -> None:
    address = f"/projects/shop/functions/?{ALL}&from=2026-11-16T09:00Z&sort=total_ms"
    bar = read_bar(member, address)
    crosses = read_crosses(bar)
    removed = {"Release 1.0.0": "release", "Page /cart": "page", "Category First party, Library": "category"}
    removed |= {"Time": "from", "Tags a:b c:d": "tag", "Search Dräw": "q"}
    assert list(crosses) == list(removed)
    for label, name in removed.items():
        others = set(removed.values()) - {name}
        assert f"{name}=" not in crosses[label]
        assert all(f"{other}=" in crosses[label] for other in others)
        assert crosses[label].endswith("&sort=total_ms")
    assert "since " in bar
    assert "2026-11-16 09:00 UTC</time></b></summary>" in bar
    assert 'href="/projects/shop/functions/?sort=total_ms">Clear filters' in bar


def test_a_name_in_a_list_leads_to_this_value_only(member: Client) -> None:
    bar = read_bar(member, "/projects/shop/functions/?release=2&release=3&page=/cart&q=a%26b&sort=total_ms")
    assert (
        '<a href="/projects/shop/functions/?release=1.0.0&page=/cart&q=a%26b&sort=total_ms" data-slice><bdi>1.0.0'
        in bar
    )
    assert '?release=3&page=/cart&q=a%26b&sort=total_ms" data-slice aria-current="true"><bdi>3' in bar


def test_a_filter_without_a_field_looks_like_one_with_a_field(member: Client) -> None:
    view = "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11"
    crosses = read_crosses(read_bar(member, f"/projects/shop/functions/?view={view}&display=none&release=1.0.0"))
    assert crosses["Release 1.0.0"].endswith(f"/functions/?view={view}&display=none")
    assert crosses[f"View {view}"].endswith("/functions/?release=1.0.0&display=none")
    assert crosses["Display rules off"].endswith(f"/functions/?release=1.0.0&view={view}")


def test_without_a_selection_fields_are_words_and_nothing_can_be_removed(member: Client) -> None:
    bar = read_bar(member, "/projects/shop/functions/?category=&q=&release=")
    assert read_crosses(bar) == {}
    assert "Clear filters" not in bar
    assert "<summary><span>Release</span></summary>" in bar


def test_a_slice_that_the_bar_has_no_field_for_is_kept_by_its_form(member: Client) -> None:
    view = "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11"
    spans = "from=2026-11-01&to=2026-11-02&from=2026-11-03&to=2026-11-04"
    bar = read_bar(member, f"/projects/shop/functions/?view={view}&{spans}")
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
    page = member.get("/projects/shop/functions/?page=/lib&category=built-in").content.decode()
    assert ">push<" in page
    assert ">Render<" not in page
    assert "44.4" in page  # push is 4 of 9 ms, not of 4
    page = member.get("/projects/shop/functions/?page=/lib&q=rEND").content.decode()
    assert ">Render<" in page
    assert ">push<" not in page
    page = member.get("/projects/shop/functions/?page=/lib&q=nowhere").content.decode()
    assert "No function of this slice matches" in page


@pytest.mark.parametrize("query", ["category=nonsense", "q=" + "x" * 201, "q=a&q=b"])
def test_a_filter_that_cannot_be_read_is_named(member: Client, query: str) -> None:
    for address in ("/projects/shop/functions/", "/projects/shop/flame-graph/"):
        assert member.get(f"{address}?{query}").status_code == 400
