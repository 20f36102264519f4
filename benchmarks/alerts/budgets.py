"""Budgets and new third parties over a month: how often they alarm falsely, and how soon a real excess is confirmed.

The limit is set relative to the true mean, so one simulated month serves all limits. Days are judged as alerts
judges them: the interval of a day's mean, and two days in a row that are certainly over.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Final, Literal

import numpy as np

from benchmarks.statistics.population import Recorded, draw_pages, join_pages, load_population
from benchmarks.statistics.tables import PROCESSES, percent
from profcore.alerts.states import DAYS_TO_CONFIRM, Evidence, Standing, State, step, weigh_day
from profcore.stats.estimates import Figure, Interval
from profcore.stats.summaries import summarise
from profcore.stats.trends import BucketSums, estimate_buckets
from profcore.stats.views import ViewSample

Kind = Literal["time", "share", "new third parties"]
KINDS: Final[Sequence[Kind]] = ("time", "share", "new third parties")
DAYS: Final = 30
WEEK: Final = 7
WEEKEND: Final = (5, 6)
# A share of the views that moves to the slowest devices, or from them: as random as the mix of days is elsewhere, and
# on weekends, when more people use phones.
DAILY_SHIFT: Final = 0.03
WEEKEND_SHIFT: Final = 0.1
VIEWS_A_DAY: Final = (50, 200, 500, 2_000)
# As alerts reads the views of a day for a budget on time (`aggregate.selectors.project.trends.POINT_VIEWS`).
POINT_VIEWS: Final = 400
# Budgets relative to the true mean, and excesses of the mean over the budget.
ABOVE: Final = (0.0, 0.05, 0.1, 0.2)
EXCESSES: Final = (1.1, 1.25, 1.5)
NEVER_RAN: Final = Figure(0.0, Interval(0.0, 0.0))
FUNCS: Final = 10  # a share or a new third parties is that of one of the heaviest functions


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The figures of each day by kind, relative to the true mean of the month; None with too few views."""

    views_a_day: int
    days: Mapping[Kind, Sequence[Figure | None]]


def simulate_month(number: int, views_a_day: int, has_weekends: bool) -> Month:
    """Returns a month of a project, whose figures do not change except by chance and by the mix of devices."""
    rng = np.random.default_rng([number, views_a_day, int(has_weekends)])
    apps = [list(group) for _, group in groupby(load_population(), key=lambda page: page.app)]
    pages = apps[number % len(apps)]
    shares = rng.dirichlet(np.full(len(pages), 3.0)).tolist()
    whole = join_pages(pages)
    func = int(rng.choice(whole.heaviest(FUNCS)))
    days: dict[Kind, list[Figure | None]] = {kind: [] for kind in KINDS}
    shift = WEEKEND_SHIFT * len(WEEKEND) / WEEK if has_weekends else 0.0
    truth = find_truth(pages, shares, func, shift)
    for day in range(DAYS):
        slow = float(rng.normal(0, DAILY_SHIFT)) + (WEEKEND_SHIFT if has_weekends and day % WEEK in WEEKEND else 0.0)
        views = int(rng.poisson(views_a_day))
        if not views:
            continue
        sample = draw_pages(rng, pages, shares, views, slow=slow)
        for kind, figure in measure_day(sample, func).items():
            days[kind].append(None if figure is None else scale(figure, 1 / truth[kind]))
    return Month(views_a_day=views_a_day, days=days)


def scale(figure: Figure, factor: float) -> Figure:
    """Returns a figure that is so many times as large."""
    ci95 = None if figure.ci95 is None else Interval(figure.ci95.low * factor, figure.ci95.high * factor)
    return Figure(figure.value * factor, ci95)


def weigh(day: Figure | None, limit: float) -> Evidence:
    """Returns what a day says of a limit, by the rule of alerts."""
    if day is None:
        return weigh_day(None, None, limit)
    low, high = day.ci95 or (None, None)
    return weigh_day(low, high, limit, value=day.value)


def find_truth(pages: Sequence[Recorded], shares: Sequence[float], func: int, shift: float) -> dict[Kind, float]:
    """Returns the true mean of each kind over all days, with so many more views of the slowest devices."""
    whole = join_pages(pages)
    chance = np.repeat(
        np.array(shares) / sum(shares) / [page.js_us.size for page in pages], [page.js_us.size for page in pages]
    )
    is_slowest = whole.device == whole.device.max()
    slowest = chance[is_slowest].sum()
    chance = np.where(is_slowest, chance * (1 + shift / slowest), chance * (1 - shift / (1 - slowest)))
    view = np.repeat(np.arange(whole.js_us.size), whole.lengths)
    mask = whole.columns[0] == func
    cost = np.bincount(view[mask], (whole.columns[1] + whole.columns[2])[mask], minlength=whole.js_us.size)
    time_us, cost_us = (float((chance * column).sum()) for column in (whole.js_us + whole.hidden_us, cost))
    return {"time": time_us / 1000, "share": cost_us / time_us, "new third parties": cost_us / 1000}


