"""How often 95 % intervals cover the truth: of means, shares and differences, and with unequal sample rates."""

from collections.abc import Sequence

import numpy as np

from benchmarks.statistics.population import draw, load_population
from benchmarks.statistics.tables import Simulation, Table, percent
from profcore.stats.comparison import compare
from profcore.stats.estimates import Figure, Interval
from profcore.stats.summaries import MIN_VIEWS, summarise
from profcore.stats.views import FloatColumn, ViewColumns, ViewSample, sample_of_columns

FUNCS = 40  # of one simulated sample
FAST, SLOW = 1.0, 3.0  # how long devices of both rates take
FAST_SHARE = 0.8  # of the visits
TYPICAL_WAIT, SLOW_WAIT = 10.0, 20.0  # of the longest interactions: 100 ms, and above 200 ms
RARE = 0.2  # a func that fewer views run


def skewed(rng: np.random.Generator, views: int, sigma: float, zeros: float) -> FloatColumn:
    """Returns lognormal times of some funcs with mean 1, of which a share is zero."""
    drawn = rng.lognormal(-(sigma**2) / 2, sigma, (views, FUNCS))
    return np.where(rng.random((views, FUNCS)) < zeros, 0.0, drawn)


def sample_of(ms: FloatColumn, *, whole: FloatColumn | None = None, rate: FloatColumn | None = None) -> ViewSample:
    """Returns a sample from a matrix of times, views × funcs."""
    us = np.rint(10_000 * ms).astype(np.int64)
    view, func = np.nonzero(us)
    js_us = us.sum(1) if whole is None else np.rint(10_000 * whole).astype(np.int64)
    zeros = [0] * len(us)
    columns = ViewColumns.of(js_us.tolist(), zeros, zeros, None if rate is None else rate.tolist())
    self_us = us[view, func]
    return sample_of_columns(
        np.bincount(view, minlength=len(us)), [func, self_us, self_us, np.zeros_like(self_us)], columns
    )


def _count(intervals: Sequence[Interval | None], truth: float) -> tuple[int, int]:
    known = [interval for interval in intervals if interval is not None]
    return sum(interval.low <= truth <= interval.high for interval in known), len(known)


def _ci(figure: Figure | None) -> Interval | None:
    return figure.ci95 if figure else None


def cover_means(views: int, sigma: float, zeros: float, rounds: int) -> Sequence[str]:
    """Returns the coverage of intervals of means."""
    hits = known = 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, views, int(10 * sigma), int(10 * zeros)])
        functions = summarise(sample_of(skewed(rng, views, sigma, zeros)), min_views=1).functions
        ours = _count([function.ms_per_view.ci95 for function in functions], 10 * (1 - zeros))
        hits, known = hits + ours[0], known + ours[1]
    return [percent(hits, known)]


def cover_shares(views: int, sigma: float, zeros: float, rounds: int) -> Sequence[str]:
    """Returns the coverage of intervals of shares of a time that goes with the device's speed."""
    hits = known = 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, views, int(10 * sigma), int(10 * zeros)])
        device = rng.lognormal(0, 0.5, views)
        whole = 50 * device * rng.lognormal(-0.045, 0.3, views)
        sample = sample_of(skewed(rng, views, sigma, zeros) * device[:, None], whole=whole)
        functions = summarise(sample, min_views=1).functions
        ours = _count([_ci(function.share) for function in functions], (1 - zeros) / 50)
        hits, known = hits + ours[0], known + ours[1]
    return [percent(hits, known)]


def cover_differences(views: int, sigma: float, zeros: float, rounds: int) -> Sequence[str]:
    """Returns the coverage of intervals of differences of equal sides."""
    hits = known = 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, views, int(10 * sigma), int(10 * zeros)])
        sides = [sample_of(skewed(rng, views, sigma, zeros)) for _ in range(2)]
        ours = _count([function.ci95 for function in compare(sides[0], sides[1]).functions], 0.0)
        hits, known = hits + ours[0], known + ours[1]
    return [percent(hits, known)]


def cover_rates(rates: tuple[float, float], views: int, rounds: int) -> Sequence[str]:
    """Returns how many samples have numbers, the coverage of these, and the bias of their means.

    Fast devices have one sample rate, slow ones another. Samples that have only one rate are counted apart: nothing in
    them tells of the other.
    """
    truth = 10 * (FAST_SHARE * FAST + (1 - FAST_SHARE) * SLOW)
    recorded = np.array([FAST_SHARE * rates[0], (1 - FAST_SHARE) * rates[1]])
    hits = known = given = unseen = 0
    means: list[float] = []
    for seed in range(rounds):
        rng = np.random.default_rng([seed, views, int(1_000 * rates[0])])
        is_fast = rng.random(views) < recorded[0] / recorded.sum()
        if is_fast.all() or not is_fast.any():
            unseen += 1
            continue
        ms = skewed(rng, views, 1.0, 0.0) * np.where(is_fast, FAST, SLOW)[:, None]
        functions = summarise(sample_of(ms, rate=np.where(is_fast, *rates))).functions
        given += bool(functions)
        means += [function.ms_per_view.value for function in functions]
        ours = _count([function.ms_per_view.ci95 for function in functions], truth)
        hits, known = hits + ours[0], known + ours[1]
    bias = f"{100 * (np.mean(means) / truth - 1):+.1f}" if means else "–"
    return [percent(unseen, rounds), percent(given, rounds), percent(hits, known), bias]


