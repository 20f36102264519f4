"""New cost: third parties or packages that were not there before, and certainly cost more than some ms per view.

Each has a state of its own, from the first day on which it ran. It is watched for as long as it counts as new.
"""

from datetime import date, datetime, timedelta
from typing import Final

from aggregate.guard.budgets import MAX_CATCH_UP
from aggregate.guard.changes import Cause, select_states, standing_of, write_standing
from aggregate.guard.days import Cost, count_views, iter_costs, last_settled, list_days, slice_of
from aggregate.guard.questions import Question, read_question
from aggregate.guard.subjects import Found, Subject
from aggregate.guard_models import Watch, WatchState
from aggregate.selectors.functions.groups import select_group_table
from profcore.code.categories import NO_GROUP
from profcore.guard.states import DAYS_TO_CONFIRM, State, step, weigh_day
from profcore.stats.summaries import MIN_VIEWS
from profcore.times import bounds_of_day

# What ran within so many days before is not new; and so long something is watched that is.
NEW_DAYS: Final = 28
# New ones of one day, those with the most time: a page that makes up names must not fill the table.
MAX_NEW: Final = 50


def evaluate_new_costs(watch: Watch, now: datetime) -> None:
    """Judges the finished days since the last one that was judged. Call it in a transaction."""
    question = read_question(watch)
    # The day before its creation is the first one. What was settled at the last evaluation has been judged.
    last = last_settled(watch.evaluated_at) if watch.evaluated_at else watch.created_at.date() - timedelta(days=2)
    for day in list_days(last, now)[-MAX_CATCH_UP:]:
        _judge(watch, question, day)


def _judge(watch: Watch, question: Question, day: date) -> None:
    before, views_before = _list_before(watch.project_id, question, day)
    if views_before < MIN_VIEWS or count_views(watch.project_id, question, day) < MIN_VIEWS:
        return  # everything would be new, or over
    states = {row.subject: row for row in select_states(watch).values()}
    costs = {name: cost for name, cost in iter_costs(watch.project_id, question, day) if name != NO_GROUP}
    new = [name for name in costs if name not in states and name not in before]
    for name in [*(name for name, row in states.items() if _is_watched(row, day)), *new[:MAX_NEW]]:
        _weigh(watch, name, states.get(name), costs.get(name), day)


def _list_before(project_id: int, question: Question, day: date) -> tuple[set[str], int]:
    """Returns the names that ran in the days before one day, and the number of page views."""
    slice_ = slice_of(project_id, question, day - timedelta(days=NEW_DAYS), day - timedelta(days=1))
    table = select_group_table(slice_, question.by or "party")
    return {row.name for row in table.functions}, table.views


def _is_watched(row: WatchState, day: date) -> bool:
    return State(row.state).is_open or bounds_of_day(day)[0] - row.since_at < timedelta(days=NEW_DAYS)


def _weigh(watch: Watch, name: str, before: WatchState | None, cost: Cost | None, day: date) -> None:
    question = read_question(watch)
    ends_at = bounds_of_day(day)[1]
    if before is not None and before.seen_at >= ends_at:
        return
    interval = cost.per_view.ci95 if cost is not None else None
    low, high = (interval.low, interval.high) if interval is not None else (None, None)
    if cost is None:  # it did not run on that day
        low = high = 0.0
    standing = step(standing_of(before), weigh_day(low, high, question.limit), bad_to_confirm=DAYS_TO_CONFIRM)
    found = Found(
        views=cost.views if cost is not None else 0,
        value=cost.per_view.value if cost is not None else 0.0,
        low=low,
        high=high,
        threshold=question.limit,
    )
    subject = Subject(name=name)
    write_standing(watch, subject, before, standing, found, at=ends_at, cause=Cause.DAY)
