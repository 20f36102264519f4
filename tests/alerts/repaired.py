"""A project whose bad release was rolled back, and the repaired one after it."""

from datetime import timedelta
from typing import Final

from profcore.times import start_of_day
from projects.models import Project
from tests.builders import MONDAY, make_group, make_timed_views

START: Final = start_of_day(MONDAY)
TIMES: Final = [10_000, 12_000, 14_000, 16_000] * 4


def make_releases(shop: Project, bad: str) -> None:
    """Makes a day of 1.0, one of a slow release, and 30 hours of 1.0 again; then 1.2, only faster than the slow one."""
    for release, hour, hours, factor in (("1.0", 24, 24, 1), (bad, 48, 24, 3), ("1.0", 72, 30, 1), ("1.2", 102, 4, 2)):
        make_group(shop, release, "/cart", first_seen_at=START + timedelta(hours=hour))
        for hours_later in range(hour, hour + hours):
            times = [us * factor for us in TIMES]
            make_timed_views(shop, times, release=release, starts_at=START + timedelta(hours=hours_later))
