"""Time a view over time: lines, buckets, intervals; and what the last release changed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aggregate.models import Cell, PageView
from aggregate.selectors.project.last_release import pick_last_releases
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.project.trends import Trend, estimate_pages, estimate_trend, sum_trend
from aggregate.selectors.slice.slices import Slice, SliceError, SliceQuery, resolve_slice
from projects.models import Project
from tests.aggregate.selectors.two_releases import DAY, TIMES, make_two_releases
from tests.builders import MONDAY, make_cell, make_group, make_project, make_timed_views

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_two_releases(first_hidden_us=1_000)


def trend_of(
    project: Project, *, by: str = "release", measure: str = "self", limit: int = 6, **query: list[str]
) -> Trend:
    return estimate_trend(
        sum_trend(resolve_slice(project.pk, SliceQuery(**query)), by=by, limit=limit), measure=measure
    )


def picture(trend: Trend) -> dict[str | None, list[tuple[str, float, int, bool]]]:
    """Returns (start, ms, views, has an interval) of each point by line."""
    return {
        line.release: [
            (
                point.at.strftime("%a %H"),
                point.mean.ms_per_view.value,
                point.mean.views,
                point.mean.ms_per_view.ci95 is not None,
            )
            for point in line.points
        ]
        for line in trend.lines
    }


def test_each_release_is_a_line_the_newest_first_with_gaps_where_it_had_no_views(project: Project) -> None:
    trend = trend_of(project)
    assert trend.bucket == "day"
    assert [line.release for line in trend.lines] == ["new", "old"]
    assert picture(trend) == {
        "new": [("Tue 00", 30.0, 40, True), ("Thu 00", 30.0, 4, False)],
        "old": [("Mon 00", 15.0, 40, True), ("Tue 00", 15.0, 40, True)],
    }
    assert trend.lines[0].points[1].mean.is_too_few


def test_all_releases_together_are_one_line(project: Project) -> None:
    (points,) = picture(trend_of(project, by="none")).values()
    assert points == [("Mon 00", 15.0, 40, True), ("Tue 00", 22.5, 80, True), ("Thu 00", 30.0, 4, False)]


def test_hidden_time_is_a_measure_of_its_own(project: Project) -> None:
    assert picture(trend_of(project, measure="hidden"))["old"][0] == ("Mon 00", 1.0, 40, True)
    assert picture(trend_of(project, measure="self+hidden"))["old"][0] == ("Mon 00", 16.0, 40, True)


def test_the_newest_releases_are_shown_and_the_others_counted(project: Project) -> None:
    trend = trend_of(project, limit=1)
    assert ([line.release for line in trend.lines], trend.line_count) == (["new"], 2)


def test_a_slice_narrows_a_trend(project: Project) -> None:
    make_timed_views(project, [90_000] * 30, release="new", starts_at=MONDAY + DAY, device="mobile")
    assert picture(trend_of(project, device=["mobile"])) == {"new": [("Tue 09", 90.0, 30, True)]}
    assert list(picture(trend_of(project, release=["old"]))) == ["old"]
    with pytest.raises(SliceError, match="nothing finer"):
        trend_of(project, tag=["a:b"])


def test_two_days_of_hours_have_a_point_an_hour_and_merged_hours_one_a_day() -> None:
    project = make_project("hours")
    make_timed_views(project, TIMES)
    make_timed_views(project, TIMES, starts_at=MONDAY + timedelta(hours=2))
    assert picture(trend_of(project))["1.0.0"] == [("Mon 09", 15.0, 40, True), ("Mon 11", 15.0, 40, True)]
    make_timed_views(project, TIMES, starts_at=MONDAY.replace(hour=0), grain=Cell.Grain.DAY)
    assert picture(trend_of(project))["1.0.0"] == [("Mon 00", 15.0, 120, True)]


def test_many_months_have_a_point_a_week_which_begins_on_monday() -> None:
    project = make_project("year")
    make_timed_views(project, TIMES, starts_at=MONDAY - timedelta(days=300))
    make_timed_views(project, TIMES, starts_at=MONDAY + 2 * DAY)
    make_timed_views(project, TIMES, starts_at=MONDAY + 6 * DAY)
    trend = trend_of(project)
    assert trend.bucket == "week"
    assert [point.at.strftime("%a") for point in trend.lines[0].points] == ["Mon", "Mon"]
    assert trend.lines[0].points[1].mean.views == 80


def test_a_sample_tells_the_interval_and_all_views_the_mean(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggregate.selectors.project.trends.POINT_VIEWS", 100)
    monkeypatch.setattr("aggregate.selectors.project.trends.LEAST_POINT_VIEWS", 50)
    times = [1_000 * n for n in range(1_000)]
    make_timed_views(project, times, release="big", page="/list")
    mean = trend_of(project, release=["big"]).lines[0].points[0].mean
    assert 60 <= mean.sampled_views <= 140
    assert mean.ms_per_view.value == 499.5
    assert mean.ms_per_view.ci95 is not None
    # As narrow as a thousand views make it: ± 1.96 × 288.7 / √1000.
    assert mean.ms_per_view.ci95.high - mean.ms_per_view.ci95.low == pytest.approx(35.8, rel=0.25)


def test_views_that_have_expired_leave_means_without_intervals(project: Project) -> None:
    PageView.objects.filter(project_id=project.pk).delete()
    assert {has for line in picture(trend_of(project)).values() for *_, has in line} == {False}
    assert not trend_of(project).lines[0].points[0].mean.is_complete


def test_a_trend_of_no_views_has_no_lines(project: Project) -> None:
    assert trend_of(project, release=["none"]).lines == []


def test_a_trend_is_of_its_own_project(project: Project) -> None:
    make_timed_views(make_project("other"), [1_000_000] * 40, release="old")
    assert picture(trend_of(project))["old"][0] == ("Mon 00", 15.0, 40, True)


def test_pages_have_means_with_intervals(project: Project) -> None:
    make_timed_views(project, [5_000, 7_000] * 3, page="/rare")
    pages = select_overview(Slice(project_id=project.pk), ["page"], limit=10).rows
    cart, rare = estimate_pages(Slice(project_id=project.pk), pages)
    assert [row.page for row in pages] == ["/cart", "/rare"]
    assert (cart.views, cart.ms_per_view.ci95 is not None) == (124, True)
    assert (rare.ms_per_view.value, rare.is_too_few, rare.ms_per_view.ci95) == (6.0, True, None)


def test_the_last_two_releases_are_those_of_the_slice(project: Project) -> None:
    make_cell(project, release="waiting", views=0, traces=0)
    slice_ = Slice(project_id=project.pk)
    known = select_releases(project.pk)

    def pick(asked: Slice) -> tuple[str, str] | None:
        picked = pick_last_releases(asked, select_overview(asked, ["release"], limit=20).rows, known)
        return (picked[0][0], picked[1]) if picked else None

    assert pick(slice_) == ("old", "new")
    assert pick(replace(slice_, releases=("new",))) == ("old", "new")
    assert pick(replace(slice_, releases=("old",))) is None
    assert pick(replace(slice_, pages=("/none",))) is None
    make_group(project, "newest", "/cart", first_seen_at=MONDAY + 4 * DAY)
    make_timed_views(project, [10_000] * 3, release="newest")
    known = select_releases(project.pk)
    assert pick(slice_) == ("old", "new")  # too few have met the newest
    assert pick(replace(slice_, releases=("newest",))) == ("new", "newest")
    make_group(project, "after", "/cart", first_seen_at=MONDAY + 5 * DAY)
    make_timed_views(project, TIMES, release="after")
    known = select_releases(project.pk)
    assert pick(replace(slice_, releases=("after",))) == ("new", "after")  # not the one that three have met
