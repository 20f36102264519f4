"""What a watch on new cost would have told on past days, by the rules of its evaluation.

Each day is summed up once, for itself and for the four weeks of the days after it. Estimates take longest, so they are
made only where they can decide something.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from aggregate.guard.budgets import list_past
from aggregate.guard.days import iter_costs, slice_of
from aggregate.guard.new_costs import NEW_DAYS, choose_names, interval_of
from aggregate.guard.questions import Question
from aggregate.selectors.code.project_code import select_code
from aggregate.selectors.functions.groups import GroupSums, sum_groups
from profcore.guard.states import DAYS_TO_CONFIRM, Evidence, Standing, State, step, weigh_day
from profcore.stats.summaries import MIN_VIEWS
from profcore.times import bounds_of_day

# Below this part of the limit, by its recorded sum, a cost is taken as quiet without an estimate. It could be above
# the limit only if sample rates differ so much that the recorded mean is a tenth of the real one.
SURELY_QUIET: Final = 0.1
LONG_DAYS: Final = 21  # a history that began on a Monday, after a weekend without views, is long enough
US_PER_MS: Final = 1_000.0


class DayUse(StrEnum):
    """What a day was good for."""

    JUDGED = "judged"
    TOO_FEW = "too_few"  # too few views on it
    NO_HISTORY = "no_history"  # too few views in the four weeks before: everything would be new


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewDay:
    """A day of a preview. `days_before`: how many of the 28 days before it are known, since the first views in them."""

    on: date
    views: int
    use: DayUse
    days_before: int
    new: int = 0
    alerts: int = 0

    @property
    def has_long_history(self) -> bool:
        """Tells whether three weeks before it are known. Else what is new may be new to Fieldflame only."""
        return self.days_before >= LONG_DAYS


@dataclass(slots=True, kw_only=True)
class NewCost:
    """A party or package that was new. Its value, ms per view, is that of the day on which it was told first.

    If it never was, it is the largest recorded mean of a day, without an interval.
    """

    name: str
    first_on: date
    told_on: list[date] = field(default_factory=list)
    value: float = 0.0
    low: float | None = None
    high: float | None = None
    standing: Standing = field(default_factory=Standing)
    since_at: datetime

    @property
    def state(self) -> State:
        """Its state at the end."""
        return self.standing.state


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCostPreview:
    """What a watch on new cost would have told: days, and what was new, told ones and the costliest first."""

    days: Sequence[PreviewDay]
    found: Sequence[NewCost]

    @property
    def told(self) -> Sequence[NewCost]:
        """What it would have told about."""
        return [each for each in self.found if each.told_on]

    @property
    def alerts(self) -> int:
        """How often it would have alerted."""
        return sum(len(each.told_on) for each in self.found)

    @property
    def judged_days(self) -> int:
        """How many days could be judged."""
        return sum(day.use is DayUse.JUDGED for day in self.days)

    @property
    def days_without_history(self) -> int:
        """How many days had too few views before them."""
        return sum(day.use is DayUse.NO_HISTORY for day in self.days)

    @property
    def days_with_few_views(self) -> int:
        """How many days had too few views themselves."""
        return sum(day.use is DayUse.TOO_FEW for day in self.days)

    @property
    def thin_days(self) -> int:
        """How many judged days had less than three weeks of history."""
        return sum(day.use is DayUse.JUDGED and not day.has_long_history for day in self.days)


def preview_new_costs(project_id: int, question: Question, now: datetime) -> NewCostPreview:
    """Returns what a watch on new cost would have told in the last settled days, as many as a preview has."""
    wanted = list_past(now)
    last_seen: dict[str, date] = {}
    views_before: deque[int] = deque(maxlen=NEW_DAYS)
    walk, days = _Walk(project_id, question), []
    for day, sums in _sum_days(project_id, question, wanted):
        if day >= wanted[0]:
            use = _choose_use(sums.views, sum(views_before))
            new = alerts = 0
            if use is DayUse.JUDGED:
                since = day - timedelta(days=NEW_DAYS)
                before = {name for name, on in last_seen.items() if on >= since}
                new, alerts = walk.judge(day, sums, before)
            history = next((NEW_DAYS - at for at, views in enumerate(views_before) if views), 0)
            days.append(PreviewDay(on=day, views=sums.views, use=use, days_before=history, new=new, alerts=alerts))
        last_seen.update(dict.fromkeys(sums.cost_us, day))
        views_before.append(sums.views)
    order = sorted(walk.found.values(), key=lambda each: (not each.told_on, -each.value, each.name))
    return NewCostPreview(days=days, found=order)


def _sum_days(project_id: int, question: Question, wanted: Sequence[date]) -> Iterator[tuple[date, GroupSums]]:
    """Yields the sums of each day that is needed, in their order: the four weeks before the wanted ones, too."""
    code = select_code(project_id, as_stored=True)
    first = wanted[0] - timedelta(days=NEW_DAYS)
    for number in range((wanted[-1] - first).days + 1):
        day = first + timedelta(days=number)
        yield day, sum_groups(slice_of(project_id, question, day, day), question.by or "party", code=code)


def _choose_use(views: int, views_before: int) -> DayUse:
    if views < MIN_VIEWS:
        return DayUse.TOO_FEW
    return DayUse.NO_HISTORY if views_before < MIN_VIEWS else DayUse.JUDGED


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk over the days of a preview, with what was new so far."""

    project_id: int
    question: Question
    found: dict[str, NewCost] = field(default_factory=dict)

    def judge(self, day: date, sums: GroupSums, before: set[str]) -> tuple[int, int]:
        """Judges what is new on a day, or was before. Returns how many are new on it, and how many would be told."""
        names = sorted(sums.cost_us, key=lambda name: -sums.cost_us[name])
        known = {name: (each.state, each.since_at) for name, each in self.found.items()}
        means = {
            name: sums.cost_us.get(name, 0) / US_PER_MS / sums.views for name in choose_names(known, names, before, day)
        }
        worth = {name for name, mean in means.items() if self._is_worth_estimating(name, mean)}
        costs = dict(iter_costs(self.project_id, self.question, day)) if worth else {}
        new = alerts = 0
        for name, mean in means.items():
            each = self.found.get(name) or NewCost(name=name, first_on=day, since_at=bounds_of_day(day)[1])
            low, high = interval_of(costs.get(name))
            evidence = weigh_day(low, high, self.question.limit) if name in worth else Evidence.QUIET
            is_told = _step(each, evidence, day)
            if each.state is State.UNKNOWN:
                continue  # as the evaluation keeps no row of it
            new, alerts = new + (name not in self.found), alerts + is_told
            self.found[name] = each
            if is_told and len(each.told_on) == 1:
                each.value, each.low, each.high = costs[name].per_view.value, low, high
            elif not each.told_on:
                each.value = max(each.value, mean)
        return new, alerts

    def _is_worth_estimating(self, name: str, mean: float) -> bool:
        is_open = name in self.found and self.found[name].state.is_open
        return is_open or mean > SURELY_QUIET * self.question.limit


def _step(each: NewCost, evidence: Evidence, day: date) -> bool:
    """Gives something new its standing after a day. Returns whether it would have been told."""
    was = each.state
    each.standing = step(each.standing, evidence, bad_to_confirm=DAYS_TO_CONFIRM)
    if each.state is was:
        return False
    each.since_at = bounds_of_day(day)[1]
    is_told = each.state is State.CONFIRMED
    if is_told:
        each.told_on.append(day)
    return is_told
