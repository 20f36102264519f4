"""The table of the page "Functions": groups, orders, few rows at first, and what each figure is of."""

import html
import re

import pytest
from django.test import Client

from aggregate.selectors.functions.table import FunctionTable
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_cell, make_func, make_hotspot, make_project
from tests.dashboard.pages.reading import text_of
from tests.envelopes import make_envelope

PAGE = "/projects/shop/functions/"


def links_of(page: str, label: str) -> dict[str, str]:
    nav = page[page.index(f'aria-label="{label}"') :]
    nav = nav[: nav.index("</nav>")]
    return {word: html.unescape(link) for link, word in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)<', nav)}


def test_rows_are_few_at_first_and_more_are_a_link_away(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/many", js_us=120_000)
    for n in range(120):
        make_hotspot(cell, make_func(shop, f"f{n}"), self_us=1_000 + n, total_us=1_000 + n)
    page = member.get(PAGE + "?page=/many&sort=views").content.decode()
    assert page.count('<tr id="row-') == 25
    more = re.search(r'25 of 120\. <a class="button" href="([^"]+)"', page)
    assert more is not None
    assert html.unescape(more[1]) == "/projects/shop/functions/?page=/many&sort=views&limit=100#row-25"
    page = member.get(html.unescape(more[1])).content.decode()
    assert page.count('<tr id="row-') == 100
    assert "limit=500#row-100" in page
    page = member.get(PAGE + "?page=/many&limit=2000").content.decode()
    assert page.count('<tr id="row-') == 120
    assert "Show more" not in page
    assert 'name="limit"' not in page  # another slice begins at the top


def test_functions_can_be_grouped_and_a_group_leads_to_its_functions(member: Client, shop: Project) -> None:
    cell = make_cell(shop, page="/lib", js_us=9_000)
    make_hotspot(
        cell, make_func(shop, "map", uri="https://a.example/node_modules/d3/a.js"), self_us=6_000, total_us=6_000
    )
    make_hotspot(cell, make_func(shop, "push", uri=None, line=None), self_us=3_000, total_us=3_000)
    first = member.get(PAGE + "?page=/lib&sort=hidden_ms").content.decode()
    groups = links_of(first, "Group by")
    assert list(groups) == ["Function", "File", "Package", "Origin", "Category", "Party"]
    assert groups["Category"] == "/projects/shop/functions/?page=/lib&group_by=category&sort=hidden_ms"
    page = member.get(groups["Category"]).content.decode()
    assert "By category" in page
    (part,) = re.findall(r'hx-get="([^"]+)"', page)
    assert html.unescape(part) == groups["Category"].replace("/functions/?", "/functions/table/?") + "&limit=25"
    page = member.get(groups["Category"] + "&plain=1").content.decode()
    assert 'name="group_by" value="category"' in page
    assert "9 ms" in text_of(member, groups["Category"])  # the slice's own sums need no call trees
    leads = dict(re.findall(r'<a class="name" href="([^"]+)"[^>]*><bdi>([^<]+)<', page))
    assert leads == {
        "/projects/shop/functions/?page=/lib&amp;category=library": "library",
        "/projects/shop/functions/?page=/lib&amp;category=built-in": "built-in",
    }
    for by, name in (("package", "d3"), ("file", "https://a.example/node_modules/d3/a.js")):
        page = member.get(PAGE + f"table/?page=/lib&group_by={by}").content.decode()
        assert f"q={name}" in page
        assert ">(none)</bdi>" in page
        (link,) = re.findall(r'<a class="name" href="([^"]+)"', page)
        group_page = member.get(html.unescape(link)).content.decode()
        assert ">map<" in group_page
        assert ">push<" not in group_page


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("hidden_ms", "wait"),
        ("self_ms_per_view", "spin"),
        ("self_ms", "spin"),
        ("total_ms", "spin"),
        ("cost_ms_per_view", "both"),
    ],
)
def test_functions_can_be_ordered_by_hidden_time_and_by_time_a_view(
    member: Client, shop: Project, sort: str, first: str
) -> None:
    cell = make_cell(shop, page="/order", js_us=9_000, hidden_us=5_000)
    make_hotspot(cell, make_func(shop, "spin"), self_us=8_000, total_us=8_000, hidden_us=1_000)
    make_hotspot(cell, make_func(shop, "wait"), self_us=1_000, total_us=1_000, hidden_us=4_000)
    make_hotspot(cell, make_func(shop, "both"), self_us=6_000, total_us=6_000, hidden_us=3_500)
    page = member.get(PAGE + f"?page=/order&sort={sort}").content.decode()
    names = re.findall(r'<bdi class="name">(\w+)<', page)
    assert names[0] == first
    assert page.count("aria-sort") == 1
    assert list(links_of(page, "Sort by")) == [
        "Self + hidden",
        "Self",
        "Hidden",
        "Total",
        "p75 of self",
        "Views",
    ]


