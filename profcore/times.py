"""The bounds of UTC hours, days and weeks. Every moment here is an aware datetime in UTC; nothing reads a clock."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)


def start_of_hour(at: datetime) -> datetime:
    """Returns the start of the hour that a moment lies in."""
    return at.replace(minute=0, second=0, microsecond=0)


def start_of_day(at: datetime) -> datetime:
    """Returns the midnight before a moment, or the moment itself if it is one."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def start_of_week(at: datetime) -> datetime:
    """Returns the start of the week that a moment lies in: a Monday, as with PostgreSQL's `date_trunc`."""
    midnight = start_of_day(at)
    return midnight - midnight.weekday() * DAY


def next_midnight(at: datetime) -> datetime:
    """Returns the first midnight after a moment."""
    return start_of_day(at) + DAY


def midnight_days_before(at: datetime, days: int) -> datetime:
    """Returns the midnight `days` days before the midnight that begins the moment's day."""
    return start_of_day(at) - days * DAY


def midnight_hours_before(at: datetime, hours: int) -> datetime:
    """Returns the last midnight before which every moment is at least `hours` hours older than `at`."""
    return start_of_day(at - hours * HOUR)


def day_ending_at(midnight: datetime) -> date:
    """Returns the day that ends at a midnight; at any other moment, the day that it lies in."""
    return (midnight - timedelta(microseconds=1)).date()


def bounds_of_day(day: date) -> tuple[datetime, datetime]:
    """Returns the first moment of a day, and that of the next one."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return start, start + DAY
