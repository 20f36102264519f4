"""What an alert on new third parties would have reported on past days, by the rules of its evaluation (`rules`)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from alerts.budgets import list_past
from alerts.new_third_parties.rules import (
    NEW_DAYS,
    DayNames,
    choose_names,
    find_before,
    iter_days,
    weigh_names,
)
from alerts.queries import AlertQuery
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
        """Returns whether three weeks before it are known. Else what is new may be new to Fieldflame only."""
        return self.days_before >= LONG_DAYS


@dataclass(slots=True, kw_only=True)
class NewThirdParties:
    """A party or package that was new. Its value, ms per view, is that of the day on which it was reported first.

    If it never was, it is the largest recorded mean of a day, without an interval.
    """

    name: str
    first_on: date
    reported_on: list[date] = field(default_factory=list)
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
    """What an alert on new third parties would have reported: days, and what was new, reported and costliest first."""

    days: Sequence[PreviewDay]
    parties: Sequence[NewThirdParties]

    @property
    def reported(self) -> Sequence[NewThirdParties]:
        """What it would have reported."""
        return [party for party in self.parties if party.reported_on]

    @property
    def alerts(self) -> int:
        """How often it would have alerted."""
        return sum(len(party.reported_on) for party in self.parties)

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


def preview_new_third_parties(project_id: int, query: AlertQuery, now: datetime) -> NewThirdPartiesPreview:
    """Returns what an alert on new third parties would have reported in the last settled days of a preview."""
    walk, days = _Walk(project_id, query), []
    for day, past in iter_days(project_id, query, list_past(now)):
        before = find_before(past)
        new = alerts = 0
        if before is None or day.views < MIN_VIEWS:
            use = DayUse.TOO_FEW if day.views < MIN_VIEWS else DayUse.NO_HISTORY
        else:
            use = DayUse.JUDGED
            new, alerts = walk.judge(day, before)
        history = next((NEW_DAYS - at for at, past_day in enumerate(past) if past_day.views), 0)
        days.append(PreviewDay(on=day.on, views=day.views, use=use, days_before=history, new=new, alerts=alerts))
    order = sorted(walk.parties.values(), key=lambda party: (not party.reported_on, -party.value, party.name))
    return NewThirdPartiesPreview(days=days, parties=order)


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk over the days of a preview, with what was new so far."""

    project_id: int
    query: AlertQuery
    parties: dict[str, NewThirdParties] = field(default_factory=dict)

    def judge(self, day: DayNames, before: Collection[str]) -> tuple[int, int]:
        """Judges what is watched or new on a day. Returns how many are new on it, and how many would be reported."""
        known = {name: (party.state, party.since_at) for name, party in self.parties.items()}
        watched, new = choose_names(known, day, before)
        for name in new:
            party = self.parties.setdefault(
                name, NewThirdParties(name=name, first_on=day.on, since_at=bounds_of_day(day.on)[1])
            )
            party.standing = Standing()  # what is new again begins anew
        opened = {name for name in watched if self.parties[name].state.is_open}
        evidence_of_name = weigh_names(self.project_id, self.query, day, [*watched, *new], opened)
        reported = [
            _step(self.parties[name], evidence, figure, day) for name, (evidence, figure) in evidence_of_name.items()
        ]
        return len(new), sum(reported)


def _step(party: NewThirdParties, evidence: Evidence, figure: Figure, day: DayNames) -> bool:
    """Gives something new its standing after a day. Returns whether it would have been reported."""
    was = party.state
    party.standing = step(party.standing, evidence, bad_to_confirm=DAYS_TO_CONFIRM)
    if party.state is not was:
        party.since_at = bounds_of_day(day.on)[1]
    is_reported = party.state is State.CONFIRMED and was is not party.state
    if is_reported:
        party.reported_on.append(day.on)
        if len(party.reported_on) == 1:
            party.value = figure.value
            party.low, party.high = figure.ci95 or (None, None)
    elif not party.reported_on:
        party.value = max(party.value, day.ms.get(party.name, 0.0))
    return is_reported
