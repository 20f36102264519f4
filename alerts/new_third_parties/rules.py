"""Which third parties or packages are new on a day, and what the day says of them: one rule for alerts and previews.

Something was there before if it cost at least a small part of the limit on one of the 28 days before. Days that could
not be judged do not count: what ran on them only has not been looked at. Neither do days with more new names than are
watched: some of these were not looked at, and a client that makes names up must not hide the others (decision 22).
"""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from aggregate.selectors.code.symbols import Symbols, load_symbols
from aggregate.selectors.functions.group_sums import sum_groups
from alerts.days import select_costs, slice_of
from alerts.queries import AlertQuery
from profcore.alerts.states import Evidence, State, weigh_day
from profcore.code.categories import NO_GROUP
from profcore.stats.estimates import Figure
from profcore.stats.summaries import MIN_VIEWS, US_PER_MS
from profcore.times import bounds_of_day

# What ran within this number of days before is not new. What is new is watched for the same number of days.
NEW_DAYS: Final = 28
# New ones of one day, those that most page views ran: a page that makes up names must not fill the table.
MAX_NEW: Final = 50
# Below this part of the limit per page view something counts as absent: a test by a few people, the first minutes of a
# roll-out, or a roll-out to 1 % of the users of something that costs twice the limit.
LEAST_PART: Final = 0.02
# Below this part of the limit, by its recorded sum, a cost is taken as quiet without an estimate. It could be above
# the limit only if sample rates differ so much that the recorded mean is a tenth of the real one.
SURELY_QUIET: Final = 0.1
# Names of a day that are kept while the days after it are judged, those that most page views ran. No site has that
# number.
MAX_NAMES: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DayNames:
    """What ran on a day: recorded ms per page view by name, those that most page views ran first.

    Names with less than `LEAST_PART` of the limit are left out.
    """

    on: date
    views: int
    ms: Mapping[str, float]


def iter_days(project_id: int, query: AlertQuery, days: Sequence[date]) -> Iterator[tuple[DayNames, list[DayNames]]]:
    """Yields some days in a row, each with the `NEW_DAYS` days before it. Each day is summed up once."""
    code = load_symbols(project_id, as_stored=True)
    past: deque[DayNames] = deque(maxlen=NEW_DAYS)
    first = days[0] - timedelta(days=NEW_DAYS)
    for number in range((days[-1] - first).days + 1):
        day = _sum_day(project_id, query, first + timedelta(days=number), code)
        if day.on >= days[0]:
            yield day, list(past)
        past.append(day)


def _sum_day(project_id: int, query: AlertQuery, day: date, code: Symbols) -> DayNames:
    sums = sum_groups(slice_of(project_id, query, day, day), query.by or "party", code=code)
    least_us = LEAST_PART * query.limit * US_PER_MS * sums.views
    names = [name for name, us in sums.cost_us.items() if us >= least_us and us > 0 and name != NO_GROUP]
    names.sort(key=lambda name: (-sums.ran[name], -sums.cost_us[name], name))
    ms = {name: sums.cost_us[name] / US_PER_MS / sums.views for name in names[:MAX_NAMES]}
    return DayNames(on=day, views=sums.views, ms=ms)


def find_before(past: Sequence[DayNames]) -> Collection[str] | None:
    """Returns what was there on some days, the oldest first. None if no day had enough page views."""
    before: set[str] | None = None
    for day in past:
        if day.views < MIN_VIEWS:
            continue
        if before is None:
            before = set(day.ms)
        elif len(day.ms.keys() - before) <= MAX_NEW:
            before |= day.ms.keys()
    return before


def choose_names(
    known: Mapping[str, tuple[State, datetime]], day: DayNames, before: Collection[str]
) -> tuple[list[str], list[str]]:
    """Returns what is watched already on a day, and what is new on it.

    `known` has states with the moments since which they hold, `before` what was there before. Something that was known
    is new again if no alert watches it any more and it was not there before.
    """
    watched = [name for name, (state, since_at) in known.items() if _is_watched(state, since_at, day.on)]
    old = {*watched, *before}
    return watched, [name for name in day.ms if name not in old][:MAX_NEW]


def _is_watched(state: State, since_at: datetime, day: date) -> bool:
    return state.is_open or bounds_of_day(day)[0] - since_at < timedelta(days=NEW_DAYS)


def weigh_names(
    project_id: int, query: AlertQuery, day: DayNames, names: Collection[str], opened: Collection[str]
) -> Mapping[str, tuple[Evidence, Figure]]:
    """Returns what a day says of some names, with their ms per page view. `opened` are those with an open state.

    Estimates take longest, so they are made only on days on which they can decide something. If sample rates leave too
    few page views for them, the day is doubtful.
    """
    recorded = {name: Figure(day.ms.get(name, 0.0), None) for name in names}
    weighed = {name: (Evidence.QUIET, figure) for name, figure in recorded.items()}
    worth = [name for name in names if name in opened or recorded[name].value > SURELY_QUIET * query.limit]
    costs = select_costs(project_id, query, day.on) if worth else None
    for name in worth:
        if costs is None or costs.is_too_few:
            weighed[name] = Evidence.DOUBTFUL, recorded[name]
            continue
        figure = costs.find(name).per_view
        low, high = figure.ci95 or (None, None)
        weighed[name] = weigh_day(low, high, query.limit, value=figure.value), figure
    return weighed
