"""What becomes of the error and the power if somebody looks at a growing release again and again."""

from collections.abc import Sequence

import numpy as np

from benchmarks.statistics.population import SIGMA, Recorded, load_population
from benchmarks.statistics.tables import Simulation, Table, percent
from profcore.stats.comparison import MIN_COMPARED_VIEWS
from profcore.stats.distributions import normal_tail
from profcore.stats.looks import find_bounds, spend
from profcore.stats.plan import LookPoint, bound_of_newest, is_another_look
from profcore.stats.ranks import RankRows, rank_test
from profcore.stats.views import FloatColumn, IntColumn

DAYS = 14
SLOWER = 1.12  # one look at the end finds this in most of the rounds
A_DAY = 24  # views per side


def _draw(rng: np.random.Generator, page: Recorded, classes: Sequence[int], rounds: int) -> FloatColumn:
    """Returns the whole times of a view of each given class, in each round."""
    time = page.js_us + page.hidden_us
    drawn = np.stack([rng.choice(time[page.device == each], size=rounds) for each in classes])
    return drawn * rng.lognormal(-(SIGMA**2) / 2, SIGMA, drawn.shape) / 1_000


def _test(base: FloatColumn, head: FloatColumn, classes: IntColumn) -> FloatColumn:
    """Returns the p of each round, stratified by class; the rounds are taken as funcs."""
    views, rounds = base.shape
    value = np.concatenate([base, head])
    _, stratum = np.unique(classes, return_inverse=True)
    _, p = rank_test(
        RankRows(
            view=np.repeat(np.arange(2 * views), rounds),
            func=np.tile(np.arange(rounds), 2 * views),
            value=value.reshape(-1),
            func_count=rounds,
            stratum=np.tile(stratum, 2),
            stratum_count=int(stratum.max()) + 1,
            is_head=np.repeat([0, 1], views),
            weight=np.ones(2 * views),
        )
    )
    return np.asarray(p)


def look_often(looks: int, rounds: int) -> Sequence[str]:
    """Returns false alarms and power: of one look at the end, of all without bounds, in a row, and with bounds."""
    pages = load_population()
    views = [max(round(A_DAY * DAYS * look / looks), 1) for look in range(1, looks + 1)]
    errors = np.diff([spend(look / looks) for look in range(looks + 1)])
    found_bounds = find_bounds([(size / 2, error) for size, error in zip(views, errors.tolist(), strict=True)])
    bounds = 2 * normal_tail(np.array(list(found_bounds)))
    counts = {factor: np.zeros(4) for factor in (1.0, SLOWER)}
    for factor, found in counts.items():
        for number, page in enumerate(pages):
            rng = np.random.default_rng([number, looks, int(100 * factor)])
            classes = np.resize(np.unique(page.device), views[-1])
            own = max(rounds // len(pages), 1)
            base, head = _draw(rng, page, classes.tolist(), own), factor * _draw(rng, page, classes.tolist(), own)
            p = np.stack(
                [_test(base[:size], head[:size], classes[:size]) if size >= 20 else np.ones(own) for size in views]
            )
            low = p < 0.05
            found += [
                low[-1].sum(),
                low.any(0).sum(),
                (low[1:] & low[:-1]).any(0).sum(),
                (bounds > p.T).any(1).sum(),
            ]
    done = max(rounds // len(pages), 1) * len(pages)
    return [f"{percent(a, done)} / {percent(b, done)}" for a, b in zip(*counts.values(), strict=True)]


def look_as_verdicts(base_views: int, views_a_day: int, hours: int, rounds: int) -> Sequence[str]:
    """Returns false alarms after one plan and after two, by the plan of verdicts, and those of one look at its end.

    The base is complete; the head gets so many views a day, and somebody looks every so many hours. Means of views are
    taken as normal, which is what ranks and means of this many views are.
    """
    rng = np.random.default_rng([base_views, views_a_day, hours])
    base = rng.normal(0, 1 / np.sqrt(base_views), rounds)
    total, before, bound = np.zeros(rounds), 0.0, 0.0
    points: list[LookPoint] = []
    is_alarmed = np.zeros(rounds, dtype=bool)
    found: list[int] = []
    for hour in range(hours, 2 * DAYS * 24 + 1, hours):
        views = views_a_day * hour / 24
        total += rng.normal(0, 1, rounds) * np.sqrt(views - before)
        before = views
        p = 2 * normal_tail(np.abs(total / views - base) / np.sqrt(1 / base_views + 1 / views))
        now = LookPoint(min(max(views / base_views, hour / 24 / DAYS), 1.0), base_views * views / (base_views + views))
        if views >= MIN_COMPARED_VIEWS and is_another_look(points, now):
            points.append(now)
            bound = bound_of_newest(points)
        is_alarmed |= p < bound
        if hour == DAYS * 24:
            found += [int((p < 0.05).sum()), int(is_alarmed.sum())]
    return [percent(each, rounds) for each in [*found, int(is_alarmed.sum())]] + [str(len(points))]


def list_peeking(rounds: int) -> list[Table]:
    """Returns the table of looks."""
    kinds = (("daily", DAYS), ("hourly", 24 * DAYS))
    return [
        Table(
            title=f"Looking often for {DAYS} days: false alarms / power, % ({SLOWER} times as slow)",
            head=["looks", "one, at the end", "p < 0.05 at any", "two in a row", "spending bounds"],
            rows=[Simulation(setting=[name], run=look_often, args=(looks, rounds)) for name, looks in kinds],
        ),
        Table(
            title="Looking as verdicts do: false alarms, %",
            head=[
                "base, head a day",
                "every",
                f"once, day {DAYS}",
                f"by day {DAYS}",
                f"by day {2 * DAYS}",
                "looks",
            ],
            rows=[
                Simulation(
                    setting=[f"{base:,}, {daily:,}", f"{hours} h"],
                    run=look_as_verdicts,
                    args=(base, daily, hours, 10 * rounds),
                )
                for base, daily in ((1_400, 100), (700, 100), (14_000, 1_000), (1_400, 30))
                for hours in (24, 1)
            ],
        ),
    ]
