"""The overview: the sentence on the last release, the chart's address, worst pages, changes; the list of projects."""

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from aggregate.models import View
from aggregate.selectors.project.summaries import ProjectDay
from dashboard.pages.projects import draw_sparkline
from ingest.models import Group, Project, Receipt, Refusal
from tests.aggregate.posting import fold_all, post
from tests.builders import MONDAY, count_receipts, make_group, make_project, make_receipt, make_timed_views
from tests.dashboard.pages.reading import text_of
from tests.envelopes import make_envelope

TIMES = [10_000, 20_000] * 20
NOW = datetime.now(UTC)


@pytest.fixture
def releases(shop: Project) -> Project:
    """Releases 2.0.0 and 3.0.0, forty views each: the second takes 15 ms more JS a view."""
    for number, release in enumerate(("2.0.0", "3.0.0")):
        make_group(shop, release, "/cart", first_seen_at=MONDAY + timedelta(days=number + 1))
        times = [us + 15_000 * number for us in TIMES]
        make_timed_views(shop, times, release=release, bucket_at=MONDAY + timedelta(days=number + 1), hidden_us=1_000)
    return shop


def page_of(client: Client, address: str = "/projects/shop/") -> str:
    response = client.get(address)
    assert response.status_code == 200, response.content
    return html.unescape(response.content.decode())


def test_the_sentence_says_that_the_last_release_is_slower(member: Client, releases: Project) -> None:
    text = text_of(member, "/projects/shop/")
    sentence = r"3\.0\.0 made /cart slower : \+15 ms per view \(([\d.]+) to ([\d.]+) ms\)"
    found = re.search(sentence, text)
    assert found is not None, text
    assert 10 < float(found[1]) < 15 < float(found[2]) < 20
    assert "Before 16 ms, after 31 ms (+93.8 % at one mix of pages and devices)" in text
    assert "From 40 and 40 page views." in text
    assert 'class="card verdict is-slower"' in page_of(member)


def test_the_sentence_says_that_a_release_is_faster(member: Client, releases: Project) -> None:
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    make_timed_views(releases, TIMES, release="4.0.0")
    assert "4.0.0 made /cart faster : −16 ms per view" in text_of(member, "/projects/shop/")


def test_what_may_be_noise_is_called_so_and_has_no_colour(member: Client, releases: Project) -> None:
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    make_timed_views(releases, [us + 15_000 for us in TIMES], release="4.0.0", hidden_us=1_000)
    text = text_of(member, "/projects/shop/")
    assert "No clear change from 3.0.0 to 4.0.0 : ±0 ms per view" in text
    assert re.search(r"would show a change of [\d.]+ ms \([\d.]+ %\) per view four times in five", text)
    assert re.search(r"A change of 5 % would need about [\d ]+ page views on each side", text)
    page = page_of(member)
    assert 'class="card verdict is-no_clear_change"' in page
    assert "is-rise" not in page


def test_where_only_the_mean_changed_the_sentence_says_so(member: Client, releases: Project) -> None:
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    # A third takes much more, and most a little less: the mean rose, and the ranks did not.
    times = [us + (14_000 if number % 3 else 400_000) for number, us in enumerate(TIMES)]
    make_timed_views(releases, times, release="4.0.0", hidden_us=1_000)
    text = text_of(member, "/projects/shop/")
    assert re.search(
        r"4\.0\.0 is slower than 3\.0\.0 by [\d]+ ms per view \([\d.]+ to [\d.]+ ms\) on average, "
        r"but fewer than half of the views clearly changed\.",
        text,
    ), text


def test_a_page_leads_and_all_pages_follow(member: Client, releases: Project) -> None:
    for release in ("2.0.0", "3.0.0"):
        make_timed_views(releases, [us * 40 for us in TIMES], release=release, page="/list", hidden_us=1_000)
    text = text_of(member, "/projects/shop/")
    assert re.search(r"3\.0\.0 made /cart slower : .* All pages together: no clear change\.", text), text


