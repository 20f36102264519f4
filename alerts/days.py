"""What a question measures on finished UTC days, each with its interval: that of the tables and charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection

from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.hangs.table import count_unresponsive_days
from aggregate.selectors.page_views.view_times import Stratum, select_view_times
from aggregate.selectors.project.trends import POINT_VIEWS, estimate_times
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from aggregate.selectors.vitals.sampled_figures import select_forced_mean, select_interaction_script
from alerts.queries import TRACE_MEASURES, AlertQuery
from profcore.stats.estimates import Figure, Interval
from profcore.stats.summaries import MIN_VIEWS, US_PER_MS
from profcore.stats.views import Measure
from profcore.times import DAY, bounds_of_day, start_of_day

# A day is judged this long after its end: views that began late in it have been sent by then.
SETTLES: Final = timedelta(hours=3)
COST: Final[Measure] = "self+hidden"
# A day of which more views have no raw traces any more is not known: those that are left are not chosen at random.
MAX_GONE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What a question measured on a day. Without a value there were too few views, or `is_gone`: no raw traces.

    With a value and no interval, there were enough views, but too few of them ran what the value is of. `views` are
    page views; of `TRACE_MEASURES`, those that were read, and for `inp_script` have an interaction.
    """

    on: date
    views: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    is_gone: bool = False

    @property
    def is_judged(self) -> bool:
        """Returns whether there were enough views to say something."""
        return self.value is not None

    @property
    def ends_at(self) -> datetime:
        """The midnight at its end."""
        return bounds_of_day(self.on)[1]


def last_settled(now: datetime) -> date:
    """Returns the last day that is settled at a moment."""
    return start_of_day(now - SETTLES).date() - DAY


def list_days(after: date, now: datetime) -> list[date]:
    """Returns the settled days after one day."""
    last = last_settled(now)
    return [after + timedelta(days=number) for number in range(1, (last - after).days + 1)]


def measure_days(project_id: int, query: AlertQuery, days: Sequence[date]) -> list[Day]:
    """Returns what a question measures on some days in a row, in their order."""
    if not days:
        return []
    if query.measure == "time":
        return _measure_times(project_id, query, days)
    if query.measure in TRACE_MEASURES:
        return [measure_from_traces(project_id, query, day) for day in days]
    if query.measure == "hangs":
        return _measure_hangs(project_id, query, days)
    return _measure_shares(project_id, query, days)


def slice_of(project_id: int, query: AlertQuery, first: date, last: date) -> Slice:
    """Returns the views of some days, of the page and device that a question names."""
    return Slice(
        project_id=project_id,
        ranges=((bounds_of_day(first)[0], bounds_of_day(last)[1]),),
        pages=(query.page,) if query.page is not None else (),
        dimensions=(("device", query.device),) if query.device is not None else (),
    )


def _measure_times(project_id: int, query: AlertQuery, days: Sequence[date]) -> list[Day]:
    """Returns the script time per view, seen and hidden. Two statements."""
    slice_ = slice_of(project_id, query, days[0], days[-1])
    sums = _sum_days(slice_)
    strata = [Stratum(views=views, at=at) for at, (views, _, _) in sums.items()]
    times = select_view_times(slice_, strata, most=POINT_VIEWS, bucket="day")
    means = estimate_times(strata, list(sums.values()), times, measure=COST, most=POINT_VIEWS) if strata else []
    day_by_date = {
        at.date(): _as_day(at.date(), mean.views, None if mean.is_too_few else mean.ms_per_view)
        for at, mean in zip(sums, means, strict=True)
    }
    return [day_by_date.get(day) or Day(on=day, views=0) for day in days]


def _measure_hangs(project_id: int, query: AlertQuery, days: Sequence[date]) -> list[Day]:
    """Returns the reports of hangs: counts, which are certain, also on days without page views. Two statements."""
    slice_ = slice_of(project_id, query, days[0], days[-1])
    reports = count_unresponsive_days(slice_)
    views = {at.date(): views for at, (views, _, _) in _sum_days(slice_).items()}
    counts = [(day, float(reports.get(day, 0))) for day in days]
    return [Day(on=day, views=views.get(day, 0), value=count, low=count, high=count) for day, count in counts]


