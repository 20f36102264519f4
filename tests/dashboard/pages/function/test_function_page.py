"""The page of one function: its parts say what it costs in a slice, how sure that is, and lead on within the slice."""

import html
import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from aggregate.models import Func
from aggregate.selectors.code.sites import forget_sites
from dashboard.pages.function.view import PARTS
from ingest.models import Project
from profcore.code.display_rules import shown_id
from tests.aggregate.posting import fold_all, post
from tests.builders import make_cell, make_func, make_group, make_hotspot, make_label, make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.reading import HOSTILE, text_of
from tests.envelopes import YESTERDAY, make_envelope, view_id_of

# Session and user; project, sites and what has changed, for the ETag; project, code, the function, and code again. Then
# what each asks.
COMMON = 9
STATEMENTS = {
    "": 4,  # code, arrivals, releases, overview by page
    "cost": 4,  # census, sample; code and raw traces: may the views that ran it be exported
    "trend": 5,  # releases, others of its name and place, code, census, samples
    "step": 6,  # code, funcs, and for each side its number of views and a sample
    "relatives": 1,  # code
    "pages": 2,
    "calls": 3,  # code, tree, funcs
    "devices": 2,
    "browsers": 2,
    "days": 2,
    "navigations": 2,
    "views": 3,  # how many there are, those looked at, their traces
}
BETWEEN = {"base_release": "1.0.0", "head_release": "2.0.0"}


@pytest.fixture
def busy(client: Client, db: None) -> Project:
    """Two releases with forty views of /cart and ten of /list; `draw` takes thrice as long in the second."""
    project = make_project("busy")
    for order, (release, times) in enumerate((("1.0.0", 1), ("2.0.0", 3))):
        drawn = "\n".join(["main draw"] * 2 * times)
        views = [make_envelope(f"{release}-{n}", f"{drawn}\nmain\n-", release=release) for n in range(40)]
        calm = [make_envelope(f"{release}-l{n}", "main\n-", release=release, page="/list") for n in range(10)]
        for envelope in (*views, *calm):
            for frame in envelope["trace"]["frames"]:
                frame["column"] = {"main": 10, "draw": 11}[frame["name"]]
        post("KEY-busy", *views, *calm)
        make_group(project, release, "/cart", first_seen_at=timezone.now() - timedelta(days=9 - order))
    fold_all()
    client.force_login(User.objects.create_superuser("root"))
    return project


def draw(project: Project) -> Func:
    return Func.objects.get(project=project, name="draw")


def address_of(project: Project, part: str = "", func: Func | None = None) -> str:
    return f"/projects/{project.slug}/functions/{(func or draw(project)).id}/" + (f"parts/{part}/" if part else "")


def part_text(client: Client, project: Project, part: str, query: str = "") -> str:
    return text_of(client, f"{address_of(project, part)}?{query}")


def test_the_page_says_what_the_function_is_and_names_its_parts(client: Client, busy: Project) -> None:
    address = address_of(busy) + "?page=/cart&release=2.0.0&measure=total"
    page = html.unescape(client.get(address).content.decode())
    text = text_of(client, address)
    assert "draw Defined https://shop.example/app.js:1:11" in text
    assert "The browser does not report which line ran, so lines have no cost." in text
    fetched = re.findall(r'hx-get="([^"]+)"', page)
    assert [link.split("/parts/")[1] for link in fetched] == [
        f"{part}/?release=2.0.0&page=/cart&measure=total"
        for part in ("cost", "calls", "trend", "pages", "devices", "browsers", "navigations", "days", "views")
    ]
    assert {client.get(link).status_code for link in fetched} == {200}
    assert 'name="measure" value="total"' in page  # the slice bar keeps it
    assert 'type="search"' not in page  # there is one function alone
    assert re.search(r'<a href="/projects/busy/page/\?release=2\.0\.0&page=/cart"[^>]* aria-current="page"', page)
    assert re.search(r'<a href="[^"]*measure=total#trend-title"[^>]*aria-current="true">Total', page)