def test_too_few_views_are_said_to_be_too_few(member: Client, releases: Project) -> None:
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    make_timed_views(releases, [10_000] * 7, release="4.0.0")
    text = text_of(member, "/projects/shop/?release=4.0.0")
    assert "Too few page views to compare 4.0.0 with 3.0.0 ." in text
    assert "40 of 3.0.0 , 7 of 4.0.0 ." in text


def test_a_release_that_one_person_has_met_does_not_hide_what_the_one_before_changed(
    member: Client, releases: Project
) -> None:
    before = text_of(member, "/projects/shop/")
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    make_timed_views(releases, [10_000], release="4.0.0")
    text = text_of(member, "/projects/shop/")
    assert "3.0.0 made /cart slower" in before
    assert "3.0.0 made /cart slower" in text
    assert "Newer releases with too few page views: 4.0.0 (1 page view)." in text
    assert "Newer releases" not in before


def test_releases_lead_to_what_each_is_like_and_are_grey_where_views_are_few(member: Client, releases: Project) -> None:
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    make_timed_views(releases, [10_000], release="4.0.0")
    page = page_of(member, "/projects/shop/")
    table = page[page.index('id="releases"') :]
    rows = re.findall(r'<a href="([^"]+)"><bdi>([^<]+)</bdi></a></th>\s*<td class="figure ([a-z-]+)"', table)
    assert rows[:2] == [
        ("/projects/shop/?release=4.0.0", "4.0.0", "too-few"),
        ("/projects/shop/?release=3.0.0", "3.0.0", "strong"),
    ]


def test_what_is_left_of_expired_views_is_not_called_chosen_evenly(member: Client, releases: Project) -> None:
    group = Group.objects.get(project=releases, release="2.0.0")
    views = View.objects.filter(project=releases, group_id=group.id)
    views.filter(view_id__in=views.order_by("view_id").values_list("view_id", flat=True)[:15]).delete()
    text = text_of(member, "/projects/shop/")
    left = "From 25 of 40 and 40 page views; the others have expired, and only their sums are kept."
    assert left in text
    assert "even sample" not in text


def test_where_all_views_of_a_side_have_expired_they_are_too_few(member: Client, releases: Project) -> None:
    group = Group.objects.get(project=releases, release="2.0.0")
    View.objects.filter(project=releases, group_id=group.id).delete()
    text = text_of(member, "/projects/shop/")
    assert "Too few page views to compare 3.0.0 with 2.0.0 ." in text
    assert "Some page views have expired: 0 and 40 are left." in text


def test_one_release_alone_is_compared_with_nothing(member: Client, shop: Project) -> None:
    assert "Only one release so far." in text_of(member, "/projects/shop/")


def test_the_slice_and_the_measure_go_along(member: Client, releases: Project) -> None:
    page = page_of(member, "/projects/shop/?page=/cart&device=desktop&measure=self&lines=none")
    chart = re.search(r'data-chart-url="([^"]+)"', page)
    assert chart is not None
    assert chart[1] == "/api/v1/projects/shop/trend?page=/cart&device=desktop&measure=self&by=none&limit=6"
    assert member.get(chart[1]).json()["lines"][0]["release"] is None
    changes = re.search(r'hx-get="([^"]+/changes/[^"]+)"', page)
    assert changes is not None
    sides = "base_release=2.0.0&head_release=3.0.0&measure=self%2Bhidden&page=/cart&device=desktop"
    assert changes[1] == f"/projects/shop/changes/?{sides}"
    assert f'href="/projects/shop/compare/?{sides}"' in page
    assert 'href="/projects/shop/?page=/cart&device=desktop&lines=none" aria-current' not in page
    assert 'href="/projects/shop/?page=/cart&device=desktop&lines=none"' in page  # back to the default
    assert '<input type="hidden" name="measure" value="self">' in page


