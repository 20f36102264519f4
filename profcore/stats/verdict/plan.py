"""The plan of looks at a release: which answers are looks, and the bound that the looks so far leave for the newest.

Who looks at a comparison every day until something is below 0.05 finds something in one of four comparisons of the same
with the same. So each look spends a part of the 5 %: little while the head has few views, all of it at the end of the
plan. What comes later may spend 2 % more (docs/statistics.md).
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from profcore.stats.comparison import FALSE_DISCOVERIES
from profcore.stats.verdict.looks import RHO, bound_of_look, spend

# The plan is complete when the newer release has as many views as the older one, or after this time. Time counts in
# tenths, so that an answer that is kept stays right for a while.
PLAN: Final = timedelta(days=14)
STEPS: Final = 10
# A new look has this much more information than the last one, or is this much later in the plan. Answers in between
# are of the same look.
MORE_INFORMATION: Final = 1.25
LATER_IN_PLAN: Final = 0.1
# After the plan smaller steps count: with steps of a quarter, what is answered in between alarms in 10 % of comparisons
# of the same with the same, with these in 7 %. Information can only double then.
MORE_AFTER_PLAN: Final = 1.04
# All looks together, for ever. A plan spends 5 %, and the data after it the rest.
MAX_ERROR: Final = 0.07
# From 20 views a side to a million there are 49 steps; a plan has 10 steps of time.
MAX_LOOKS: Final = 60


class LookPoint(NamedTuple):
    """When a look was: the part of the plan that was reached (above 0, up to 1), and the information n·m/(n + m)."""

    reached: float
    information: float


def count_steps(age: timedelta) -> int:
    """Returns how many tenths of the plan are over, 0 to `STEPS`, when the newer release is so old."""
    return min(max(int(age / PLAN * STEPS), 0), STEPS)


def find_point(newer: int, older: int, steps: int) -> LookPoint:
    """Returns when a look is at releases with these numbers of views, with so many `count_steps` of the plan over."""
    return LookPoint(min(max(newer / older, steps / STEPS), 1.0), newer * older / (newer + older))


def is_another_look(looks: Sequence[LookPoint], now: LookPoint) -> bool:
    """Returns whether an answer with the data of now is another look than the last of some."""
    if not looks:
        return True
    if len(looks) >= MAX_LOOKS:
        return False
    last = looks[-1]
    is_later = now.reached >= last.reached + LATER_IN_PLAN or now.reached >= 1.0 > last.reached
    step = MORE_INFORMATION if last.reached < 1.0 else MORE_AFTER_PLAN
    return now.information >= last.information * step or is_later


def bound_of_newest(looks: Sequence[LookPoint]) -> float:
    """Returns the p, or q, below which the newest of some looks is significant. Neither part of a look may decrease."""
    at_end = next((look.information for look in looks if look.reached >= 1.0), None)
    errors = [(_error_until(look, at_end), look.information) for look in looks]
    kept = [point for point, after in pairwise(errors) if point[0] < after[0]]  # of equal ones only the last spends
    kept.append(errors[-1])
    spent = [(error / MAX_ERROR) ** (1 / RHO) for error, _ in kept]  # `bound_of_look` raises it to the power again
    return bound_of_look(spent, [information for _, information in kept], MAX_ERROR)


def _error_until(look: LookPoint, at_end: float | None) -> float:
    """Returns the error that looks may have spent until one; `at_end` is the information at the end of the plan."""
    if look.reached < 1.0 or at_end is None:
        return spend(look.reached, FALSE_DISCOVERIES)
    return FALSE_DISCOVERIES + (MAX_ERROR - FALSE_DISCOVERIES) * (1 - at_end / look.information)