def test_callers_come_after_the_cost_and_what_loads_has_no_tall_blank(client: Client, busy: Project) -> None:
    page = client.get(address_of(busy)).content.decode()
    titles = re.findall(r'<h2 id="([^"]+)"', page)
    assert titles[:4] == ["cost-title", "calls-title", "trend-title", "source"]
    assert "…</p>" not in page
    assert page.count('class="skeleton"') == 9
    cost = part_text(client, busy, "cost")
    words = (
        "Self + hidden per view",
        "Self per view",
        "Total per view",
        "p75 of self",
        "Views that ran it",
        "More numbers",
    )
    places = [cost.index(word) for word in words]
    assert places == sorted(places)


def test_what_it_costs_is_told_with_intervals_and_n(client: Client, busy: Project) -> None:
    text = part_text(client, busy, "cost", "release=1.0.0")
    # Forty views with 20 ms and ten without: 16 ms a view, of 26 ms JS.
    assert re.search(r"Self \+ hidden per view 16 ms 12\.9 to 17\.9 ms .*?Self per view 16 ms 12\.9 to 17\.9 ms", text)
    assert re.search(r"Total per view 16 ms", text)
    assert re.search(r"Hidden per view 0 ms", text)
    assert re.search(r"Share of script time 61\.5 % 5\d\.\d % to 6\d\.\d %", text)
    assert re.search(r"p75 of self 20 ms .* p50 of self 20 ms .* p95 of self 20 ms", text)
    assert "Views that ran it 80.0 % 40 of 50" in text
    assert "Samples 80 on top, 80 anywhere" in text
    assert "n = 50 page views." in text


def test_exports_hold_the_views_that_ran_it_where_these_can_be_picked_out(
    client: Client, busy: Project, settings: Settings
) -> None:
    address = address_of(busy, "cost") + "?release=1.0.0"
    page = html.unescape(client.get(address).content.decode())
    assert "Exports contain the 40 page views that ran it." in page
    links = re.findall(r'<a href="([^"]+)" download>', page)
    assert links
    assert all(f"release=1.0.0&func_over={draw(busy).id}:0" in link for link in links)
    assert {client.get(link).status_code for link in links} == {200}
    settings.READ_MAX_RAW_TRACES = 39
    page = html.unescape(client.get(address).content.decode())
    assert "Exports contain all page views of this slice: those that ran it cannot be selected here." in page
    assert "func_over" not in page
    settings.READ_MAX_RAW_TRACES = 500
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_rawtrace WHERE view_id = %s", [view_id_of("1.0.0-3")])
    assert "func_over" not in client.get(address).content.decode()


def test_its_profile_opens_with_a_search_for_it_and_has_its_name_in_the_title(client: Client, busy: Project) -> None:
    page = client.get(address_of(busy, "cost") + "?page=/cart&release=2.0.0").content.decode()
    assert 'data-profile-search="draw"' in page
    assert 'data-profile-name="draw in busy 2.0.0 /cart"' in page


def test_the_trend_shows_all_releases_the_newest_last_and_marks_the_slices(client: Client, busy: Project) -> None:
    make_group(busy, "3.0.0", "/cart", first_seen_at=timezone.now())
    make_cell(busy, release="3.0.0", views=4, js_us=5_000)  # in it nobody ran it
    address = address_of(busy, "trend") + "?release=2.0.0"
    page = html.unescape(client.get(address).content.decode()).replace("\u202f", " ")
    text = text_of(client, address)
    order = [text.index(words) for words in ("1.0.0 16 ms", "2.0.0 48 ms", "3.0.0 0 ms")]
    assert order == sorted(order)
    assert "Shows all releases; other filters apply." in text
    dots = re.findall(r'<g class="(dot[^"]*)"><title>([^<]+)</title>', page)
    assert [words for words, _ in dots] == ["dot", "dot marked", "dot too-few"]
    assert re.fullmatch(
        r"1\.0\.0: 16 ms self \+ hidden per view, 95 % interval 12\.9 to 17\.9 ms; 50 page views", dots[0][1]
    )
    assert (
        dots[2][1] == "3.0.0: 0 ms self + hidden per view; 4 page views, too few for an interval (at least 25 needed)"
    )
    assert page.count('class="whisker"') == 2
    assert "Hollow and grey: below 25 page views there is no interval." in text
    assert "Hollow" not in part_text(client, busy, "trend", f"from={YESTERDAY:%Y-%m-%d}")
    # The step is that to the newest release the slice names.
    assert re.search(r'hx-get="[^"]*/parts/step/\?base_release=1\.0\.0&head_release=2\.0\.0"', page)