def test_what_is_finer_than_cells_is_said_to_be_left_out(member: Client, releases: Project) -> None:
    text = text_of(member, "/projects/shop/?tag=cache:cold")
    assert "This page ignores filters by tag, single view and trace." in text
    assert "tag" not in re.findall(r'data-chart-url="([^"]+)"', page_of(member, "/projects/shop/?tag=cache:cold"))[0]


def test_pages_are_sorted_by_time_per_view_and_those_with_few_views_come_last(
    member: Client, releases: Project
) -> None:
    make_timed_views(releases, [10 * us for us in TIMES], page="/list")
    make_timed_views(releases, [100_000, 140_000] * 2, page="/rare")
    text = text_of(member, "/projects/shop/?measure=self")
    first = re.search(r"/list 150 ms ([\d.]+) to ([\d.]+) ms 40 72\.4 % Script", text)
    assert first is not None, text
    assert float(first[1]) < 150.0 < float(first[2])
    # /rare takes more than /cart, but nobody knows its mean well: it has no interval.
    assert text.index("/list 150 ms") < text.index("/cart 22.3 ms 81 21.8 %") < text.index("/rare 120 ms 4 5.8 %")
    assert 'title="Too few page views for an interval"' in page_of(member)
    few = text_of(member, "/projects/shop/?limit=1&measure=self")
    assert "1 of 3 pages. Show more pages" in few
    assert "/rare" not in few[few.index("Pages by cost") :]


def test_pages_can_be_sorted_by_their_total(member: Client, releases: Project) -> None:
    make_timed_views(releases, [60_000] * 30, page="/small")  # 1.8 s in all, /cart has 1.9 s
    first = page_of(member)
    table = text_of(member, "/projects/shop/")
    table = table[table.index("Pages by cost") :]
    assert table.index("/small") < table.index("/cart")
    (link,) = re.findall(r'<a href="([^"]+)" title="Sort by total', first)
    assert link == "/projects/shop/?sort=total#pages"
    table = text_of(member, link.partition("#")[0])
    table = table[table.index("Pages by cost") :]
    assert table.index("/cart") < table.index("/small")


def test_a_slow_queue_and_the_doors_reasons_are_told_with_what_to_do(member: Client, releases: Project) -> None:
    make_receipt(releases, state=Receipt.State.PENDING, age=timedelta(minutes=7))
    Refusal.objects.create(project=releases, hour_at=NOW, reason="origin_not_allowed", shard=0, count=3)
    text = text_of(member, "/projects/shop/")
    assert "1 trace pending, 3 refused." in text
    assert re.search(r"Pending 1 oldest received \d{4}-\d\d-\d\d \d\d:\d\d UTC", text)
    assert "check whether a worker runs" in text
    assert "3 × origin_not_allowed The page’s origin is not allowed for this key. If the site is yours" in text


def test_whole_data_takes_one_line_and_its_numbers_are_folded(member: Client, releases: Project) -> None:
    text = text_of(member, "/projects/shop/")
    assert re.search(r"Data is complete: nothing pending, rejected or refused\. Last received \S+ [\d:]+ UTC \.", text)
    card = page_of(member)[page_of(member).index('class="card data-state"') :]
    assert card.index("Data is complete") < card.index('<details class="notes">') < card.index("<dt>Pending</dt>")


def view(name: str, samples: int, release: str, page: str = "/cart") -> dict[str, Any]:
    """Returns a view in which `slow` runs for so many samples of 10 ms, and `steady` for two."""
    columns = "\n".join(["main slow"] * samples + ["main steady"] * 2)
    envelope = make_envelope(name, columns, release=release, page=page)
    for frame in envelope["trace"]["frames"]:
        frame["column"] = {"main": 10, "slow": 11, "steady": 12}[frame["name"]]
    return envelope


