"""How often a base is passed over as rolled back: simulated page views of the releases before a new one.

The new release comes at an hour, and takes all users of the others over. The rule is asked as
`aggregate.guard.endings.rollbacks.was_gone` asks it: of two whole UTC days.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from bench.guard.usage import BEGINS, HOURS, KINDS, ReleaseTraffic, TrafficSums, draw_visits, make_traffic, replaced_by
from profcore.guard.usage import is_gone

DAY_H: Final = 24
# UTC days from the rollback's to the new release's.
DAYS_AFTER: Final = (0, 1, 2, 3)
FIRST_H: Final = BEGINS + 2 * DAY_H  # before, the release before has no whole day that could be its best


def passes_over(traffic: ReleaseTraffic, came_at: int) -> bool:
    """Tells whether the release before one that came in an hour is passed over."""
    left = replaced_by(came_at)
    own, older = (np.rint(each * left).astype(np.int64) for each in (traffic.own, traffic.older))
    views = TrafficSums(ReleaseTraffic(own, older, np.zeros_like(own)))
    today = came_at // DAY_H * DAY_H
    since, until = today - DAY_H, today + DAY_H
    if since <= BEGINS // DAY_H * DAY_H:
        return False
    return is_gone(views.between(since, until), views.best_before(since))


def choose_hours(rng: np.random.Generator, traffic: ReleaseTraffic) -> list[int]:
    """Returns when the new release comes: once for each of `DAYS_AFTER` a rollback, else once at any time."""
    if traffic.rolled_back_at is None:
        return [int(rng.integers(FIRST_H, HOURS - DAY_H))]
    hours: list[int] = []
    for days in DAYS_AFTER:
        day = (traffic.rolled_back_at // DAY_H + days) * DAY_H
        hours.append(int(rng.integers(max(day, traffic.rolled_back_at), day + DAY_H)))
    return hours


def describe_bases(projects: int) -> Iterator[str]:
    """Yields the lines of a table: how often each kind of release is passed over."""
    yield "| release before | the new one comes | passed over |"
    yield "|---|---|---:|"
    for number, (kind, words) in enumerate(KINDS.items()):
        found: list[list[bool]] = []
        for project in range(projects):
            rng = np.random.default_rng([number, project])
            traffic = make_traffic(rng, *draw_visits(rng), kind=kind)
            found.append([passes_over(traffic, hour) for hour in choose_hours(rng, traffic)])
        for days, column in enumerate(zip(*found, strict=True)):
            when = _say_day(DAYS_AFTER[days]) if kind == "rolled back" else "at any time"
            yield f"| {words} | {when} | {sum(column)} of {projects} |"


def _say_day(days: int) -> str:
    if days == 0:
        return "on the day of the rollback"
    return "on the next day" if days == 1 else f"{days} days later"