def _sum_days(slice_: Slice) -> Mapping[datetime, tuple[int, int, int]]:
    where, params = where_slice(slice_)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT date_trunc('day', c.starts_at, 'UTC'), sum(c.views)::bigint, sum(c.js_us)::bigint,
                       sum(c.hidden_us)::bigint
                {FROM_CELLS} WHERE {where} AND c.views > 0 GROUP BY 1 ORDER BY 1""",
            params,
        )
        return {at: (views, js_us, hidden_us) for at, views, js_us, hidden_us in cursor}


def _measure_shares(project_id: int, query: AlertQuery, days: Sequence[date]) -> list[Day]:
    """Returns the share of what a question names. Days with too few views are not read: a table takes long."""
    sums = _sum_days(slice_of(project_id, query, days[0], days[-1]))
    counts = {at.date(): views for at, (views, _, _) in sums.items()}
    measured = []
    for day in days:
        views = counts.get(day, 0)
        costs = select_costs(project_id, query, day) if views >= MIN_VIEWS else None
        share = costs.find(query.name or "").share if costs is not None and not costs.is_too_few else None
        measured.append(_as_day(day, views, share))
    return measured


@dataclass(frozen=True, slots=True)
class Cost:
    """What a function, package or party cost on a day: ms per view, and its share of script and hidden time.

    Without an interval too few views ran it; the values are then the exact ones of all views.
    """

    per_view: Figure
    share: Figure


NO_COST: Final = Cost(Figure(0.0, Interval(0.0, 0.0)), Figure(0.0, Interval(0.0, 0.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCosts:
    """The costs of a day by name, the heaviest first. With `is_too_few` page views nothing can be said of them."""

    is_too_few: bool
    costs: Mapping[str, Cost]

    def find(self, name: str) -> Cost:
        """Returns the cost of something, for certain none if no view of the day ran it: the sums are of all views."""
        return self.costs.get(name, NO_COST)


def select_costs(project_id: int, query: AlertQuery, day: date) -> DayCosts:
    """Returns the functions, packages or parties of a day. Functions have their labels.

    Two functions may have one label: then it is that of the heavier one.
    """
    slice_ = slice_of(project_id, query, day, day)
    table = select_estimated(slice_, TableQuery(group_by=query.by or "function", measure=COST, counts_once=False))
    is_too_few = table.views < MIN_VIEWS or table.summary is None or table.summary.is_too_few
    costs: dict[str, Cost] = {}
    for row in sorted(table.functions, key=lambda row: -row.cost_us) if not is_too_few else ():
        if row.cost_us:
            costs.setdefault(row.label if query.by == "function" else row.name, _cost_of(table, row))
    return DayCosts(is_too_few=is_too_few, costs=costs)


def _cost_of(table: FunctionTable, row: FunctionRow) -> Cost:
    estimate = table.estimates.get(row.id)
    if estimate is not None and estimate.share is not None:
        return Cost(estimate.ms_per_view, estimate.share)
    # No view of the sample ran it, but others did.
    whole_us = table.time.js_us + table.time.hidden_us
    return Cost(Figure(row.cost_us / US_PER_MS / table.views, None), Figure(row.cost_us / max(whole_us, 1), None))


def measure_from_traces(project_id: int, query: AlertQuery, day: date) -> Day:
    """Returns one of `TRACE_MEASURES` on a day, from the raw traces of a sample of views: that takes about a second.

    Raises `Stopping`. Call it outside of transactions.
    """
    slice_ = slice_of(project_id, query, day, day)
    select = select_interaction_script if query.measure == "inp_script" else select_forced_mean
    sampled = select(slice_, most_views=settings.ALERTS_TRACE_VIEWS)
    if sampled.gone > MAX_GONE * (sampled.read + sampled.gone):
        return Day(on=day, views=sampled.views, is_gone=True)
    return _as_day(day, sampled.views, sampled.figure)


def _as_day(on: date, views: int, figure: Figure | None) -> Day:
    if figure is None:
        return Day(on=on, views=views)
    low, high = (figure.ci95.low, figure.ci95.high) if figure.ci95 is not None else (None, None)
    return Day(on=on, views=views, value=figure.value, low=low, high=high)