@pytest.fixture
def folded(member: Client) -> Project:
    """The lab's releases 5.0.0 and 6.0.0, with contributions: `slow` takes 30 ms more a view in the second."""
    lab = make_project("lab")
    lab.memberships.create(user_id=member.session["_auth_user_id"])
    for release, more, views in (("5.0.0", 0, 30), ("6.0.0", 3, 30), ("7.0.0", 0, 1)):
        post("KEY-lab", *(view(f"{release}-{n}", 1 + n % 3 + more, release) for n in range(views)))
    fold_all()
    return lab


def test_the_verdict_names_its_culprits_with_intervals_one_click_away(member: Client, folded: Project) -> None:
    text = text_of(member, "/projects/lab/")
    assert re.search(r"slow \+30 ms \d+(?:\.\d)? to \d+(?:\.\d)? ms seen in its own code", text), text
    page = page_of(member, "/projects/lab/")
    card = page[page.index('class="card verdict') : page.index("</section>")]
    (link,) = re.findall(r'<a class="culprit" href="([^"]+)"', card)
    assert re.fullmatch(r"/projects/lab/functions/\d+/\?release=6\.0\.0&page=/cart", link)
    assert member.get(link).status_code == 200
    assert 'class="figure is-rise"' in card
    assert "hx-get" not in card  # the functions are named already
    assert page.index('class="card verdict') < page.index('id="changes"') < page.index('id="trend"')


def test_pages_stand_below_the_verdict_with_their_own_state(member: Client, folded: Project) -> None:
    text = text_of(member, "/projects/lab/")
    assert re.search(r"Views /cart slower 40 ms 70 ms \+30 ms [\d.]+ to [\d.]+ ms < 0\.001 30 / 30 ", text), text
    link = "/projects/lab/compare/?base_release=5.0.0&head_release=6.0.0&measure=self%2Bhidden&page=/cart"
    assert f'href="{link}"' in page_of(member, "/projects/lab/")
    assert text.count("slow +30 ms") == 1  # what the verdict says is not repeated


def test_a_typical_and_a_worst_view_of_the_verdicts_page_are_a_click_away(member: Client, folded: Project) -> None:
    page = page_of(member, "/projects/lab/")
    links = dict(re.findall(r'<a class="button" href="([^"]+)" title="[^"]+">(\w+) view</a>', page))
    assert sorted(links.values()) == ["Typical", "Worst"]
    for link in links:
        answer = member.get(link)
        assert answer.status_code == 302
        assert re.match(r"/projects/lab/views/[0-9a-f-]{36}/\?release=6\.0\.0&page=/cart", answer["Location"])
        assert member.get(answer["Location"]).status_code == 200


def test_where_no_page_changed_clearly_functions_that_did_come_later(member: Client, folded: Project) -> None:
    for release in ("8.0.0", "9.0.0"):
        more = 3 if release == "9.0.0" else 0
        for page, shift in (("/home", 90), ("/list", 80)):
            post("KEY-lab", *(view(f"{page} {release} {n}", 5 + n % shift, release, page) for n in range(99)))
        post("KEY-lab", *(view(f"c {release} {n}", 1 + n % 3 + more, release) for n in range(12)))
    fold_all()
    page = page_of(member, "/projects/lab/")
    assert "No clear change" in text_of(member, "/projects/lab/")
    assert 'hx-get="/projects/lab/changes/?base_release=8.0.0&head_release=9.0.0' in page


def test_changed_functions_have_intervals_and_lead_to_them(member: Client, folded: Project) -> None:
    address = "/projects/lab/changes/?base_release=5.0.0&head_release=6.0.0"
    text = text_of(member, address)
    assert re.search(r"slow \+30 ms \d+(?:\.\d)? to \d+(?:\.\d)? ms", text)
    assert "1 function with significant changes; " in text
    assert "steady" not in text
    page = page_of(member, address)
    assert re.search(r'href="/projects/lab/functions/\d+/\?release=6\.0\.0"', page)
    assert 'class="figure is-rise"' in page
    assert "compare/?base_release=5.0.0&head_release=6.0.0&measure=self%2Bhidden" in page