def test_the_trend_of_an_unmapped_function_goes_on_in_the_next_bundle(client: Client, busy: Project) -> None:
    for release, bundle in (("8.0.0", "main-AAAAAAA1"), ("9.0.0", "main-BBBBBBB2")):
        views = [make_envelope(f"{release}-{n}", "spin\n-", release=release) for n in range(30)]
        for envelope in views:
            envelope["trace"]["resources"] = [f"https://shop.example/{bundle}.js"]
        post("KEY-busy", *views)
    fold_all()
    old, new = (
        Func.objects.get(project=busy, name="spin", uri__contains=bundle) for bundle in ("AAAAAAA1", "BBBBBBB2")
    )
    address = address_of(busy, "trend", old)
    text = text_of(client, address)
    assert re.search(r"8\.0\.0 10 ms .* 30 of 30 9\.0\.0 10 ms .* 30 of 30", text)
    assert "It is followed by name and position from bundle to bundle" in text
    page = client.get(address).content.decode()
    assert f'href="{address_of(busy, "", old)}?release=8.0.0"' in page
    assert f'href="{address_of(busy, "", new)}?release=9.0.0"' in page


def test_one_release_is_no_trend_but_a_row(client: Client, member: Client, shop: Project) -> None:
    text = part_text(member, shop, "trend")
    assert "Only one release has page views in this slice." in text
    page = member.get(address_of(shop, "trend")).content.decode()
    assert '<svg class="dots"' not in page
    assert page.count("figure strong too-few") == 1
    assert "hx-get" not in page


def test_a_step_says_whether_it_may_be_noise(client: Client, busy: Project) -> None:
    text = part_text(client, busy, "step", "page=/cart&base_release=1.0.0&head_release=2.0.0")
    assert re.search(r"1\.0\.0 → 2\.0\.0 \+40 ms per view \(40 to 40 ms\)", text)
    assert re.search(r"Significant change : q < 0\.001 among all functions, p < 0\.001 for this one", text)
    same = part_text(client, busy, "step", "page=/cart&base_release=1.0.0&head_release=1.0.0")
    assert re.search(r"Could be noise: q = 1\.00 ", same)
    few = part_text(client, busy, "step", "page=/list&base_release=1.0.0&head_release=2.0.0")
    assert "Too few page views to compare (10 before, 10 after)." in few
    step = html.unescape(client.get(f"{address_of(busy, 'step')}?page=/cart&{urlencode(BETWEEN)}").content.decode())
    compared = re.search(r'href="([^"]+)">Compare all functions', step)
    assert compared is not None
    assert "page=/cart&base_release=1.0.0&head_release=2.0.0&measure=self%2Bhidden" in compared[1]
    assert client.get(compared[1]).status_code == 200


def test_a_step_of_a_function_that_is_shown_as_one_with_others_is_its_own(client: Client, busy: Project) -> None:
    query = f"page=/cart&{urlencode(BETWEEN)}"
    told = part_text(client, busy, "step", query)
    rule = {"action": "group", "field": "name", "pattern": "*", "title": "Everything"}
    Project.objects.filter(pk=busy.pk).update(display_rules=[rule])
    assert "per view" in told
    assert part_text(client, busy, "step", query) == told
    step = html.unescape(client.get(f"{address_of(busy, 'step')}?{query}").content.decode())
    assert re.search(r'href="[^"]+&display=none&[^"]+">Compare all functions', step)


def test_the_graph_of_a_function_that_is_shown_as_one_with_others_has_it(client: Client, busy: Project) -> None:
    for title, query in (("main", ""), ("draw", "display=none&")):
        rule = {"action": "group", "field": "name", "pattern": title, "title": "Another"}
        Project.objects.filter(pk=busy.pk).update(display_rules=[rule])
        calls = html.unescape(client.get(address_of(busy, "calls")).content.decode())
        assert f'href="/projects/busy/tree/?{query}show=sandwich&func={draw(busy).id}"' in calls


