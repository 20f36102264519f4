"""Budgets: a bound on a daily figure. Certainly over it for two days in a row is confirmed, and reported; a count of
hangs for one day.

Each UTC day is one question with its own views, so that looking every day at new data is no looking often at the same.
A preview walks the same rules over the days that are there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from alerts.changes import Cause, finding_of, select_states, step_state, write_standing
from alerts.days import Day, last_settled, list_days, measure_days, measure_from_traces
from alerts.models import AlertRule
from alerts.queries import TRACE_MEASURES, AlertQuery, read_alert_query
from alerts.subjects import Finding, Subject
from profcore.alerts.states import DAYS_TO_CONFIRM, Evidence, Standing, State, step, weigh_day
from profcore.times import day_ending_at
from projects.lifecycle import hold_project

PREVIEW_DAYS: Final = 30
# An alert that was away for longer begins anew: alarms of last month are of no use.
MAX_CATCH_UP: Final = 7


@dataclass(frozen=True, slots=True)
class Preview:
    """What a budget would have said on past days: each day with its state, and how often it would have alerted."""

    days: Sequence[tuple[Day, State]]
    alerts: int


def evaluate_budget(alert: AlertRule, now: datetime) -> None:
    """Judges the finished days since the last one that was judged. Call it in a transaction."""
    query = read_alert_query(alert)
    for day in measure_days(alert.project_id, query, days_to_judge(alert, now)):
        _judge_day(alert, query, day)


def is_read_from_traces(alert: AlertRule) -> bool:
    """Returns whether a day takes too long to be read while the alert is locked (`judge_next_day`)."""
    return alert.kind == AlertRule.Kind.BUDGET and read_alert_query(alert).measure in TRACE_MEASURES


def judge_next_day(alert: AlertRule, now: datetime) -> None:
    """Reads the next finished day, then judges it in a transaction; if others wait, the alert stays due.

    The alert has been put off, so no other worker reads the same. Its problem says why the last day could not be
    judged, until the next one is. Raises `Stopping`. Call it outside of transactions.
    """
    days = days_to_judge(alert, now)
    if not days:
        _rows_of(alert).update(evaluated_at=now, problem=_find_gone(alert))
        return
    query = read_alert_query(alert)
    day = measure_from_traces(alert.project_id, query, days[0])
    with transaction.atomic():
        held = _rows_of(alert).select_for_update().first()
        if held is None or not hold_project(alert.project_id) or days[0] not in days_to_judge(held, now):
            return
        _judge_day(held, query, day)
        problem = describe_gone(day.on) if day.is_gone else None
        _rows_of(alert).update(evaluated_at=now, problem=problem, **({"due_at": now} if days[1:] else {}))


def _rows_of(alert: AlertRule) -> QuerySet[AlertRule]:
    """Returns an alert as it is now, unless it was changed meanwhile."""
    return AlertRule.objects.filter(project_id=alert.project_id, id=alert.id, is_on=True, question=alert.question)


def describe_gone(day: date) -> str:
    """Returns the problem of an alert whose last day could not be judged, since raw traces are missing."""
    return f"The raw traces of {day} are not kept any more."


def _find_gone(alert: AlertRule) -> str | None:
    """Returns the problem of an alert if that is so of the last day it looked at. Other problems are over."""
    row = select_states(alert).get(Subject().key)
    is_gone = row is not None and alert.problem == describe_gone(day_ending_at(row.seen_at))
    return alert.problem if is_gone else None


def _judge_day(alert: AlertRule, query: AlertQuery, day: Day) -> None:
    subject = Subject()
    before = select_states(alert).get(subject.key)
    evidence = weigh_day(day.low, day.high, query.limit, value=day.value)
    standing, finding = step_state(before, evidence, describe_day(day, query), bad_to_confirm=days_to_confirm(query))
    if before is not None and before.state != State.UNKNOWN and evidence is Evidence.NONE:
        finding = finding_of(before)  # what was found before stays shown
    # What stays unknown is kept, so that it is known since when no day could be judged.
    write_standing(alert, subject, before, standing, finding, at=day.ends_at, cause=Cause.DAY, keeps_unknown=True)


def days_to_confirm(query: AlertQuery) -> int:
    """Returns how many days in a row must be over the limit: one for a count, which is no estimate."""
    return 1 if query.measure == "hangs" else DAYS_TO_CONFIRM


def days_to_judge(alert: AlertRule, now: datetime) -> list[date]:
    """Returns the settled days that were not judged yet; at first the one before its creation.

    While no day had enough page views, the last days are looked at again with each new day: some views may come late.
    What is read from traces is read once only, since that takes long.
    """
    row = select_states(alert).get(Subject().key)
    new = list_days(day_ending_at(row.seen_at), now) if row is not None else []
    if row is not None and (not new or row.state != State.UNKNOWN or is_read_from_traces(alert)):
        return new[-MAX_CATCH_UP:]
    return list_days(day_ending_at(alert.created_at - timedelta(days=2)), now)[-MAX_CATCH_UP:]


def describe_day(day: Day, query: AlertQuery) -> Finding:
    """Returns what was found on a day."""
    return Finding(views=day.views, value=day.value, low=day.low, high=day.high, threshold=query.limit)


def preview_budget(project_id: int, query: AlertQuery, now: datetime) -> Preview:
    """Returns what a budget would have said in the last `PREVIEW_DAYS` days."""
    return judge_past(query, measure_days(project_id, query, list_past(now)))


def list_past(now: datetime) -> list[date]:
    """Returns the days of a preview: the last `PREVIEW_DAYS` that are settled."""
    return list_days(last_settled(now) - timedelta(days=PREVIEW_DAYS), now)


def judge_past(query: AlertQuery, days: Iterable[Day]) -> Preview:
    """Returns what a budget would have said on some days in a row."""
    standing, judged, alerts = Standing(), [], 0
    for day in days:
        before = standing.state
        evidence = weigh_day(day.low, day.high, query.limit, value=day.value)
        standing = step(standing, evidence, bad_to_confirm=days_to_confirm(query))
        alerts += standing.state is State.CONFIRMED and before is not State.CONFIRMED
        judged.append((day, standing.state))
    return Preview(judged, alerts)
