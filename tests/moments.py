"""Moments for tests whose rows are stored at the present."""

from datetime import UTC, datetime


def now() -> datetime:
    """Returns the present. A constant of a module would be another day's, where the suite runs past midnight."""
    return datetime.now(UTC)
