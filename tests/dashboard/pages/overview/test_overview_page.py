"""The overview: the sentence on the last release, the chart's address, worst pages; the list of projects."""

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from aggregate.models import PageView
from aggregate.selectors.project.summaries import ProjectDay
from dashboard.pages.projects import draw_sparkline
from ingest.count_models import Refusal
from ingest.models import Group, Receipt
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import MONDAY, count_receipts, make_group, make_project, make_receipt, make_timed_views
from tests.dashboard.pages.reading import html_of, text_of
from tests.envelopes import make_envelope

TIMES = [10_000, 20_000] * 20
NOW = datetime.now(UTC)


@pytest.fixture
def releases(shop: Project) -> Project:
    """Releases 2.0.0 and 3.0.0, forty views each: the second takes 15 ms more JS a view."""
    for number, release in enumerate(("2.0.0", "3.0.0")):
        make_group(shop, release, "/cart", first_seen_at=MONDAY + timedelta(days=number + 1))
        times = [us + 15_000 * number for us in TIMES]
        make_timed_views(shop, times, release=release, starts_at=MONDAY + timedelta(days=number + 1), hidden_us=1_000)
    return shop


def test_the_sentence_says_that_the_last_release_is_slower(member: Client, releases: Project) -> None:
    text = text_of(member, "/projects/shop/")
    sentence = r"3\.0\.0 made /cart slower : \+15 ms per view \(([\d.]+) to ([\d.]+) ms\)"
    match = re.search(sentence, text)
    assert match is not None, text
    assert 10 < float(match[1]) < 15 < float(match[2]) < 20
    assert "Before 16 ms, after 31 ms (+93.8 % at one mix of pages and devices)" in text
    assert "From 40 and 40 page views." in text
    assert 'class="card verdict is-slower"' in html_of(member, "/projects/shop/")


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
    page = html_of(member, "/projects/shop/")
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
    page = html_of(member, "/projects/shop/")
    table = page[page.index('id="releases"') :]
    rows = re.findall(r'<a href="([^"]+)"><bdi>([^<]+)</bdi></a></th>\s*<td class="figure ([a-z-]+)"', table)
    assert rows[:2] == [
        ("/projects/shop/?release=4.0.0", "4.0.0", "too-few"),
        ("/projects/shop/?release=3.0.0", "3.0.0", "strong"),
    ]


def test_what_is_left_of_expired_views_is_not_called_chosen_evenly(member: Client, releases: Project) -> None:
    group = Group.objects.get(project=releases, release="2.0.0")
    views = PageView.objects.filter(project=releases, group_id=group.id)
    views.filter(view_id__in=views.order_by("view_id").values_list("view_id", flat=True)[:15]).delete()
    text = text_of(member, "/projects/shop/")
    left = "From 25 of 40 and 40 page views; the others have expired, and only their sums are kept."
    assert left in text
    assert "even sample" not in text


def test_where_all_views_of_a_side_have_expired_they_are_too_few(member: Client, releases: Project) -> None:
    group = Group.objects.get(project=releases, release="2.0.0")
    PageView.objects.filter(project=releases, group_id=group.id).delete()
    text = text_of(member, "/projects/shop/")
    assert "Too few page views to compare 3.0.0 with 2.0.0 ." in text
    assert "Some page views have expired: 0 and 40 are left." in text


def test_one_release_alone_is_compared_with_nothing(member: Client, shop: Project) -> None:
    assert "Only one release so far." in text_of(member, "/projects/shop/")


def test_the_slice_and_the_measure_go_along(member: Client, releases: Project) -> None:
    page = html_of(member, "/projects/shop/?page=/cart&device=desktop&measure=self&lines=none")
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
    assert "tag" not in re.findall(r'data-chart-url="([^"]+)"', html_of(member, "/projects/shop/?tag=cache:cold"))[0]


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
    assert 'title="Too few page views for an interval"' in html_of(member, "/projects/shop/")
    few = text_of(member, "/projects/shop/?limit=1&measure=self")
    assert "1 of 3 pages. Show more pages" in few
    assert "/rare" not in few[few.index("Pages by cost") :]


def test_pages_can_be_sorted_by_their_total(member: Client, releases: Project) -> None:
    make_timed_views(releases, [60_000] * 30, page="/small")  # 1.8 s in all, /cart has 1.9 s
    first = html_of(member, "/projects/shop/")
    table = text_of(member, "/projects/shop/")
    table = table[table.index("Pages by cost") :]
    assert table.index("/small") < table.index("/cart")
    (link,) = re.findall(r'<a href="([^"]+)" title="Sort by total', first)
    assert link == "/projects/shop/?sort=total#pages"
    table = text_of(member, link.partition("#")[0])
    table = table[table.index("Pages by cost") :]
    assert table.index("/cart") < table.index("/small")


