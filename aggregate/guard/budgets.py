"""Budgets: a bound on a daily figure. Certainly over it for two days in a row is confirmed, and told.

Each UTC day is one question with its own views, so that looking every day at new data is no looking often at the same.
A preview walks the same rules over the days that are there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from aggregate.guard.changes import Cause, found_of, select_states, standing_of, write_standing
from aggregate.guard.days import Day, list_days, measure_days
from aggregate.guard.questions import Question, read_question
from aggregate.guard.subjects import Found, Subject
from aggregate.guard_models import Watch
from profcore.guard.states import DAYS_TO_CONFIRM, Evidence, Standing, State, step, weigh_day

PREVIEW_DAYS: Final = 30
# A watch that was away for longer begins anew: nobody wants the alarms of last month.
MAX_CATCH_UP: Final = 7


@dataclass(frozen=True, slots=True)
class Preview:
    """What a budget would have said on past days: each day with its state, and how often it would have alerted."""

    days: Sequence[tuple[Day, State]]
    alerts: int


def evaluate_budget(watch: Watch, now: datetime) -> None:
    """Judges the finished days since the last one that was judged. Call it in a transaction."""
    question, subject = read_question(watch), Subject()
    for day in measure_days(watch.project_id, question, days_to_judge(watch, subject, now)):
        before = select_states(watch).get(subject.key)
        evidence = weigh_day(day.low, day.high, question.limit)
        standing = step(standing_of(before), evidence, bad_to_confirm=DAYS_TO_CONFIRM)
        is_kept = before is not None and evidence is Evidence.NONE  # what was found before stays shown
        found = found_of(before) if is_kept and before is not None else describe_day(day, question)
        write_standing(watch, subject, before, standing, found, at=day.ends_at, cause=Cause.DAY)


def days_to_judge(watch: Watch, subject: Subject, now: datetime) -> list[date]:
    """Returns the settled days that were not judged yet; at first the one before its creation."""
    row = select_states(watch).get(subject.key)
    seen_at = row.seen_at if row is not None else watch.created_at - timedelta(days=2)
    last = (seen_at - timedelta(seconds=1)).date()  # a day ends at the midnight that begins the next one
    return list_days(last, now)[-MAX_CATCH_UP:]


def describe_day(day: Day, question: Question) -> Found:
    """Returns what was found on a day."""
    return Found(views=day.views, value=day.value, low=day.low, high=day.high, threshold=question.limit)


def preview_budget(project_id: int, question: Question, now: datetime) -> Preview:
    """Returns what a budget would have said in the last `PREVIEW_DAYS` days."""
    days = list_days(now.date() - timedelta(days=PREVIEW_DAYS + 1), now)
    standing, judged, alerts = Standing(), [], 0
    for day in measure_days(project_id, question, days):
        before = standing.state
        evidence = weigh_day(day.low, day.high, question.limit)
        standing = step(standing, evidence, bad_to_confirm=DAYS_TO_CONFIRM)
        alerts += standing.state is State.CONFIRMED and before is not State.CONFIRMED
        judged.append((day, standing.state))
    return Preview(judged, alerts)