def test_what_one_page_alone_has_lost_is_looked_for_there(member: Client, folded: Project) -> None:
    # On a page with most of the views and times that vary, nothing changed.
    for release in ("8.0.0", "9.0.0"):
        post("KEY-lab", *(view(f"h {release} {n}", 5 + n % 90, release, "/home") for n in range(99)))
        more = 3 if release == "9.0.0" else 0
        post("KEY-lab", *(view(f"c {release} {n}", 1 + n % 3 + more, release) for n in range(24)))
    fold_all()
    text = text_of(member, "/projects/lab/changes/?base_release=8.0.0&head_release=9.0.0")
    assert "1 function with significant changes on /cart ;" in text
    assert re.search(r"slow \+30 ms", text)
    page = page_of(member, "/projects/lab/changes/?base_release=8.0.0&head_release=9.0.0&page=/cart&page=/home")
    (link,) = re.findall(r'<a href="([^"]+)">All functions</a>', page)
    assert link.endswith("?base_release=8.0.0&head_release=9.0.0&measure=self%2Bhidden&page=/cart")


def test_where_no_function_changed_this_is_said(member: Client, folded: Project) -> None:
    address = "/projects/lab/changes/?base_release=5.0.0&head_release=5.0.0"
    assert "No function changed significantly; 2 uncertain." in text_of(member, address)
    page = page_of(member, address)
    assert "is-rise" not in page


def test_what_a_new_bundle_may_only_have_moved_is_no_finding(member: Client, folded: Project) -> None:
    moved = [view(f"moved {n}", 1 + n % 3, "8.0.0") for n in range(30)]
    for envelope in moved:
        for frame in envelope["trace"]["frames"]:
            frame["column"] += 100
    post("KEY-lab", *moved)
    fold_all()
    address = "/projects/lab/changes/?base_release=5.0.0&head_release=8.0.0"
    text = text_of(member, address)
    assert "No function changed significantly" in text
    assert "2 new and 2 gone without source maps: they may only have moved." in text
    assert "is-rise" not in page_of(member, address)


def test_devices_and_browsers_stand_below_the_pages_in_the_same_table(member: Client, releases: Project) -> None:
    for number, release in enumerate(("2.0.0", "3.0.0")):
        times = [us + 90_000 * number for us in TIMES]
        make_timed_views(releases, times, release=release, device="mobile-low", hidden_us=1_000)
    page = page_of(member)
    (link,) = re.findall(r'hx-get="(/projects/shop/change-parts/[^"]+)"', page)
    sides = "base_release=2.0.0&head_release=3.0.0&measure=self%2Bhidden"
    assert link == f"/projects/shop/change-parts/?{sides}&page=/cart"  # the page that the verdict leads with
    assert page.index('id="changes"') < page.index(link) < page.index('id="trend"')
    text = text_of(member, link)
    assert re.search(r"mobile-low slower 16 ms 106 ms \+90 ms [\d.]+ to [\d.]+ ms < 0\.001 40 / 40", text), text
    assert text.index("mobile-low slower") < text.index("desktop slower")
    assert "chrome" not in text  # the only browser
    part = page_of(member, link)
    assert 'href="/projects/shop/?page=/cart&device=mobile-low"' in html.unescape(part)
    one = text_of(member, link + "&device=desktop")
    assert "All page views of /cart come from one device class and one browser." in one


def test_changes_of_too_few_views_are_not_told(member: Client, folded: Project) -> None:
    text = text_of(member, "/projects/lab/changes/?base_release=7.0.0&head_release=6.0.0")
    assert "Too few page views to compare functions: 30 of 6.0.0 and 1 of 7.0.0 ." in text


def test_changes_without_sides_say_what_is_missing(member: Client, folded: Project) -> None:
    assert "base_release" in text_of(member, "/projects/lab/changes/")


def test_a_project_whose_views_have_expired_says_so(member: Client) -> None:
    project = make_project("gone")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    make_receipt(project)
    count_receipts()
    assert "All page views have expired" in text_of(member, "/projects/gone/")