def test_pages_devices_browsers_navigations_and_days_have_their_own_views(client: Client, busy: Project) -> None:
    text = part_text(client, busy, "pages", "release=1.0.0")
    assert re.search(r"/cart Show all functions of this page 20 ms 20 to 20 ms 66\.7 % 40 of 40", text)
    assert "/list" not in text
    assert "It ran on 1 of 2 pages." in text
    page = html.unescape(client.get(address_of(busy, "pages") + "?release=1.0.0&measure=total").content.decode())
    assert f'href="{address_of(busy)}?release=1.0.0&page=/cart&measure=total"' in page
    assert 'href="/projects/busy/page/?release=1.0.0&page=/cart"' in page
    for part in ("devices", "browsers", "navigations"):  # of one kind each: a line, no table
        line = part_text(client, busy, part, "release=1.0.0")
        assert "Only unknown : 16 ms per view 12.9 to 17.9 ms , 40 of 50 views ran it." in line
    assert re.search(r"Only \d{4}-\d\d-\d\d: 32 ms .* 80 of 100", part_text(client, busy, "days"))


def test_too_few_views_are_told_and_grey(member: Client, shop: Project) -> None:
    assert "Too few page views for intervals and percentiles: 1 of at least 25." in part_text(member, shop, "cost")
    assert 'class="costs too-few"' in member.get(address_of(shop, "cost")).content.decode()
    assert '<p class="card-foot too-few">Only' in member.get(address_of(shop, "devices")).content.decode()


def test_callers_and_callees_lead_to_their_pages_and_to_the_sandwich(client: Client, busy: Project) -> None:
    main = Func.objects.get(project=busy, name="main")
    page = html.unescape(client.get(address_of(busy, "calls", main) + "?release=2.0.0").content.decode())
    text = text_of(client, address_of(busy, "calls", main) + "?release=2.0.0")
    assert re.search(r"Callers .* No caller It is at the root of the stack, .* 100 % 2\.90 s", text)
    assert re.search(r"Callees .* draw app\.js:1:11 82\.8 % 2\.40 s", text)
    assert f'href="{address_of(busy)}?release=2.0.0"' in page
    assert f'href="/projects/busy/tree/?release=2.0.0&show=sandwich&func={main.id}"' in page


def test_typical_and_worst_views_lead_to_their_pages_and_profiles(client: Client, busy: Project) -> None:
    address = address_of(busy, "views") + "?page=/cart"
    page = html.unescape(client.get(address).content.decode())
    text = text_of(client, address)
    assert "80 page views ran it. Median self time of these: 40 ms." in text
    worst = page[page.index("Worst") :]
    link = r'href="(/projects/busy/views/([0-9a-f-]{36})/\?page=/cart&on_release=2\.0\.0&on_page=/cart)"'
    views = [view_id for _, view_id in re.findall(link, worst)]
    assert len(views) == 5
    assert set(views) <= {view_id_of(f"2.0.0-{n}") for n in range(40)}
    profiles = re.findall(r'data-profile-url="([^"]+)"', worst)
    assert [re.search(r"view=([^&]+)", link)[1] for link in profiles] == views  # type: ignore[index]  # each has one
    assert client.get(profiles[0]).status_code == 200
    assert client.get(re.findall(link, worst)[0][0]).status_code == 200
    every = f"/projects/busy/views/?page=/cart&func={draw(busy).id}&order=worst"
    assert f'href="{every}">Show all page views that ran it' in page
    assert client.get(every).status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_rawtrace WHERE project_id = %s", [busy.pk])
    text = text_of(client, address_of(busy, "views"))
    assert text.count("raw traces expired") == 10


def test_of_very_many_views_a_sample_is_looked_at(client: Client, busy: Project, settings: Settings) -> None:
    settings.TABLE_STATISTICS_MAX_VIEWS = 30
    text = part_text(client, busy, "views")
    assert re.search(r"\d\d ran it, in an even sample of \d\d from 80 page views\.", text)


