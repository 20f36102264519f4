"""New cost: third parties or packages that were not there before, and certainly cost more than some ms per view.

Each has a state of its own, from the first day on which it ran. It is watched for as long as it counts as new. A
preview (`guard.new_cost_previews`) walks the same rules over the days that are there.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Final

from django.db.models import QuerySet

from aggregate.guard.budgets import MAX_CATCH_UP
from aggregate.guard.changes import Cause, select_states, step_state, write_standing
from aggregate.guard.days import Cost, count_views, iter_costs, last_settled, list_days, slice_of
from aggregate.guard.questions import Question, read_question
from aggregate.guard.subjects import Found, Subject
from aggregate.guard_models import Watch, WatchState
from aggregate.selectors.functions.groups import GroupSums, sum_groups
from profcore.code.categories import NO_GROUP
from profcore.guard.states import DAYS_TO_CONFIRM, Standing, State, weigh_day
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
    before = _sum_before(watch.project_id, question, day)
    views = min(before.views, count_views(watch.project_id, question, day))
    if views < MIN_VIEWS:
        _keep_unjudged(watch, day, views)
        return  # everything would be new, or over
    _unjudged_of(watch).delete()
    states = {row.subject: row for row in select_states(watch).values()}
    costs = dict(iter_costs(watch.project_id, question, day))
    known = {name: (State(row.state), row.since_at) for name, row in states.items()}
    for name in choose_names(known, costs, before.cost_us, day):
        _weigh(watch, name, states.get(name), costs.get(name), day)


def _keep_unjudged(watch: Watch, day: date, views: int) -> None:
    """Keeps since when there are too few page views: as a state without a name.

    `views` are those of the day, or of the days before if these have fewer.
    """
    row, ends_at = _unjudged_of(watch).first(), bounds_of_day(day)[1]
    write_standing(
        watch, Subject(), row, Standing(), Found(views=views), at=ends_at, cause=Cause.DAY, keeps_unknown=True
    )


def _unjudged_of(watch: Watch) -> QuerySet[WatchState]:
    return WatchState.objects.filter(
        project_id=watch.project_id, watch_id=watch.id, subject_key=Subject().key, state=State.UNKNOWN
    )


def _sum_before(project_id: int, question: Question, day: date) -> GroupSums:
    """Returns what ran in the days before one day."""
    slice_ = slice_of(project_id, question, day - timedelta(days=NEW_DAYS), day - timedelta(days=1))
    return sum_groups(slice_, question.by or "party")


def choose_names(
    known: Mapping[str, tuple[State, datetime]], names: Iterable[str], before: Collection[str], day: date
) -> list[str]:
    """Returns what is judged on a day: what is watched already, and of `names`, the heaviest first, what is new.

    `known` has states with the moments since which they hold, `before` what ran in the days before.
    """
    watched = [name for name, (state, since_at) in known.items() if _is_watched(state, since_at, day)]
    new = [name for name in names if name not in known and name not in before and name != NO_GROUP]
    return [*watched, *new[:MAX_NEW]]


def _is_watched(state: State, since_at: datetime, day: date) -> bool:
    return state.is_open or bounds_of_day(day)[0] - since_at < timedelta(days=NEW_DAYS)


def interval_of(cost: Cost | None) -> tuple[float | None, float | None]:
    """Returns the bounds of a cost in ms per view; zeros if it did not run on that day, None with too few views."""
    if cost is None:
        return 0.0, 0.0
    interval = cost.per_view.ci95
    return (None, None) if interval is None else (interval.low, interval.high)


def _weigh(watch: Watch, name: str, before: WatchState | None, cost: Cost | None, day: date) -> None:
    question = read_question(watch)
    ends_at = bounds_of_day(day)[1]
    if before is not None and before.seen_at >= ends_at:
        return
    low, high = interval_of(cost)
    found = Found(
        views=cost.views if cost is not None else 0,
        value=cost.per_view.value if cost is not None else 0.0,
        low=low,
        high=high,
        threshold=question.limit,
    )
    evidence = weigh_day(low, high, question.limit)
    standing, found = step_state(before, evidence, found, bad_to_confirm=DAYS_TO_CONFIRM)
    subject = Subject(name=name)
    write_standing(watch, subject, before, standing, found, at=ends_at, cause=Cause.DAY)
