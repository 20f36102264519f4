"""The bounds of UTC hours, days and weeks."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.times import (
    DAY,
    HOUR,
    WEEK,
    bounds_of_day,
    day_ending_at,
    midnight_days_before,
    midnight_hours_before,
    next_midnight,
    start_of_day,
    start_of_hour,
    start_of_week,
)

SUNDAY = datetime(2026, 11, 22, 13, 4, 33, 17, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 22, tzinfo=UTC)
moments = st.datetimes(datetime(1970, 2, 1), datetime(2999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  # given a zone


def test_a_moment_lies_in_an_hour_a_day_and_a_week_that_begins_on_monday() -> None:
    assert start_of_hour(SUNDAY) == datetime(2026, 11, 22, 13, tzinfo=UTC)
    assert start_of_day(SUNDAY) == MIDNIGHT
    assert start_of_week(SUNDAY) == datetime(2026, 11, 16, tzinfo=UTC)


def test_a_bound_is_its_own_start() -> None:
    monday = datetime(2026, 11, 16, tzinfo=UTC)
    assert [start(monday) for start in (start_of_hour, start_of_day, start_of_week)] == [monday] * 3


def test_the_next_midnight_is_never_now() -> None:
    assert next_midnight(SUNDAY) == datetime(2026, 11, 23, tzinfo=UTC)
    assert next_midnight(MIDNIGHT) == MIDNIGHT + DAY


@pytest.mark.parametrize(("days", "day"), [(0, 22), (1, 21), (21, 1)])
def test_days_are_counted_from_the_moments_own_day(days: int, day: int) -> None:
    assert midnight_days_before(SUNDAY, days) == datetime(2026, 11, day, tzinfo=UTC)


@pytest.mark.parametrize(("hours", "day"), [(0, 22), (13, 22), (14, 21), (48, 20)])
def test_hours_are_counted_from_the_moment(hours: int, day: int) -> None:
    assert midnight_hours_before(SUNDAY, hours) == datetime(2026, 11, day, tzinfo=UTC)


def test_a_day_ends_where_the_next_one_begins() -> None:
    assert bounds_of_day(date(2026, 12, 31)) == (
        datetime(2026, 12, 31, tzinfo=UTC),
        datetime(2027, 1, 1, tzinfo=UTC),
    )


def test_a_midnight_ends_the_day_before_it() -> None:
    assert day_ending_at(MIDNIGHT) == date(2026, 11, 21)
    assert day_ending_at(SUNDAY) == date(2026, 11, 22)
    assert day_ending_at(bounds_of_day(date(2026, 12, 31))[1]) == date(2026, 12, 31)


@given(moments)
def test_a_moment_is_within_each_of_its_units(at: datetime) -> None:
    for start, size in ((start_of_hour, HOUR), (start_of_day, DAY), (start_of_week, WEEK)):
        assert timedelta(0) <= at - start(at) < size
        assert start(start(at)) == start(at)
