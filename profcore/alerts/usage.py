"""Whether a release is in use: one that was rolled back ends its alarms, and one that comes back opens them again.

One that hardly anybody has is not watched at all.

A release is compared with its own past, never with a fixed share: a canary that always had 5 % is as much in use as
ever. All is counted over whole days, so that nights and time zones do not matter.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from profcore.stats.estimates import wilson_interval
from profcore.stats.joining import MIN_COMPARED_VIEWS

USAGE_HOURS: Final = 24  # a whole day: a release that only one continent has is not gone while it sleeps
# Gone is a release with certainly less than this part of the share that it had on its best day. Tabs that stay open
# keep a few per cent for days.
GONE_PART: Final = 0.1
# It is back with certainly more than this part. In between, nothing changes.
BACK_PART: Final = 0.3
# Older releases need this many page views in the window, and this part of those of the release on its best day:
# if a release is just not recorded any more, what is left of older ones has not taken its users over.
MIN_OLDER_VIEWS: Final = 100
TAKEN_OVER_PART: Final = 0.2
# A handful of page views brings no release back, whatever its share was.
MIN_BACK_VIEWS: Final = 20
# A release with a smaller part of the page views counts for nothing that is chosen by itself: someone tried it, or
# made it up. It must not hide the one that all others use.
LEAST_SHARE: Final = 0.01
# A release with fewer views than this, and than this part of those of the release before it, was not measured: of 600
# views a slowdown of 1.5 times is told in 96 %, of 200 in 29 %.
ENOUGH_VIEWS: Final = 1_000
SHORT_SHARE: Final = 0.25


def is_short_lived(views: int, views_before: int) -> bool:
    """Returns whether a release had too few page views to be measured, compared with those of the one before it."""
    return views < min(ENOUGH_VIEWS, SHORT_SHARE * views_before)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayViews:
    """Page views of a stretch of time: of a release, of releases that are older, and of all others."""

    own: int = 0
    older: int = 0
    newer: int = 0

    @property
    def others(self) -> int:
        """The page views of all other releases."""
        return self.older + self.newer


@dataclass(frozen=True, slots=True, kw_only=True)
class BestDay:
    """The most that a release ever had on a day: its share of its own and older views, at least, and page views."""

    share: float = 0.0
    views: int = 0


def is_used(views: int, of_all: int) -> bool:
    """Returns whether a release has enough page views to be compared, and `LEAST_SHARE` of all.

    `of_all` are the page views of all releases since the day before it came. A day before, because a release has all
    page views of its first minutes.
    """
    return views >= max(MIN_COMPARED_VIEWS, LEAST_SHARE * of_all)


def find_best(days: list[DayViews]) -> BestDay:
    """Returns the best of some UTC days, all of them whole and over before the window that it is compared with.

    The share is the lower end of its interval, so few views make no best day.
    """
    return BestDay(
        share=max((bound_share(day.own, day.own + day.older)[0] for day in days), default=0.0),
        views=max((day.own for day in days), default=0),
    )


def is_gone(now: DayViews, best: BestDay) -> bool:
    """Returns whether users have older releases again. `now` is of the last `USAGE_HOURS`."""
    if now.older < max(MIN_OLDER_VIEWS, TAKEN_OVER_PART * best.views) or now.older < now.newer:
        return False
    return bound_share(now.own, now.own + now.older)[1] < GONE_PART * best.share


def is_back(now: DayViews, best: BestDay) -> bool:
    """Returns whether a release that was gone is in use again."""
    share = bound_share(now.own, now.own + now.others)[0]
    return now.own >= MIN_BACK_VIEWS and share > BACK_PART * best.share


def bound_share(part: int, whole: int) -> tuple[float, float]:
    """Returns the bounds of a share of some page views, with 95 % certainty; without any, it may be anything."""
    if whole <= 0:
        return 0.0, 1.0
    low, high = wilson_interval(np.asarray(part / whole), whole)
    return float(low), float(high)
