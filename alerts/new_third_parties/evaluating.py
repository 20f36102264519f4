"""New third parties or packages: those that were not there before, and certainly cost more than a limit per view.

Each has a state of its own, from the first day on which it ran. It is watched for as long as it counts as new. A
preview (`previews`) follows the same rules (`rules`) over the days that are there.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from django.db.models import QuerySet

from alerts.budgets import MAX_CATCH_UP
from alerts.changes import Cause, select_states, step_state, write_standing
from alerts.days import last_settled, list_days
from alerts.models import AlertRule, AlertState
from alerts.new_third_parties.rules import DayNames, choose_names, find_before, iter_days, weigh_names
from alerts.queries import AlertQuery, read_alert_query
from alerts.subjects import Finding, Subject
from profcore.alerts.states import DAYS_TO_CONFIRM, Evidence, Standing, State
from profcore.stats.summaries import MIN_VIEWS
from profcore.times import bounds_of_day


def evaluate_new_third_parties(alert: AlertRule, now: datetime) -> None:
    """Judges the finished days since the last one that was judged. Call it in a transaction."""
    # The day before its creation is the first one. What was settled at the last evaluation has been judged.
    last = last_settled(alert.evaluated_at) if alert.evaluated_at else alert.created_at.date() - timedelta(days=2)
    days = list_days(last, now)[-MAX_CATCH_UP:]
    if not days:
        return
    query = read_alert_query(alert)
    for day, past in iter_days(alert.project_id, query, days):
        _judge(alert, query, day, past)


def _judge(alert: AlertRule, query: AlertQuery, day: DayNames, past: Sequence[DayNames]) -> None:
    before = find_before(past)
    if before is None or day.views < MIN_VIEWS:  # everything would be new, or over
        most = max((past_day.views for past_day in past), default=0)
        _keep_unjudged(alert, day.on, day.views if before is not None else min(day.views, most))
        return
    _unjudged_of(alert).delete()
    states = {row.subject: row for row in select_states(alert).values()}
    known = {name: (State(row.state), row.since_at) for name, row in states.items()}
    watched, new = choose_names(known, day, before)
    opened = {name for name in watched if known[name][0].is_open}
    for name, (evidence, figure) in weigh_names(alert.project_id, query, day, [*watched, *new], opened).items():
        row = states.get(name)
        if row is not None and row.seen_at >= bounds_of_day(day.on)[1]:
            continue
        low, high = figure.ci95 or (None, None)
        finding = Finding(views=day.views, value=figure.value, low=low, high=high, threshold=query.limit)
        # What is new again begins anew.
        _step(
            alert,
            name,
            row if name in watched else None,
            evidence=evidence,
            finding=finding,
            at=bounds_of_day(day.on)[1],
        )


def _keep_unjudged(alert: AlertRule, day: date, views: int) -> None:
    """Keeps since when there are too few page views: as a state without a name.

    `views` are those of the day; of the best one of the days before, if no day before had enough.
    """
    row, ends_at = _unjudged_of(alert).first(), bounds_of_day(day)[1]
    write_standing(
        alert, Subject(), row, Standing(), Finding(views=views), at=ends_at, cause=Cause.DAY, keeps_unknown=True
    )


def _unjudged_of(alert: AlertRule) -> QuerySet[AlertState]:
    return AlertState.objects.filter(
        project_id=alert.project_id, alert_id=alert.id, subject_key=Subject().key, state=State.UNKNOWN
    )


def _step(
    alert: AlertRule, name: str, before: AlertState | None, *, evidence: Evidence, finding: Finding, at: datetime
) -> None:
    standing, finding = step_state(before, evidence, finding, bad_to_confirm=DAYS_TO_CONFIRM)
    write_standing(alert, Subject(name=name), before, standing, finding, at=at, cause=Cause.DAY)
