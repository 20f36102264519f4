"""The demo's samples: recorded traces, moved to the last days, small enough to ship."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from config.demo import SAMPLES, read_samples

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def read_moved(now: datetime = NOW) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_samples(now)]


def test_every_page_is_there_in_both_releases() -> None:
    cells = {(one["page"], one["release"]) for one in read_moved()}
    assert cells == {
        (page, release) for page in ("/products", "/checkout", "/dashboard") for release in ("1.0.0", "1.1.0")
    }


def test_all_dates_lie_within_the_last_four_days_and_the_newest_are_of_now() -> None:
    starts = [datetime.fromtimestamp(one["viewStart"] / 1000, UTC) for one in read_moved()]
    assert NOW - timedelta(days=4) <= min(starts)
    assert NOW - timedelta(minutes=10) <= max(starts) <= NOW
    assert all(one["viewStart"] == one["timeOrigin"] for one in read_moved())


def test_the_older_release_ends_where_the_newer_begins() -> None:
    latest_old = max(one["viewStart"] for one in read_moved() if one["release"] == "1.0.0")
    earliest_new = min(one["viewStart"] for one in read_moved() if one["release"] == "1.1.0")
    assert latest_old == earliest_new


def test_ids_do_not_depend_on_the_day_so_that_loading_again_adds_nothing() -> None:
    later = read_moved(NOW + timedelta(days=30))
    assert [(one["viewId"], one["seq"]) for one in later] == [(one["viewId"], one["seq"]) for one in read_moved()]
    assert len({one["viewId"] for one in later}) == len(later) == 126


def test_a_trace_itself_is_left_as_it_was_recorded() -> None:
    assert [one["trace"] for one in read_moved()] == [one["trace"] for one in read_moved(NOW + timedelta(days=1))]


def test_the_samples_are_small_enough_to_ship() -> None:
    assert SAMPLES.stat().st_size < 400_000
