"""Two releases of one page, for trends and verdicts."""

from datetime import timedelta
from typing import Final

from projects.models import Project
from tests.builders import MONDAY, make_group, make_project, make_timed_views

DAY: Final = timedelta(days=1)
TIMES: Final = [10_000, 20_000] * 20


def make_two_releases(*, first_hidden_us: int = 0) -> Project:
    """Makes the shop: 80 views of the old release on Monday and Tuesday, 44 of the new on Tuesday and Thursday.

    The new one is twice as dear. Each view of Monday has so much hidden time.
    """
    made = make_project("shop")
    for release, first_seen_at in (("old", MONDAY), ("new", MONDAY + DAY)):
        make_group(made, release, "/cart", first_seen_at=first_seen_at)
    make_timed_views(made, TIMES, release="old", hidden_us=first_hidden_us)
    make_timed_views(made, TIMES, release="old", starts_at=MONDAY + DAY)
    make_timed_views(made, [2 * us for us in TIMES], release="new", starts_at=MONDAY + DAY)
    make_timed_views(made, [2 * us for us in TIMES[:4]], release="new", starts_at=MONDAY + 3 * DAY)
    return made
