"""What an alert on new third parties would have told on past days: the rules are those of its evaluation
(`new_third_parties_rules`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from alerts.budgets import list_past
from alerts.new_third_parties.new_third_party_rules import (
    NEW_DAYS,
    DayNames,
    choose_names,
    find_before,
    iter_days,
    weigh_names,
)
from alerts.questions import Question
from profcore.alerts.states import DAYS_TO_CONFIRM, Evidence, Standing, State, step
from profcore.stats.estimates import Figure
from profcore.stats.summaries import MIN_VIEWS
from profcore.times import bounds_of_day

LONG_DAYS: Final = 21  # a history that began on a Monday, after a weekend without views, is long enough


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
class NewThirdParties:
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
class NewThirdPartiesPreview:
    """What an alert on new third parties would have told: days, and what was new, told ones and the costliest first."""

    days: Sequence[PreviewDay]
    found: Sequence[NewThirdParties]

    @property
    def told(self) -> Sequence[NewThirdParties]:
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


def preview_new_third_parties(project_id: int, question: Question, now: datetime) -> NewThirdPartiesPreview:
    """Returns what an alert on new third parties would have told in the last settled days, as many as a preview has."""
    walk, days = _Walk(project_id, question), []
    for day, past in iter_days(project_id, question, list_past(now)):
        before = find_before(past)
        new = alerts = 0
        if before is None or day.views < MIN_VIEWS:
            use = DayUse.TOO_FEW if day.views < MIN_VIEWS else DayUse.NO_HISTORY
        else:
            use = DayUse.JUDGED
            new, alerts = walk.judge(day, before)
        history = next((NEW_DAYS - at for at, each in enumerate(past) if each.views), 0)
        days.append(PreviewDay(on=day.on, views=day.views, use=use, days_before=history, new=new, alerts=alerts))
    order = sorted(walk.found.values(), key=lambda each: (not each.told_on, -each.value, each.name))
    return NewThirdPartiesPreview(days=days, found=order)


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk over the days of a preview, with what was new so far."""

    project_id: int
    question: Question
    found: dict[str, NewThirdParties] = field(default_factory=dict)

    def judge(self, day: DayNames, before: Collection[str]) -> tuple[int, int]:
        """Judges what is watched or new on a day. Returns how many are new on it, and how many would be told."""
        known = {name: (each.state, each.since_at) for name, each in self.found.items()}
        watched, new = choose_names(known, day, before)
        for name in new:
            each = self.found.setdefault(
                name, NewThirdParties(name=name, first_on=day.on, since_at=bounds_of_day(day.on)[1])
            )
            each.standing = Standing()  # what is new again begins anew
        opened = {name for name in watched if self.found[name].state.is_open}
        found = weigh_names(self.project_id, self.question, day, [*watched, *new], opened)
        told = [_step(self.found[name], evidence, figure, day) for name, (evidence, figure) in found.items()]
        return len(new), sum(told)


def _step(each: NewThirdParties, evidence: Evidence, figure: Figure, day: DayNames) -> bool:
    """Gives something new its standing after a day. Returns whether it would have been told."""
    was = each.state
    each.standing = step(each.standing, evidence, bad_to_confirm=DAYS_TO_CONFIRM)
    if each.state is not was:
        each.since_at = bounds_of_day(day.on)[1]
    is_told = each.state is State.CONFIRMED and was is not each.state
    if is_told:
        each.told_on.append(day.on)
        if len(each.told_on) == 1:
            each.value = figure.value
            each.low, each.high = figure.ci95 or (None, None)
    elif not each.told_on:
        each.value = max(each.value, day.ms.get(each.name, 0.0))
    return is_told
