"""The page of one function: what it names and leads to, also without a script, and for hostile names and addresses."""

import html
import re

from django.test import Client
from pytest_django import Settings

from dashboard.pages.function.view import PARTS
from profcore.code.display_rules import display_id
from profcore.trace.dimensions import DIMENSIONS
from projects.models import Project
from tests.builders import make_cell, make_func, make_hotspot
from tests.dashboard.conftest import People
from tests.dashboard.pages.function.addresses import address_of, draw, part_text
from tests.dashboard.pages.reading import HOSTILE, text_of


def test_the_page_says_what_the_function_is_and_names_its_parts(client: Client, busy: Project) -> None:
    address = address_of(busy) + "?page=/cart&release=2.0.0&measure=total"
    page = html.unescape(client.get(address).content.decode())
    text = text_of(client, address)
    assert "draw Defined https://shop.example/app.js:1:11" in text
    assert "The browser does not report which line ran, so lines have no cost." in text
    fetched = re.findall(r'hx-get="([^"]+)"', page)
    assert [link.split("/parts/")[1] for link in fetched] == [
        f"{part}/?release=2.0.0&page=/cart&measure=total"
        for part in (
            "cost",
            "calls",
            "trend",
            "savings",
            "pages",
            *(dimension.plural for dimension in DIMENSIONS),
            "days",
            "views",
        )
    ]
    assert {client.get(link).status_code for link in fetched} == {200}
    assert 'name="measure" value="total"' in page  # the slice bar keeps it
    assert 'name="q"' not in page  # there is only one function
    assert re.search(r'<a href="/projects/busy/functions/\?release=2\.0\.0&page=/cart"[^>]* aria-current="page"', page)
    assert re.search(r'<a href="[^"]*measure=total#trend-title"[^>]*aria-current="true">Total', page)


def test_callers_come_after_the_cost_and_what_loads_has_no_tall_blank(client: Client, busy: Project) -> None:
    page = client.get(address_of(busy)).content.decode()
    titles = re.findall(r'<h2 id="([^"]+)"', page)
    assert titles[:4] == ["cost-title", "calls-title", "trend-title", "source"]
    assert "…</p>" not in page
    assert page.count('class="skeleton"') == 7 + len(DIMENSIONS)
    cost = part_text(client, busy, "cost")
    headings = (
        "Self + hidden per view",
        "Self per view",
        "Total per view",
        "p75 of self",
        "Views that ran it",
        "More numbers",
    )
    places = [cost.index(word) for word in headings]
    assert places == sorted(places)


def test_without_a_script_all_parts_come_with_the_page(client: Client, busy: Project) -> None:
    page = client.get(address_of(busy)).content.decode()
    hint = page.index(f'<noscript><p><a href="{address_of(busy)}?plain=1">')
    assert hint < page.index("Cost</h2>")  # above the parts that are empty without it
    page = client.get(address_of(busy) + "?plain=1").content.decode()
    assert "hx-get" not in page
    text = text_of(client, address_of(busy) + "?plain=1")
    for phrase in ("Self per view 32 ms", "2.0.0 48 ms", "+32 ms", "Callers", "Worst", "80 of 100"):
        assert phrase in text


def test_a_slice_that_a_part_refuses_is_named_in_its_place(client: Client, busy: Project, settings: Settings) -> None:
    settings.READ_MAX_RAW_TRACES = 5
    narrow = f"func_over={draw(busy).id}:1"
    assert "More than 5 raw traces would be folded." in part_text(client, busy, "calls", narrow)
    text = text_of(client, f"{address_of(busy)}?plain=1&{narrow}")
    assert "More than 5 raw traces would be folded." in text
    assert "Self per view 40 ms" in text


def test_hostile_names_are_text_and_nothing_else(member: Client, shop: Project) -> None:
    func = make_func(shop, HOSTILE, uri="javascript:" + HOSTILE)
    make_hotspot(make_cell(shop, release=HOSTILE, page="/<b>", js_us=5_000), func, self_us=5_000, total_us=5_000)
    for address in [
        address_of(shop, "", func) + "?plain=1",
        *(address_of(shop, part, func) for part in ("trend", "pages")),
    ]:
        page = member.get(address).content.decode()
        assert "<script>alert" not in page
        assert "<b>;" not in page
        assert "/<b>" not in page
        assert re.search(r"<bdi[^>]*>[^<]*\u202e", page) is None
        assert re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", page) is None


def test_a_bad_address_is_answered_in_words(client: Client, busy: Project) -> None:
    assert "This address is not valid" in text_of(client, address_of(busy) + "?measure=x", 400)
    assert "measure must be one of" in part_text(client, busy, "trend", "measure=x")
    assert "base_release and head_release must name a release each." in part_text(client, busy, "step")
    for address in (address_of(busy, "nothing"), "/projects/busy/functions/999/parts/cost/"):
        assert client.get(address).status_code == 404


def test_strangers_find_neither_the_page_nor_its_parts(client: Client, people: People, shop: Project) -> None:
    client.force_login(people.stranger)
    for part in ("", *PARTS):
        assert client.get(address_of(shop, part)).status_code == 404


def test_what_a_display_rule_shows_as_one_has_a_page_of_its_parts(member: Client, shop: Project) -> None:
    rule = {"action": "group", "field": "name", "pattern": "*", "title": "Everything"}
    Project.objects.filter(pk=shop.pk).update(display_rules=[rule])
    address = f"/projects/shop/functions/{display_id('group', 'Everything')}/"
    page = member.get(address).content.decode()
    assert "<bdi>Everything</bdi>" in page
    names = re.findall(r'<bdi class="name">(\w+)</bdi>', page)
    assert names == ["draw", "main"]
    assert 'href="/projects/shop/functions/1/?display=none"' in page
    assert (
        member.get(f"{address}?page=/nowhere").content.decode().count("None of these functions ran in this slice.") == 1
    )
    for part in PARTS:  # which tell of functions as they are stored: of this one they would say that it never ran
        assert member.get(f"{address}parts/{part}/").status_code == 404
    views = member.get(f"/projects/shop/views/?func={display_id('group', 'Everything')}")
    assert views.status_code == 400
    assert "func must be the id of one function, not of a group" in views.content.decode()
    Project.objects.filter(pk=shop.pk).update(display_rules=[])
    assert member.get(address).status_code == 404
