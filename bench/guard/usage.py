"""How soon a rollback is noticed, and how often a release that is in use is taken for gone: simulated page views.

Projects have a day and a night, weekends, and visitors on two continents. Every hour the rule is asked again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from profcore.guard.usage import USAGE_HOURS, BestDay, DayViews, find_best, is_gone

Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

DAYS: Final = 21
HOURS: Final = 24 * DAYS
BEGINS: Final = 72  # the release: there are three days of the one before
VIEWS_A_DAY: Final = (200.0, 20_000.0)
WEEKEND: Final = 0.4
NIGHT: Final = 0.1
OPEN_TABS: Final = 0.06  # of page views, right after a release was replaced
TABS_HALVE_H: Final = 12.0
ROLLED_BACK_AFTER_H: Final = (2, 120)


@dataclass(frozen=True, slots=True)
class ReleaseTraffic:
    """Page views by hour of a release, of the older one, and of a newer one. `rolled_back_at` is an hour, or None."""

    own: Counts
    older: Counts
    newer: Counts
    rolled_back_at: int | None = None


def draw_visits(rng: np.random.Generator) -> tuple[Shares, Shares]:
    """Returns the expected page views by hour of two continents, twelve hours apart."""
    a_day = float(np.exp(rng.uniform(*np.log(VIEWS_A_DAY))))
    hour = np.arange(HOURS)
    weekend = np.where(hour // 24 % 7 >= 5, WEEKEND, 1.0)
    sides = []
    for shift, part in ((0, rng.uniform(0.5, 1.0)), (12, 1.0)):
        wave = NIGHT + (1 - NIGHT) * (1 + np.sin((hour + shift) / 24 * 2 * np.pi)) / 2
        sides.append(a_day / 24 * part * wave * weekend)
    return sides[0], sides[1]


def replaced_by(began: int) -> Shares:
    """Returns the share of page views that still have a release, by hour: all, and from one hour on old tabs."""
    since = np.arange(HOURS) - began
    return np.where(since < 0, 1.0, OPEN_TABS * 0.5 ** (np.maximum(since, 0) / TABS_HALVE_H))


def make_traffic(rng: np.random.Generator, west: Shares, east: Shares, *, kind: str) -> ReleaseTraffic:
    """Draws page views of one of `KINDS`."""
    whole, old = west + east, replaced_by(BEGINS)
    later = BEGINS + int(rng.integers(*ROLLED_BACK_AFTER_H))
    own, older, newer = whole * (1 - old), whole * old, np.zeros(HOURS)
    if kind == "canary":
        part = rng.uniform(0.01, 0.1)
        own, older = whole * (1 - old) * part, whole * (1 - (1 - old) * part)
    elif kind == "one continent":
        own, older = west * (1 - old), west * old + east
    elif kind == "replaced":
        left = replaced_by(later)
        own, newer = own * left, own * (1 - left)
    elif kind == "not recorded":
        own = own * (np.arange(HOURS) < later)
    elif kind == "rolled back":
        left = replaced_by(later)
        own, older = own * left, older + own * (1 - left)
    rolled_back_at = later if kind == "rolled back" else None
    return ReleaseTraffic(rng.poisson(own), rng.poisson(older), rng.poisson(newer), rolled_back_at)


KINDS: Final[Mapping[str, str]] = {
    "in use": "everybody has it",
    "canary": "1 to 10 % of the page views have it",
    "one continent": "one of two continents has it",
    "replaced": "a newer release replaces it",
    "not recorded": "it is not recorded any more",
    "rolled back": "rolled back after 2 hours to 5 days",
}


class TrafficSums:
    """The page views of spans of hours, and the best of the whole days before an hour."""

    def __init__(self, traffic: ReleaseTraffic) -> None:
        hours = (traffic.own, traffic.older, traffic.newer)
        self._sums = [np.concatenate(([0], np.cumsum(each))) for each in hours]

    def between(self, start: int, end: int) -> DayViews:
        own, older, newer = (int(each[end] - each[max(start, 0)]) for each in self._sums)
        return DayViews(own=own, older=older, newer=newer)

    def best_before(self, hour: int) -> BestDay:
        first = BEGINS // 24 * 24
        return find_best([self.between(day, day + 24) for day in range(first, hour - 23, 24)])


def find_end(traffic: ReleaseTraffic) -> int | None:
    """Returns the first hour after which the release is taken for gone."""
    views = TrafficSums(traffic)
    for hour in range(BEGINS + 1, HOURS):
        if is_gone(views.between(hour - USAGE_HOURS, hour), views.best_before(hour - USAGE_HOURS)):
            return hour
    return None


def describe_usage(projects: int, ask: Callable[[ReleaseTraffic], int | None] = find_end) -> Iterator[str]:
    """Yields the lines of a table: how often each kind of release is taken for gone, and after how many hours."""
    yield "| release | taken for gone | hours after the rollback (median) | of 9 in 10 |"
    yield "|---|---:|---:|---:|"
    for number, (kind, words) in enumerate(KINDS.items()):
        found: list[int] = []
        for project in range(projects):
            rng = np.random.default_rng([number, project])
            traffic = make_traffic(rng, *draw_visits(rng), kind=kind)
            end = ask(traffic)
            if end is not None:
                found.append(end - (traffic.rolled_back_at or end))
        middle, most = (f"{np.percentile(found, at):.0f}" if found and any(found) else "–" for at in (50, 90))
        yield f"| {words} | {len(found)} of {projects} | {middle} | {most} |"