def test_the_list_tells_js_per_view_of_the_last_days_and_draws_them(member: Client) -> None:
    busy = make_project("busy", name="The busy one")
    busy.memberships.create(user_id=member.session["_auth_user_id"])
    today = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
    for days in (0, 1, 3):
        make_timed_views(busy, TIMES, bucket_at=today - timedelta(days=days))
    make_timed_views(busy, [1_000_000] * 5, bucket_at=today - timedelta(days=40))
    text = text_of(member, "/projects/")
    assert "The busy one busy 15 ms See overview " in text
    assert " 125 1 page never" in text
    page = page_of(member, "/projects/")
    page = page[page.index("The busy one") : page.index("The shop")]
    assert page.count("<path d=") == 1  # yesterday and today; the third day lies alone
    assert page.count("<circle") == 2
    assert 'hx-get="/projects/busy/last-change/"' in page


def test_a_project_without_views_is_led_to_its_first_trace(member: Client) -> None:
    project = make_project("fresh")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    assert "no views Send the first trace 0 never" in text_of(member, "/projects/")


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([us + 30_000 for us in TIMES], "4.0.0 made /cart slower : +14 ms per view"),
        (TIMES, "4.0.0 made /cart faster : −16 ms per view"),
        ([us + 15_000 for us in TIMES], "No clear change from 3.0.0 to 4.0.0 : −1 ms per view"),
        ([10_000], "3.0.0 made /cart slower : +15 ms per view"),  # too few have met the newest
    ],
)
def test_the_list_tells_the_last_release_in_words(
    member: Client, releases: Project, times: list[int], words: str
) -> None:
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    make_timed_views(releases, times, release="4.0.0")
    assert text_of(member, "/projects/shop/last-change/").strip().startswith(words)


def test_the_list_has_the_measure_and_the_sentence_of_the_overview(member: Client, shop: Project) -> None:
    now = NOW - timedelta(hours=1)
    for number, release in enumerate(("2.0.0", "3.0.0")):
        make_group(shop, release, "/cart", first_seen_at=now + timedelta(minutes=number))
        make_timed_views(shop, [us + 15_000 * number for us in TIMES], release=release, bucket_at=now, hidden_us=1_000)
    row = text_of(member, "/projects/")
    # 15 and 30 ms of script, and 1 ms of hidden time: the mean of both releases, and of the shop's one other view.
    assert re.search(r"Script \+ hidden time per view .* The shop shop 23\.3 ms ", row), row
    sentence = text_of(member, "/projects/shop/last-change/").strip()
    assert sentence.startswith("3.0.0 made /cart slower : +15 ms per view")
    overview = text_of(member, "/projects/shop/")
    assert sentence in overview
    releases = overview[overview.index("newest first") :]
    assert "3.0.0 31 ms 40" in releases
    assert "2.0.0 16 ms 40" in releases


def test_a_sparkline_goes_from_zero_to_the_highest_day_and_breaks_at_gaps() -> None:
    first = NOW.date()
    days = [ProjectDay(first + timedelta(days=n), 10, us) for n, us in ((0, 100), (1, 200), (5, 50), (8, 0), (9, 0))]
    line = draw_sparkline(days, first)
    assert line.paths == ["M3 14.0 L7 3.0", "M35 25.0 L39 25.0"]
    assert line.dots == [("23", "19.5"), ("39", "25.0")]


def test_parts_take_a_fixed_number_of_statements(
    member: Client, folded: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # session, user, project, overview, releases; facts of both sides; sums and samples of both, looks, functions
    with django_assert_num_queries(26):
        member.get("/projects/lab/last-change/")
    # session, user, project, status
    with django_assert_num_queries(4):
        member.get("/projects/lab/first-steps/")
    # session, user, project; facts of both sides of the verdict and of its functions, which are remembered
    with django_assert_num_queries(10):
        member.get("/projects/lab/changes/?base_release=5.0.0&head_release=6.0.0")
