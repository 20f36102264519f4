"""A month of page views from recordings: the same ones each time, at plausible times, with the shares that are said."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from ops.demo.recordings import read_recordings
from ops.demo.resampling import DEVICE_SHARES, LIVE_DAYS, PAGE_SHARES, Resampled, resample
from ops.demo.story import RELEASES
from profcore.stats.summaries import MIN_VIEWS

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CELLS = [(release, page, device) for release in RELEASES for page in PAGE_SHARES for device in DEVICE_SHARES] * 3


@pytest.fixture(scope="module")
def views() -> list[Resampled]:
    return resample(CELLS, NOW, 3_000)


def test_it_is_about_as_many_views_as_wanted_and_each_is_another_one(views: list[Resampled]) -> None:
    assert abs(len(views) - 3_000) < 5
    assert len({view.view_id for view in views}) == len(views)


def test_each_release_has_its_own_days_up_to_now(views: list[Resampled]) -> None:
    for view in views:
        begins, ends = LIVE_DAYS[CELLS[view.recording][0]]
        assert NOW - timedelta(days=begins) <= view.started_at <= NOW - timedelta(days=ends)
    assert NOW - views[-1].started_at < timedelta(hours=1)
    assert [view.started_at for view in views] == sorted(view.started_at for view in views)


def test_ids_and_recordings_do_not_depend_on_the_day_so_that_loading_again_adds_nothing(
    views: list[Resampled],
) -> None:
    later = resample(CELLS, NOW + timedelta(days=11, hours=3), 3_000)
    assert {(one.view_id, one.recording, one.user_agent) for one in later} == {
        (one.view_id, one.recording, one.user_agent) for one in views
    }


def test_recordings_take_turns(views: list[Resampled]) -> None:
    uses: dict[tuple[str, str, str], Counter[int]] = {}
    for view in views:
        uses.setdefault(CELLS[view.recording], Counter())[view.recording] += 1
    assert all(max(counts.values()) - min(counts.values()) <= 1 for counts in uses.values())


def test_pages_devices_and_hours_have_their_shares(views: list[Resampled]) -> None:
    pages = Counter(CELLS[view.recording][1] for view in views)
    devices = Counter(CELLS[view.recording][2] for view in views)
    for shares, counts in ((PAGE_SHARES, pages), (DEVICE_SHARES, devices)):
        assert all(abs(counts[name] / len(views) - share) < 0.04 for name, share in shares.items())
    hours = Counter(view.started_at.hour for view in views)
    assert hours[20] > 3 * hours[3]


def test_phones_have_browsers_of_phones(views: list[Resampled]) -> None:
    for view in views:
        assert ("Mobile" in view.user_agent) == CELLS[view.recording][2].startswith("mobile")


def test_weak_phones_are_enough_to_compare_on_the_page_of_the_story() -> None:
    cells = [(one.release, one.page, one.device) for one in read_recordings()]
    counts = Counter(cells[view.recording] for view in resample(cells, NOW, settings.DEMO_VIEWS))
    for release in RELEASES:
        assert counts[release, "/product/:id", "mobile-low"] >= MIN_VIEWS