def test_a_slow_queue_and_the_endpoints_reasons_are_shown_with_what_to_do(member: Client, releases: Project) -> None:
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
    card = html_of(member, "/projects/shop/")[html_of(member, "/projects/shop/").index('class="card data-state"') :]
    assert card.index("Data is complete") < card.index('<details class="notes">') < card.index("<dt>Pending</dt>")


def test_devices_and_browsers_stand_below_the_pages_in_the_same_table(member: Client, releases: Project) -> None:
    for number, release in enumerate(("2.0.0", "3.0.0")):
        times = [us + 90_000 * number for us in TIMES]
        make_timed_views(releases, times, release=release, device="mobile-low", hidden_us=1_000)
    page = html_of(member, "/projects/shop/")
    (link,) = re.findall(r'hx-get="(/projects/shop/change-parts/[^"]+)"', page)
    sides = "base_release=2.0.0&head_release=3.0.0&measure=self%2Bhidden"
    assert link == f"/projects/shop/change-parts/?{sides}&page=/cart"  # the page that the verdict leads with
    assert page.index('id="changes"') < page.index(link) < page.index('id="trend"')
    text = text_of(member, link)
    assert re.search(r"mobile-low slower 16 ms 106 ms \+90 ms [\d.]+ to [\d.]+ ms < 0\.001 40 / 40", text), text
    assert text.index("mobile-low slower") < text.index("desktop slower")
    assert "chrome" not in text  # the only browser
    part = html_of(member, link)
    assert 'href="/projects/shop/?page=/cart&device=mobile-low"' in html.unescape(part)
    one = text_of(member, link + "&device=desktop")
    assert "All page views of /cart come from one device class and one browser." in one


def test_a_project_whose_views_have_expired_says_so(member: Client) -> None:
    project = make_project("gone")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    make_receipt(project)
    count_receipts()
    assert "may have expired by the project’s retention" in text_of(member, "/projects/gone/")


def test_a_project_with_nothing_but_staging_says_how_to_see_it(member: Client) -> None:
    project = make_project("staged")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    post("KEY-staged", *[make_envelope(f"s{n}", "A", page="/cart", environment="staging") for n in range(3)])
    fold_all()
    text = text_of(member, "/projects/staged/")
    assert "No page views of people in production Choose a browser or an environment above" in text
    assert "No selection = production" in text
    assert "/cart" in text_of(member, "/projects/staged/?environment=staging")


def test_the_list_tells_js_per_view_of_the_last_days_and_draws_them(member: Client) -> None:
    busy = make_project("busy", name="The busy one")
    busy.memberships.create(user_id=member.session["_auth_user_id"])
    today = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
    for days in (0, 1, 3):
        make_timed_views(busy, TIMES, starts_at=today - timedelta(days=days))
    make_timed_views(busy, [1_000_000] * 5, starts_at=today - timedelta(days=40))
    text = text_of(member, "/projects/")
    assert "The busy one busy 15 ms See overview " in text
    assert " 125 1 page never" in text
    page = html_of(member, "/projects/")
    page = page[page.index("The busy one") : page.index("The shop")]
    assert page.count("<path d=") == 1  # yesterday and today; the third day lies alone
    assert page.count("<circle") == 2
    assert 'hx-get="/projects/busy/last-change/"' in page


def test_a_project_without_views_is_led_to_its_first_trace(member: Client) -> None:
    project = make_project("fresh")
    project.memberships.create(user_id=member.session["_auth_user_id"])
    assert "no views Send the first trace 0 never" in text_of(member, "/projects/")


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        ([us + 30_000 for us in TIMES], "4.0.0 made /cart slower : +14 ms per view"),
        (TIMES, "4.0.0 made /cart faster : −16 ms per view"),
        ([us + 15_000 for us in TIMES], "No clear change from 3.0.0 to 4.0.0 : −1 ms per view"),
        ([10_000], "3.0.0 made /cart slower : +15 ms per view"),  # too few have met the newest
    ],
)
def test_the_list_tells_the_last_release_in_words(
    member: Client, releases: Project, times: list[int], sentence: str
) -> None:
    make_group(releases, "4.0.0", "/cart", first_seen_at=MONDAY + timedelta(days=5))
    make_timed_views(releases, times, release="4.0.0")
    assert text_of(member, "/projects/shop/last-change/").strip().startswith(sentence)


def test_the_list_has_the_measure_and_the_sentence_of_the_overview(member: Client, shop: Project) -> None:
    now = NOW - timedelta(hours=1)
    for number, release in enumerate(("2.0.0", "3.0.0")):
        make_group(shop, release, "/cart", first_seen_at=now + timedelta(minutes=number))
        make_timed_views(shop, [us + 15_000 * number for us in TIMES], release=release, starts_at=now, hidden_us=1_000)
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
