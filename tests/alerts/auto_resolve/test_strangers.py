"""Releases that a stranger makes up are neither watched nor a base, unless they have a part of all page views."""

from datetime import timedelta

import pytest

from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.verdict import page_changes
from alerts.models import AlertState
from alerts.releases import pick_watched
from profcore.alerts.states import State
from projects.models import Project
from projects.releases import announce_release
from tests.alerts.rolled_back import START, at, look, make_release, make_shop, receive

pytestmark = [pytest.mark.django_db, pytest.mark.slow(20)]


@pytest.fixture
def project() -> Project:
    """Two days of 1.0, then one of a slow 1.1 with 2,880 page views."""
    made = make_shop()
    receive(made, "1.1", range(48, 72), cart=2.0, views=60)
    return made


def make_up(project: Project, *releases: str, hour: int, cart: float = 1.0, views: int = 10) -> None:
    """So many views of each of two pages, each release with its own."""
    for release in releases:
        make_release(project, release, hour)
        receive(project, release, range(hour, hour + 1), cart=cart, views=views)


def row_of(release: str, views: int, *, of_all: int = 0, hour: int = 0, is_announced: bool = False) -> ReleaseRow:
    return ReleaseRow(
        release=release,
        first_seen_at=at(hour),
        views=views,
        truncated_views=0,
        project_views=of_all,
        is_announced=is_announced,
    )


def watched(project: Project) -> dict[str, str]:
    """Returns the base of each release that has states."""
    return dict(AlertState.objects.filter(project=project).values_list("release", "base_release"))


def test_made_up_releases_do_not_hide_a_real_one(project: Project) -> None:
    make_up(project, "fake1", "fake2", "fake3", hour=72)
    look(project, 72)
    assert watched(project) == {"1.1": "1.0"}
    assert AlertState.objects.get(page="/cart").state == State.CONFIRMED


def test_a_made_up_release_is_no_base_of_the_next_one(project: Project) -> None:
    make_up(project, "fake", hour=72, cart=0.5)
    make_release(project, "1.2", 73)
    receive(project, "1.2", range(73, 80), cart=2.0, views=60)
    look(project, 80)
    assert watched(project) == {"1.1": "1.0", "1.2": "1.1"}


def test_a_release_with_a_hundredth_of_the_page_views_counts(project: Project) -> None:
    make_up(project, "canary", hour=72, views=20)
    look(project, 72)
    assert watched(project) == {"1.1": "1.0", "canary": "1.1"}


def test_a_release_that_a_build_announced_counts_with_few_page_views(project: Project) -> None:
    make_up(project, "canary", hour=72)
    announce_release(project.pk, "canary", at(72), {})
    look(project, 72)
    assert watched(project) == {"1.1": "1.0", "canary": "1.1"}


def test_all_page_views_since_the_day_before_a_release_came_are_counted(project: Project) -> None:
    make_up(project, "fake", hour=95)
    counts = {row.release: (row.views, row.project_views) for row in select_releases(project.pk)}
    assert counts == {"fake": (20, 2_900), "1.1": (2_880, 960 + 2_900), "1.0": (1_920, 1_920 + 2_900)}
    recent = {row.release: row.views for row in select_releases(project.pk, since=START + timedelta(days=2))}
    assert recent == {"fake": 20, "1.1": 2_880, "1.0": 0}


def test_saying_that_a_made_up_release_was_rolled_back_does_not_announce_it(project: Project) -> None:
    make_up(project, "fake", hour=72)
    announce_release(project.pk, "fake", at(72), {"rolled_back_at": at(72)})
    assert [row.release for row in select_releases(project.pk) if row.is_announced] == []
    look(project, 72)
    assert watched(project) == {"1.1": "1.0"}


def test_a_release_that_counted_counts_on_with_half_of_the_share() -> None:
    row = row_of("1.1", 30, of_all=5_000)
    assert (row.is_comparable, row.is_comparable_still) == (False, True)
    assert not row_of("1.1", 24, of_all=5_000).is_comparable_still


def test_after_a_month_without_page_views_both_of_two_new_releases_are_watched() -> None:
    shop = make_shop()
    pause = 48 + 40 * 24
    for release, hour in (("1.2", pause), ("1.3", pause + 24)):
        make_release(shop, release, hour)
        receive(shop, release, range(hour, hour + 3), cart=2.0, views=60)
        look(shop, hour + 3)
    receive(shop, "1.2", range(pause + 30, pause + 40), cart=2.0, views=60)
    look(shop, pause + 40)
    assert watched(shop) == {"1.2": "1.0", "1.3": "1.2"}
    assert AlertState.objects.get(release="1.2", page="/cart").look == 2


@pytest.mark.parametrize(
    ("views", "of_all", "is_announced", "is_comparable"),
    [(19, 19, True, False), (20, 60, False, True), (20, 2_000, False, True), (20, 2_001, False, False)],
)
def test_what_counts_on_a_small_site_and_on_a_large_one(
    views: int, of_all: int, is_announced: bool, is_comparable: bool
) -> None:
    row = row_of("1.1", views, of_all=of_all, is_announced=is_announced)
    assert row.is_comparable is is_comparable


def test_others_never_count() -> None:
    assert not row_of("(other)", 9_000, of_all=9_000, is_announced=True).is_comparable


def test_what_a_build_announced_is_watched_beside_newer_releases(project: Project) -> None:
    rows = [row_of(f"n{n}", 50, hour=90 - n, is_announced=n >= 4) for n in range(9)]
    assert pick_watched(rows, (), at(100)) == ["n0", "n1", "n2", "n4", "n5", "n6"]
    assert pick_watched(rows[:2], (), at(100)) == ["n0"]
    assert pick_watched(rows[:2], {"n1"}, at(100)) == ["n0", "n1"]  # its base had its page views long ago


def test_a_base_that_had_no_page_views_for_a_month_is_still_one() -> None:
    shop = make_shop()
    pause = 48 + 40 * 24
    make_release(shop, "1.2", pause)
    receive(shop, "1.2", range(pause, pause + 3), cart=2.0, views=60)
    look(shop, pause + 3)
    assert watched(shop) == {"1.2": "1.0"}


def test_an_alarm_of_a_page_that_is_not_among_the_compared_ones_can_end(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(project, 71)
    assert AlertState.objects.get(page="/cart").state == State.CONFIRMED
    monkeypatch.setattr(page_changes, "MAX_COMPARED_PAGES", 1)
    for hours in (range(72, 120), range(120, 264)):
        receive(project, "1.1", hours, cart=0.5, views=50)  # by now /home has more time
        look(project, hours[-1])
    assert AlertState.objects.get(page="/cart").state == State.RESOLVED