def _draw_waits(rng: np.random.Generator, views: int) -> tuple[FloatColumn, FloatColumn]:
    """Returns waits in units of 10 ms, and what one function takes of each: much of slow ones, little of others."""
    wait = rng.lognormal(np.log(TYPICAL_WAIT), 1.0, views)
    share = np.where(wait > SLOW_WAIT, rng.uniform(0.4, 0.8, views), rng.uniform(0.0, 0.3, views))
    return wait, wait * share


def cover_look_back(whole: float, visits: int, rounds: int) -> Sequence[str]:
    """Returns the coverage of what is known if few views are kept whole, and the slow waits of all.

    It is that of the mean over whole views, and of the mean wait, its 75th percentile and the function's share of it
    over both kinds, with the bias of the last two in percent.
    """
    wait, part = _draw_waits(np.random.default_rng(0), 1_000_000)
    truth = {"mean": 10 * wait.mean(), "p75": 10 * np.quantile(wait, 0.75), "share": part.sum() / wait.sum()}
    hits = dict.fromkeys(["whole", *truth], 0)
    found: dict[str, list[float]] = {name: [] for name in truth}
    known = 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, visits, int(100 * whole)])
        wait, part = _draw_waits(rng, visits)
        is_whole, is_slow = rng.random(visits) < whole, wait > SLOW_WAIT
        kept = is_whole | is_slow
        rates = np.where(is_slow, 1.0, whole)[kept]
        lengths = summarise(sample_of(wait[is_whole, None])).functions
        waits = summarise(sample_of(wait[kept, None], rate=rates)).functions
        parts = summarise(sample_of(part[kept, None], whole=wait[kept], rate=rates)).functions
        if not (lengths and waits and parts and parts[0].share):
            continue
        known += 1
        hits["whole"] += _count([lengths[0].ms_per_view.ci95], truth["mean"])[0]
        for name, figure in (("mean", waits[0].ms_per_view), ("p75", waits[0].p75_ms), ("share", parts[0].share)):
            hits[name] += _count([figure.ci95], truth[name])[0]
            found[name].append(figure.value)
    biases = [f"{100 * (np.mean(found[name]) / truth[name] - 1):+.1f}" for name in ("p75", "share")]
    return [*(percent(count, known) for count in hits.values()), *biases]


def cover_recorded(views: int, rounds: int) -> Sequence[str]:
    """Returns the coverage of means of recorded funcs, and of those that few views run."""
    pages = load_population()
    counts = {"all": [0, 0], "rare": [0, 0]}
    for seed in range(rounds):
        page = pages[seed % len(pages)]
        size = page.js_us.size
        truth = np.bincount(page.columns[0], page.columns[1]) / 1_000 / size
        ran = np.bincount(page.columns[0], page.columns[1] > 0) / size
        for function in summarise(draw(np.random.default_rng([seed, views]), page, views), min_views=1).functions:
            ours = _count([function.ms_per_view.ci95], float(truth[function.func_id]))
            for name in ("all", "rare") if ran[function.func_id] < RARE else ("all",):
                counts[name][0] += ours[0]
                counts[name][1] += ours[1]
    return [percent(*counts["all"]), percent(*counts["rare"])]


def list_coverage(rounds: int) -> list[Table]:
    """Returns the tables of coverage."""
    rows = []
    for views in (10, 20, MIN_VIEWS, 50, 200):
        for sigma, zeros in ((1.0, 0.0), (1.0, 0.5), (1.0, 0.9), (1.5, 0.5)):
            setting = [str(views), f"{sigma:.1f}", f"{zeros:.0%}"]
            args = (views, sigma, zeros, rounds)
            rows += [
                Simulation(setting=["mean", *setting], run=cover_means, args=args),
                Simulation(setting=["share", *setting], run=cover_shares, args=args),
            ]
            if views >= 20:
                rows.append(Simulation(setting=["difference", *setting], run=cover_differences, args=args))
    rows.sort(key=lambda row: row.setting[0])
    return [
        Table(
            title="Coverage of 95 % intervals (means and shares need 25 views, differences 20 a side)",
            head=["of a", "views", "σ", "zeros", "covered, %"],
            rows=rows,
        ),
        Table(
            title="Recorded functions, means",
            head=["views", "covered, %", "run by fewer than 20 % of views"],
            rows=[
                Simulation(setting=[str(views)], run=cover_recorded, args=(views, rounds))
                for views in (MIN_VIEWS, 50, 100)
            ],
        ),
        Table(
            title="Unequal sample rates: means",
            head=["fast / slow", "views", "one rate unseen, %", "numbers given, %", "covered, %", "bias, %"],
            rows=[
                Simulation(
                    setting=[f"{rates[0]:g} / {rates[1]:g}", str(views)], run=cover_rates, args=(rates, views, rounds)
                )
                for rates in ((0.1, 1.0), (1.0, 0.1), (0.01, 1.0))
                for views in (50, 200, 1_000)
            ],
        ),
        Table(
            title="Few views whole, the slow waits of all: 95 % intervals",
            head=[
                "whole",
                "visits",
                "whole views: mean, %",
                "mean, %",
                "p75, %",
                "share, %",
                "bias p75, %",
                "bias share, %",
            ],
            rows=[
                Simulation(setting=[f"{whole:.0%}", str(visits)], run=cover_look_back, args=(whole, visits, rounds))
                for whole in (0.05, 0.1, 0.3)
                for visits in (1_000, 4_000)
            ],
        ),
    ]
