"""The verdict and the pages choose the same base, and say which release they passed over."""

from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from aggregate.selectors.slice.slices import format_instant
from ingest.models import Group
from projects.models import Project
from projects.releases import announce_release
from tests.alerts.repaired import START, TIMES, make_releases
from tests.builders import MONDAY, make_group, make_timed_views
from tests.dashboard.pages.reading import HOSTILE, html_of, text_of

BY: Final = "2026-11-20T06:00:00Z"


def ask(client: Client, query: str) -> Any:  # Any: JSON
    response = client.get(f"/api/v1/projects/shop/verdict?{query}")
    assert response.status_code == 200, response.content
    return response.json()


def test_the_base_is_what_users_had_unless_one_is_named(member: Client, shop: Project) -> None:
    make_releases(shop, "1.1")
    passed_over = [{"release": "1.1", "rolled_back_by": BY}]
    for query in ("release=1.2", "", "release=1.2&page=/cart"):
        verdict = ask(member, query)
        assert (verdict["base"], verdict["head"], verdict["passed_over"]) == ("1.0", "1.2", passed_over), query
        assert verdict["state"] == "slower"
    verdict = ask(member, "base_release=1.1&head_release=1.2")
    assert (verdict["base"], verdict["state"], verdict["passed_over"]) == ("1.1", "faster", [])
    assert ask(member, "release=1.1&release=1.2")["base"] == "1.1"  # the slice names both
    assert ask(member, "release=1.1")["base"] == "1.0"


@pytest.mark.parametrize("bad", ["1.1", HOSTILE])
def test_the_overview_says_which_release_was_passed_over(member: Client, shop: Project, bad: str) -> None:
    make_releases(shop, bad)
    sentence = "Compared with 1.0 . Passed over: "
    text = text_of(member, "/projects/shop/")
    assert sentence in text, text
    assert "rolled back on 2026-11-20 06:00 UTC or earlier" in text
    assert b"<script>alert" not in member.get("/projects/shop/").content
    assert "1.2 made /cart slower" in text_of(member, "/projects/shop/last-change/")


def test_compare_has_the_same_base_and_says_so_unless_sides_are_named(member: Client, shop: Project) -> None:
    make_releases(shop, "1.1")
    html = html_of(member, "/projects/shop/compare/")
    assert "base_release=1.0&head_release=1.2" in html
    sentence = "Compared with 1.0 . Passed over: 1.1 , rolled back on 2026-11-20 06:00 UTC or earlier"
    assert sentence in text_of(member, "/projects/shop/compare/")
    named = "/projects/shop/compare/?base_release=1.0&head_release=1.2"
    assert "Passed over" not in text_of(member, named)


def test_compare_and_verdict_choose_among_the_releases_that_a_page_has(member: Client, shop: Project) -> None:
    make_releases(shop, "1.1")
    for release, days in (("1.2", 8), ("1.3", 9)):
        at = MONDAY + timedelta(days=days)
        make_group(shop, release, "/home", first_seen_at=at)
        make_timed_views(shop, [10_000] * 40, release=release, page="/home", starts_at=at)
    for page, head in (("/home", "1.3"), ("/cart", "1.2")):
        assert ask(member, f"page={page}")["head"] == head
        assert f"&head_release={head}" in html_of(member, f"/projects/shop/compare/?page={page}"), page


def test_of_several_that_were_passed_over_the_last_time_is_shown(member: Client, shop: Project) -> None:
    make_releases(shop, "1.1.4")
    for number in range(4):
        release, first_seen_at = f"1.1.{number}", START + timedelta(hours=49 + number / 10)
        make_group(shop, release, "/cart", first_seen_at=first_seen_at - timedelta(hours=2))
        make_timed_views(shop, TIMES * 9, release=release, starts_at=START + timedelta(hours=60))
        said_at = START + timedelta(days=2 + number)
        announce_release(shop.pk, release, said_at, {"rolled_back_at": said_at})
    sentence = "Passed over: 1.1.4 , 1.1.3 , 1.1.2 and others, rolled back on "
    for address in ("/projects/shop/", "/projects/shop/compare/"):
        assert sentence + "2026-11-21 00:00 UTC" in text_of(member, address)


@pytest.mark.parametrize("release", ["1.2", "<script>alert(1)</script>"])
def test_a_verdict_says_that_its_release_was_rolled_back(member: Client, shop: Project, release: str) -> None:
    make_releases(shop, "1.1")
    Group.objects.filter(project=shop, release="1.2").update(release=release)
    named = urlencode({"base_release": "1.0", "head_release": release})
    pages = ("/projects/shop/", f"/projects/shop/compare/table/?{named}")
    now = timezone.now()
    for at, is_shown in ((now, True), (None, False), (now + timedelta(hours=2), False)):
        announce_release(shop.pk, release, now, {"rolled_back_at": at})
        assert ask(member, named)["rolled_back_by"] == (format_instant(now) if is_shown else None)
        for page in pages:
            assert (f"{release} was rolled back on" in text_of(member, page)) is is_shown, page
            assert b"<script>alert" not in member.get(page).content
