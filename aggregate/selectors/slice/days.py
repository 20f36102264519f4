"""The times of a slice as whole UTC days, for what is counted by day."""

from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any

from aggregate.selectors.slice.slices import TimeRange
from profcore.times import DAY, start_of_day


def widen_to_days(ranges: Sequence[TimeRange]) -> tuple[TimeRange, ...]:
    """Returns ranges of whole UTC days around some ranges."""
    return tuple(
        (start and start_of_day(start), end and start_of_day(end - timedelta(microseconds=1)) + DAY)
        for start, end in ranges
    )


def where_utc_days(ranges: Sequence[TimeRange], column: str) -> tuple[str, dict[str, Any]]:  # Any: dates
    """Returns the condition that a day is in one of some ranges of whole days, and its parameters."""
    if not ranges:
        return "true", {}
    condition = (
        "EXISTS (SELECT FROM unnest(%(starts)s::date[], %(ends)s::date[]) AS b (f, t)"
        f" WHERE {column} >= COALESCE(b.f, '-infinity') AND {column} < COALESCE(b.t, 'infinity'))"
    )
    return condition, {
        "starts": [start and start.astimezone(UTC).date() for start, _ in ranges],
        "ends": [end and end.astimezone(UTC).date() for _, end in ranges],
    }
