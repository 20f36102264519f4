"""What somebody accepted: how often it is told again without a cause.

The excess of a budget is accepted when it is confirmed. What comes later in the month is judged by the alerts' rules.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.alerts.budgets import KINDS, VIEWS_A_DAY, Kind, Month, find_alarm, scale, simulate_months, weigh
from benchmarks.statistics.tables import percent
from profcore.alerts.states import DAYS_TO_CONFIRM, QUIET_TO_RESOLVE, Standing, State, step, step_accepted
from profcore.stats.estimates import Figure

# Of the mean over the budget when it is accepted.
ACCEPTED: Final = (0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedAlarm:
    """What became of an accepted excess: after how many days it was told again; None if it was not."""

    after_days: int | None
    was_quiet: bool = False  # days were quiet in between: what was accepted was over


def follow_accepted(days: Sequence[Figure | None], excess: float, growth: float = 1.0) -> RepeatedAlarm | None:
    """Returns what became of an excess over a budget after it was accepted; None if it was never confirmed.

    `days` are relative to the true mean, which is `excess` over the budget, and `growth` times as far afterwards.
    """
    limit = 1 / (1 + excess)
    at = find_alarm(days, limit)
    confirmed = days[at - 1] if at is not None else None
    if at is None or confirmed is None:
        return None
    standing, accepted, was_quiet = Standing(State.RESOLVED), confirmed.value, False
    grown = (1 + growth * excess) / (1 + excess)
    for number, day in enumerate(days[at:], start=1):
        now = scale(day, grown) if day is not None else None
        low = now.ci95.low if now is not None and now.ci95 is not None else None
        evidence = weigh(now, limit)
        kept = step_accepted(standing, evidence, low=low, accepted=accepted, limit=limit)
        standing = kept or step(standing, evidence, bad_to_confirm=DAYS_TO_CONFIRM)
        was_quiet |= standing.quiet >= QUIET_TO_RESOLVE
        if standing.state is State.CONFIRMED:
            return RepeatedAlarm(after_days=number, was_quiet=was_quiet)
    return RepeatedAlarm(after_days=None, was_quiet=was_quiet)


def describe_accepted(projects: int) -> Iterator[str]:
    """Yields the lines of a table: budgets that are told again without a cause."""
    months = simulate_months(projects, False)
    yield f"{projects} budgets each; accepted excesses that are told again in the month, %, and after quiet days"
    yield ""
    yield f"| budget on | views a day | {' | '.join(f'{excess:.0%} over' for excess in ACCEPTED)} |"
    yield f"|---|---:|{'---:|' * len(ACCEPTED)}"
    for kind in KINDS:
        for views in VIEWS_A_DAY:
            cells = [_count_repeated(months, kind, views, excess) for excess in ACCEPTED]
            yield f"| {kind} | {views:,} | {' | '.join(cells)} |"


def _count_repeated(months: Sequence[Month], kind: Kind, views: int, excess: float) -> str:
    followed = [follow_accepted(month.days[kind], excess) for month in months if month.views_a_day == views]
    outcomes = [outcome for outcome in followed if outcome is not None]
    repeated = [outcome for outcome in outcomes if outcome.after_days is not None]
    quiet = sum(outcome.was_quiet for outcome in repeated)
    return f"{percent(len(repeated), len(outcomes))} of {len(outcomes)}, {quiet}" if outcomes else "–"