def test_without_a_script_all_parts_come_with_the_page(client: Client, busy: Project) -> None:
    page = client.get(address_of(busy)).content.decode()
    hint = page.index(f'<noscript><p><a href="{address_of(busy)}?plain=1">')
    assert hint < page.index("Cost</h2>")  # above the parts that are empty without it
    page = client.get(address_of(busy) + "?plain=1").content.decode()
    assert "hx-get" not in page
    text = text_of(client, address_of(busy) + "?plain=1")
    for words in ("Self per view 32 ms", "2.0.0 48 ms", "+32 ms", "Callers", "Worst", "80 of 100"):
        assert words in text


def test_a_slice_that_a_part_refuses_is_told_in_its_place(client: Client, busy: Project, settings: Settings) -> None:
    settings.READ_MAX_RAW_TRACES = 5
    narrow = f"func_over={draw(busy).id}:1"
    assert "More than 5 raw traces would be folded." in part_text(client, busy, "calls", narrow)
    text = text_of(client, f"{address_of(busy)}?plain=1&{narrow}")
    assert "More than 5 raw traces would be folded." in text
    assert "Self per view 40 ms" in text


@pytest.mark.parametrize("part", ["cost", "pages", "calls", "views", "trend", "days", "devices"])
def test_a_slice_without_views_is_told(client: Client, busy: Project, part: str) -> None:
    text = part_text(client, busy, part, "page=/nowhere")
    assert re.search(
        r"No page views here|No page view of this slice|This function is in no stack of this slice|No release has", text
    )


def test_a_function_that_ended_is_offered_the_one_it_may_have_become(client: Client, busy: Project) -> None:
    """In 1.0.0 `draw` was drawRows, in 2.0.0 it is drawAll, of one text."""
    body = b"12345678"
    make_label(draw(busy), "1.0.0", "src/draw.ts", "drawRows", body=body)
    make_label(draw(busy), "2.0.0", "src/draw.ts", "drawAll", body=body)
    base = "/projects/busy/page/?release=1.0.0"
    listed = html.unescape(client.get(base).content.decode())
    found = re.search(
        r'href="(/projects/busy/functions/m[0-9a-f]{20}/)\?release=1\.0\.0"><bdi class="name">drawRows', listed
    )
    assert found is not None
    trend = html.unescape(client.get(f"{found[1]}parts/trend/").content.decode())
    link = re.search(r'hx-get="([^"]*/parts/relatives/[^"]*)"', trend)
    assert link is not None
    text = text_of(client, link[1])
    assert "It is gone after 1.0.0 . In 2.0.0 it may be drawAll" in text
    assert "Both have the same code except for names." in text
    assert re.search(r'href="/projects/busy/functions/m[0-9a-f]{20}/"', client.get(link[1]).content.decode())


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


@pytest.mark.parametrize("part", ["", *PARTS])
def test_it_takes_a_fixed_number_of_statements(
    client: Client, busy: Project, part: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    address = address_of(busy, part)
    client.get(address_of(busy))  # sets the cookie without which nothing has an ETag
    forget_sites()
    with django_assert_num_queries(COMMON + STATEMENTS[part]):
        client.get(address, BETWEEN)
    for n in range(12):
        cell = make_cell(busy, page=f"/p{n}", release=f"r{n}", js_us=5, views=3)
        make_hotspot(cell, draw(busy), self_us=5, total_us=5)
    forget_sites()
    with django_assert_num_queries(COMMON + STATEMENTS[part]):
        client.get(address, BETWEEN)


def test_strangers_find_neither_the_page_nor_its_parts(client: Client, people: People, shop: Project) -> None:
    client.force_login(people.stranger)
    for part in ("", *PARTS):
        assert client.get(address_of(shop, part)).status_code == 404


def test_what_a_display_rule_shows_as_one_has_a_page_of_its_parts(member: Client, shop: Project) -> None:
    rule = {"action": "group", "field": "name", "pattern": "*", "title": "Everything"}
    Project.objects.filter(pk=shop.pk).update(display_rules=[rule])
    address = f"/projects/shop/functions/{shown_id('group', 'Everything')}/"
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
    views = member.get(f"/projects/shop/views/?func={shown_id('group', 'Everything')}")
    assert views.status_code == 400
    assert "func must be the id of one function, not of a group" in views.content.decode()
    Project.objects.filter(pk=shop.pk).update(display_rules=[])
    assert member.get(address).status_code == 404