def measure_day(sample: ViewSample, func: int) -> dict[Kind, Figure | None]:
    """Returns the figures of a day: time per view, and the share and the time per view of one function."""
    us = sample.columns.js_us + sample.columns.hidden_us
    read = us[:POINT_VIEWS]
    (time,) = estimate_buckets(
        [BucketSums(us.size, int(us.sum()))],
        bucket=np.zeros(read.size, dtype=np.int64),
        us=read,
        weight=np.ones(read.size),
        wanted=[min(POINT_VIEWS, us.size)],
    )
    at = int(np.flatnonzero(sample.func_ids == func)[0]) if func in sample.func_ids else -1
    mask = sample.func == at
    only = replace(
        sample,
        view=sample.view[mask],
        func=np.zeros(int(mask.sum()), dtype=np.int64),
        self_us=sample.self_us[mask],
        total_us=sample.total_us[mask],
        hidden_us=sample.hidden_us[mask],
        func_ids=np.array([func]),
    )
    summary = summarise(only, "self+hidden")
    if summary.is_too_few:
        return {"time": None if time.is_too_few else time.ms_per_view, "share": None, "new third parties": None}
    cost, share = NEVER_RAN, NEVER_RAN
    if summary.functions:
        cost, share = summary.functions[0].ms_per_view, summary.functions[0].share or NEVER_RAN
    return {"time": None if time.is_too_few else time.ms_per_view, "share": share, "new third parties": cost}


def find_alarm(days: Sequence[Figure | None], limit: float, days_to_confirm: int = DAYS_TO_CONFIRM) -> int | None:
    """Returns after how many days a limit is confirmed to be exceeded; None if it is not."""
    standing = Standing()
    for number, day in enumerate(days, start=1):
        standing = step(standing, weigh(day, limit), bad_to_confirm=days_to_confirm)
        if standing.state is State.CONFIRMED:
            return number
    return None


def simulate_months(projects: int, has_weekends: bool) -> list[Month]:
    """Returns a month of each project at each number of views a day."""
    plan = [(number, views) for views in VIEWS_A_DAY for number in range(projects)]
    numbers, views = zip(*plan, strict=True)
    with ProcessPoolExecutor(PROCESSES) as pool:
        given = numbers, views, [has_weekends] * len(plan)
        return list(pool.map(simulate_month, *given, chunksize=8))


def describe_budgets(projects: int) -> Iterator[str]:
    """Yields the lines of two tables: false alarms, and how soon an excess is confirmed."""
    months = {weekends: simulate_months(projects, weekends) for weekends in (False, True)}
    yield f"{projects} budgets each, {DAYS} days; months with a false alarm, %"
    yield ""
    limits = [f"limit {above:.0%} above the mean" for above in ABOVE]
    yield f"| budget on | views a day | {' | '.join(limits)} | {ABOVE[2]:.0%} above, more phones on weekends |"
    yield f"|---|---:|{'---:|' * (len(ABOVE) + 1)}"
    for kind in KINDS:
        for views in VIEWS_A_DAY:
            cells = [_count_false(months[False], kind, views, above) for above in ABOVE]
            cells.append(_count_false(months[True], kind, views, ABOVE[2]))
            yield f"| {kind} | {views:,} | {' | '.join(cells)} |"
    yield ""
    heads = [f"{excess - 1:.0%} over the budget: confirmed in 30 days, %, after days" for excess in EXCESSES]
    yield f"| budget on | views a day | {' | '.join(heads)} |"
    yield f"|---|---:|{'---:|' * len(EXCESSES)}"
    for kind in KINDS:
        for views in VIEWS_A_DAY:
            cells = [_describe_excess(months[False], kind, views, excess) for excess in EXCESSES]
            yield f"| {kind} | {views:,} | {' | '.join(cells)} |"


def _alarms(months: Sequence[Month], kind: Kind, views: int, limit: float) -> list[int | None]:
    return [find_alarm(month.days[kind], limit) for month in months if month.views_a_day == views]


def _count_false(months: Sequence[Month], kind: Kind, views: int, above: float) -> str:
    days = _alarms(months, kind, views, 1 + above)
    return percent(sum(day is not None for day in days), len(days))


def _describe_excess(months: Sequence[Month], kind: Kind, views: int, excess: float) -> str:
    days = _alarms(months, kind, views, 1 / excess)
    seen = [day for day in days if day is not None]
    return f"{percent(len(seen), len(days))}, {median(seen):.0f}" if seen else f"{percent(0, len(days))}, –"
