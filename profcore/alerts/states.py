"""The states of something that is watched, and the rules by which a state follows from the last one and new evidence.

Two kinds of evidence exist. A *look* is a verdict at a planned moment (`profcore.stats.verdict.plan`). A *day* is the
mean of a finished day with its interval. The rules have hysteresis: it takes more to alarm than to keep an alarm, and
more than one quiet answer to end it.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

# Quiet looks, or days, in a row that end a confirmed alarm.
QUIET_TO_RESOLVE: Final = 2
# What was accepted is reported again if it is certainly this many times as far over its limit, and this much larger: a
# small excess is soon doubled by chance, since the mix of devices moves from day to day (docs/benchmarks.md).
GROWN: Final = 2.0
LEAST_GROWTH: Final = 0.2
# Days in a row over a budget that confirm it: one day at the very budget is over it by chance in 1 of 40.
DAYS_TO_CONFIRM: Final = 2
# What too few of a day's views ran has a mean and no interval. It is quiet up to this part of the limit: an alarm ends
# when what remains is well below the limit, and it cannot begin without an interval.
RARELY_QUIET: Final = 0.5


class State(IntEnum):
    """What is known of something that is watched."""

    UNKNOWN = 0  # too few views so far
    OK = 1
    SUSPECTED = 2
    CONFIRMED = 3
    RESOLVED = 4  # it was confirmed, and is over

    @property
    def is_open(self) -> bool:
        """Returns whether someone may have to act."""
        return self in (State.SUSPECTED, State.CONFIRMED)


# The words of the read API.
STATE_NAMES: Final = tuple(state.name.lower() for state in State)


class Evidence(IntEnum):
    """What one look or one day says."""

    NONE = 0  # too few views
    QUIET = 1
    DOUBTFUL = 2  # not certain, and not quiet either: it changes no alarm
    BAD = 3
    CERTAIN = 4  # bad, and certain enough to confirm at once


@dataclass(frozen=True, slots=True)
class Standing:
    """A state, and how many bad or quiet answers in a row were seen in it."""

    state: State = State.UNKNOWN
    bad: int = 0
    quiet: int = 0

    @property
    def is_accepted(self) -> bool:
        """Returns whether someone ended it. Whatever else ends an alarm counts as `QUIET_TO_RESOLVE` quiet answers."""
        return self.state is State.RESOLVED and self.quiet < QUIET_TO_RESOLVE


def weigh_day(low: float | None, high: float | None, limit: float, *, value: float | None = None) -> Evidence:
    """Returns what the interval of a day's mean says of a budget.

    Without an interval the mean of all views, `value`, decides whether the day is quiet or doubtful: too few views ran
    what it is of. Without both there were too few views.
    """
    if low is None or high is None:
        if value is None:
            return Evidence.NONE
        return Evidence.QUIET if value <= RARELY_QUIET * limit else Evidence.DOUBTFUL
    if low > limit:
        return Evidence.BAD
    return Evidence.QUIET if high <= limit else Evidence.DOUBTFUL


def has_grown(low: float | None, accepted: float | None, limit: float) -> bool:
    """Returns whether what is over a limit is certainly `GROWN` times as far over it as what someone accepted.

    It must be larger by `LEAST_GROWTH` of what was accepted, too. `low` is the lower end of the interval; the limit of
    a slowdown is zero. Without figures nothing has grown.
    """
    if low is None or accepted is None:
        return False
    return low > max(limit + GROWN * (accepted - limit), (1 + LEAST_GROWTH) * accepted)


def step_accepted(
    before: Standing, evidence: Evidence, *, low: float | None, accepted: float | None, limit: float
) -> Standing | None:
    """Returns the standing of what someone accepted after one more look or day; None if it is not accepted any more.

    It is not after as many quiet answers in a row as end an alarm, or if it has grown. `low` is the lower end of the
    interval, and `accepted` the value that was accepted.
    """
    if not before.is_accepted or has_grown(low, accepted, limit):
        return None
    if evidence is Evidence.QUIET:
        after = _step_quiet(before)
        return after if after.is_accepted else None
    return replace(before, quiet=0) if evidence in (Evidence.BAD, Evidence.CERTAIN) else before


def step(before: Standing, evidence: Evidence, *, bad_to_confirm: int | None = None) -> Standing:
    """Returns the standing after one more look or day.

    With `bad_to_confirm`, this many bad answers in a row confirm; without, only a certain one does.
    """
    if evidence is Evidence.NONE:
        return before
    if evidence is Evidence.DOUBTFUL:
        if before.state is State.RESOLVED:
            return before
        # It does not count in either direction. What was unknown is known now, and nothing is wrong.
        return Standing(State.OK) if before.state is State.UNKNOWN else Standing(before.state)
    if evidence is Evidence.QUIET:
        return _step_quiet(before)
    bad = before.bad + 1
    is_confirmed = evidence is Evidence.CERTAIN or (bad_to_confirm is not None and bad >= bad_to_confirm)
    if is_confirmed or before.state is State.CONFIRMED:
        return Standing(State.CONFIRMED, bad=bad)
    return Standing(State.SUSPECTED, bad=bad)


def _step_quiet(before: Standing) -> Standing:
    quiet = before.quiet + 1
    if before.state is State.CONFIRMED:
        return Standing(State.RESOLVED if quiet >= QUIET_TO_RESOLVE else State.CONFIRMED, quiet=quiet)
    return Standing(State.RESOLVED if before.state is State.RESOLVED else State.OK, quiet=quiet)
