"""The parts of a function's page: cost, trend, step, where it ran, who calls it, and its views."""

import html
import re
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from aggregate.models import Func
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_cell, make_group, make_label
from tests.dashboard.pages.function.addresses import BETWEEN, address_of, draw, part_text
from tests.dashboard.pages.reading import text_of
from tests.envelopes import YESTERDAY, make_envelope, view_id_of


def test_what_it_costs_is_shown_with_intervals_and_n(client: Client, busy: Project) -> None:
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
    order = [text.index(phrase) for phrase in ("1.0.0 16 ms", "2.0.0 48 ms", "3.0.0 0 ms")]
    assert order == sorted(order)
    assert "Shows all releases; other filters apply." in text
    dots = re.findall(r'<g class="(dot[^"]*)"><title>([^<]+)</title>', page)
    assert [classes for classes, _ in dots] == ["dot", "dot marked", "dot too-few"]
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
    assert "The trend follows name and position across bundles" in text
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
    part = part_text(client, busy, "step", query)
    rule = {"action": "group", "field": "name", "pattern": "*", "title": "Everything"}
    Project.objects.filter(pk=busy.pk).update(display_rules=[rule])
    assert "per view" in part
    assert part_text(client, busy, "step", query) == part
    step = html.unescape(client.get(f"{address_of(busy, 'step')}?{query}").content.decode())
    assert re.search(r'href="[^"]+&display=none&[^"]+">Compare all functions', step)


def test_the_graph_of_a_function_that_is_shown_as_one_with_others_has_it(client: Client, busy: Project) -> None:
    for title, query in (("main", ""), ("draw", "display=none&")):
        rule = {"action": "group", "field": "name", "pattern": title, "title": "Another"}
        Project.objects.filter(pk=busy.pk).update(display_rules=[rule])
        calls = html.unescape(client.get(address_of(busy, "calls")).content.decode())
        assert f'href="/projects/busy/flame-graph/?{query}show=sandwich&func={draw(busy).id}"' in calls


def test_pages_devices_browsers_navigations_and_days_have_their_own_views(client: Client, busy: Project) -> None:
    text = part_text(client, busy, "pages", "release=1.0.0")
    assert re.search(r"/cart Show all functions of this page 20 ms 20 to 20 ms 66\.7 % 40 of 40", text)
    assert "/list" not in text
    assert "It ran on 1 of 2 pages." in text
    page = html.unescape(client.get(address_of(busy, "pages") + "?release=1.0.0&measure=total").content.decode())
    assert f'href="{address_of(busy)}?release=1.0.0&page=/cart&measure=total"' in page
    assert 'href="/projects/busy/functions/?release=1.0.0&page=/cart"' in page
    for part in ("devices", "browsers", "navigations"):  # of one kind each: a line, no table
        line = part_text(client, busy, part, "release=1.0.0")
        assert "Only unknown : 16 ms per view 12.9 to 17.9 ms , 40 of 50 views ran it." in line
    assert re.search(r"Only \d{4}-\d\d-\d\d: 32 ms .* 80 of 100", part_text(client, busy, "days"))


def test_too_few_views_are_named_and_grey(member: Client, shop: Project) -> None:
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
    assert f'href="/projects/busy/flame-graph/?release=2.0.0&show=sandwich&func={main.id}"' in page


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


@pytest.mark.parametrize("part", ["cost", "pages", "calls", "views", "trend", "days", "devices"])
def test_a_slice_without_views_says_so(client: Client, busy: Project, part: str) -> None:
    text = part_text(client, busy, part, "page=/nowhere")
    assert re.search(
        r"No page views here|No page view of this slice|This function is in no stack of this slice|No release has", text
    )


def test_a_function_that_ended_is_offered_the_one_it_may_have_become(client: Client, busy: Project) -> None:
    """In 1.0.0 `draw` was drawRows, in 2.0.0 it is drawAll, of one text."""
    body = b"12345678"
    make_label(draw(busy), "1.0.0", "src/draw.ts", "drawRows", body=body)
    make_label(draw(busy), "2.0.0", "src/draw.ts", "drawAll", body=body)
    base = "/projects/busy/functions/?release=1.0.0"
    listed = html.unescape(client.get(base).content.decode())
    match = re.search(
        r'href="(/projects/busy/functions/m[0-9a-f]{20}/)\?release=1\.0\.0"><bdi class="name">drawRows', listed
    )
    assert match is not None
    trend = html.unescape(client.get(f"{match[1]}parts/trend/").content.decode())
    link = re.search(r'hx-get="([^"]*/parts/relatives/[^"]*)"', trend)
    assert link is not None
    text = text_of(client, link[1])
    assert "It is gone after 1.0.0 . In 2.0.0 it may be drawAll" in text
    assert "Both have the same code except for names." in text
    assert re.search(r'href="/projects/busy/functions/m[0-9a-f]{20}/"', client.get(link[1]).content.decode())
