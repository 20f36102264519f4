"""What becomes of the error if somebody looks at a growing release again and again."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.statistics.tables import Simulation, Table, percent
from profcore.stats.distributions import normal_tail
from profcore.stats.joining import MIN_COMPARED_VIEWS
from profcore.stats.verdict.plan import LookPoint, bound_of_newest, is_another_look

DAYS = 14


def look_as_verdicts(base_views: int, views_a_day: int, hours: int, rounds: int, *, is_kept: bool) -> Sequence[str]:
    """Returns false alarms after one plan and after two, by the plan of verdicts, and those of one look at its end.

    The base is complete; the head gets so many views a day, and somebody looks every so many hours. Looks that are
    not kept are each taken as the first. Means of views are taken as normal, which is what ranks and means of this many
    views are.
    """
    rng = np.random.default_rng([base_views, views_a_day, hours])
    base = rng.normal(0, 1 / np.sqrt(base_views), rounds)
    total, before, bound = np.zeros(rounds), 0.0, 0.0
    points: list[LookPoint] = []
    is_alarmed = np.zeros(rounds, dtype=bool)
    counts: list[int] = []
    for hour in range(hours, 2 * DAYS * 24 + 1, hours):
        views = views_a_day * hour / 24
        total += rng.normal(0, 1, rounds) * np.sqrt(views - before)
        before = views
        p = 2 * normal_tail(np.abs(total / views - base) / np.sqrt(1 / base_views + 1 / views))
        now = LookPoint(min(max(views / base_views, hour / 24 / DAYS), 1.0), base_views * views / (base_views + views))
        if views >= MIN_COMPARED_VIEWS and is_another_look(points, now):
            points = [*points, now] if is_kept else [now]
            bound = bound_of_newest(points)
        is_alarmed |= p < bound
        if hour == DAYS * 24:
            counts += [int((p < 0.05).sum()), int(is_alarmed.sum())]
    return [percent(count, rounds) for count in [*counts, int(is_alarmed.sum())]]


def list_peeking(rounds: int) -> list[Table]:
    """Returns the table of looks."""
    rows = [
        Simulation(
            setting=[f"{base:,}, {daily:,}", f"{hours} h", "kept" if is_kept else "not kept"],
            run=partial(look_as_verdicts, is_kept=is_kept),
            args=(base, daily, hours, 10 * rounds),
        )
        for is_kept in (True, False)
        for base, daily in ((1_400, 100), (700, 100), (14_000, 1_000), (1_400, 30))
        for hours in (24, 1)
    ]
    head = ["base, head a day", "every", "looks", f"once, day {DAYS}", f"by day {DAYS}", f"by day {2 * DAYS}"]
    return [Table(title="Looking as verdicts do: false alarms, %", head=head, rows=rows)]