def test_the_first_number_of_a_row_is_what_it_costs_a_view_and_bars_are_as_long_as_the_longest(
    member: Client, shop: Project
) -> None:
    cell = make_cell(shop, page="/cost", views=4, js_us=16_000, hidden_us=4_000)
    make_hotspot(cell, make_func(shop, "spin"), self_us=3_000, total_us=3_000, hidden_us=1_000)
    make_hotspot(cell, make_func(shop, "tick"), self_us=1_000, total_us=1_000)
    page = member.get(PAGE + "?page=/cost").content.decode()
    text = text_of(member, PAGE + "?page=/cost")
    assert "5 ms script + hidden per view (4 ms script, 1 ms hidden)" in text
    assert re.findall(r'<bdi class="name">(\w+)<', page) == ["spin", "tick"]
    row = page[page.index('<tr id="row-1">') :]
    first, *rest = re.findall(r'data-label="([^"]+)">(?:<b>)?(?:<span class="figure">)?([^<]+)<', row)[:7]
    assert first == ("Self + hidden per view", "1 ms".replace(" ", "\u202f"))
    assert [text.replace("\u202f", " ") for _, text in rest[:3]] == ["20.0 %", "0.8 ms", "0.3 ms"]
    assert re.findall(r'class="part-js" width="([0-9.]+)" height="10"></rect></svg></td>', page) == ["1000.0", "250.0"]
    assert "the longest bar is 20.0" in page
    assert 'aria-sort="descending"><a href="/projects/shop/functions/?page=/cost"' in page


def test_by_time_a_view_is_another_order_where_sample_rates_differ(db: None) -> None:
    project = make_project("shop")
    for n in range(40):
        post("KEY-shop", make_envelope(f"all{n}", "A\nA\nA\nA\nB"))
    for n in range(20):  # each stands for ten
        post("KEY-shop", make_envelope(f"some{n}", "A\nB\nB\nB\nB", sampleRate=0.1))
    fold_all()

    def ask(sort: str, limit: int = 10) -> FunctionTable:
        return select_estimated(Slice(project_id=project.pk), TableQuery(sort=sort, limit=limit, measure="self+hidden"))

    assert [row.name for row in ask("self_ms").functions] == ["A", "B"]
    assert [row.name for row in ask("self_ms_per_view").functions] == ["B", "A"]
    assert [row.name for row in ask("self_ms_per_view", limit=1).functions] == ["B"]
    assert [row.name for row in ask("cost_ms_per_view", limit=1).functions] == ["B"]


def test_every_row_says_what_its_figures_are_of(member: Client, db: None) -> None:
    make_project("many").memberships.create(user_id=member.session["_auth_user_id"])
    for n in range(30):
        post("KEY-many", make_envelope(f"v{n}", "A\nA B" if n < 26 else "A\nA C"))
    fold_all()
    text = text_of(member, "/projects/many/functions/")
    assert "Ran in 30 of 30 page views" in text
    assert "n = 30 of 30 page views, including those that never ran it" in text
    assert "no interval: too few page views ran it" in text  # C, in four views
    page = member.get("/projects/many/functions/").content.decode()
    assert page.count('class="figure per-view too-few"') == 1
    assert '<tbody class="too-few">' not in page


def test_too_few_views_grey_all_figures_and_say_so(member: Client) -> None:
    page = member.get(PAGE).content.decode()
    assert '<tbody class="too-few">' in page
    assert "too few page views for intervals: 1 of at least 25" in page


@pytest.mark.parametrize("query", ["group_by=x", "limit=2001", "sort=name"])
def test_what_the_table_does_not_know_is_named(member: Client, query: str) -> None:
    assert "This address is not valid" in text_of(member, f"{PAGE}?{query}", 400)


def test_all_pages_of_many_views_come_by_themselves(member: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hx-get" not in member.get(PAGE).content.decode()
    monkeypatch.setattr("dashboard.pages.functions.INLINE_VIEWS", 0)
    page = member.get(PAGE + "?sort=views&q=dr").content.decode()
    assert 'hx-get="/projects/shop/functions/table/?q=dr&amp;sort=views&amp;limit=25"' in page
    assert 'href="/projects/shop/functions/?q=dr&amp;sort=views&amp;plain=1"' in page
    assert "9 ms" in text_of(member, PAGE)  # the slice's own sums
    assert "hx-get" not in member.get(PAGE + "?page=/cart").content.decode()
    assert ">draw<" in member.get(PAGE + "table/?q=dr&sort=views&limit=25").content.decode()
