"""How often nothing is called a change, and how often a change is found."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.statistics.population import Change, Recorded, draw, draw_pages, load_population
from benchmarks.statistics.tables import Simulation, Table, percent
from profcore.stats.comparison import Comparison, compare
from profcore.stats.views import ViewSample

HEAVIEST = 10  # one of these funcs of a page is made slower
PAGE_SHIFT = 0.12
SLOWER_PHONES = 0.2


def _is_verdict(comparison: Comparison) -> bool:
    """Tells whether the whole time is called slower or faster."""
    whole = comparison.overall
    has_zero = whole is None or whole.ci95 is None or whole.ci95.low <= 0 <= whole.ci95.high
    return whole is not None and whole.is_significant and not has_zero


def _by_app(pages: Sequence[Recorded]) -> list[list[Recorded]]:
    apps: dict[str, list[Recorded]] = {}
    for page in pages:
        apps.setdefault(page.app, []).append(page)
    return [pages for pages in apps.values() if len(pages) > 1]


def _draw_nothing(
    rng: np.random.Generator, pages: Sequence[Recorded], kind: str, views: int, seed: int
) -> tuple[ViewSample, ViewSample]:
    """Returns two sides whose functions did not change, but whose mix may have."""
    if kind == "pages":
        apps = _by_app(pages)
        app = apps[seed % len(apps)]
        shares = np.full(len(app), 1 / len(app))
        moved = shares + np.array([PAGE_SHIFT, -PAGE_SHIFT, *([0] * (len(app) - 2))])
        return draw_pages(rng, app, shares.tolist(), views), draw_pages(rng, app, moved.tolist(), views)
    page = pages[seed % len(pages)]
    base = draw(rng, page, views)
    if kind == "devices":
        return base, draw(rng, page, views, slow=SLOWER_PHONES)
    if kind == "coarse":
        head = draw(rng, page, views, slow=SLOWER_PHONES)
        one = np.ones(views, dtype=np.int64)
        coarse = [replace(sample, columns=replace(sample.columns, device=one)) for sample in (base, head)]
        return coarse[0], coarse[1]
    if kind == "rates":
        return base, draw(rng, page, views, rates=(0.1, 1.0))
    return base, draw(rng, page, views)


def find_nothing(kind: str, views: int, by_page: bool, rounds: int) -> Sequence[str]:
    """Returns how many comparisons of nothing have a false function, and a false verdict."""
    pages = load_population()
    functions = verdicts = few = 0
    for seed in range(rounds):
        base, head = _draw_nothing(np.random.default_rng([seed, views]), pages, kind, views, seed)
        comparison = compare(base, head, by_page=by_page)
        few += comparison.is_too_few
        functions += any(function.is_significant for function in comparison.functions)
        verdicts += _is_verdict(comparison)
    return [percent(functions, rounds - few), percent(verdicts, rounds - few), percent(few, rounds)]


def find_change(views: int, factor: float, rounds: int) -> Sequence[str]:
    """Returns how often a slower func is found, and how often another one is."""
    pages = load_population()
    hits = other = 0
    for seed in range(rounds):
        rng = np.random.default_rng([seed, views, int(100 * factor)])
        page = pages[seed % len(pages)]
        func = page.heaviest(HEAVIEST)[rng.integers(HEAVIEST)]
        answer = compare(draw(rng, page, views), draw(rng, page, views, change=Change(func, factor)))
        hits += any(increase.func_id == func for increase in answer.increases)
        other += any(function.func_id != func and function.is_significant for function in answer.functions)
    return [percent(hits, rounds), percent(other, rounds)]


def list_discoveries(rounds: int) -> list[Table]:
    """Returns the tables of false alarms and of power."""
    settings = [
        ("nothing", "same", 100, True),
        ("nothing", "same", 400, True),
        ("20 points more slow phones", "devices", 100, True),
        ("the same, but one device class", "coarse", 100, True),
        ("12 points from page to page", "pages", 300, True),
        ("12 points from page to page", "pages", 2_000, True),
        ("the same, pages no strata", "pages", 300, False),
        ("fast devices recorded ten times less", "rates", 1_000, True),
        ("fast devices recorded ten times less", "rates", 2_000, True),
    ]
    return [
        Table(
            title="False alarms: functions did not change, but something else did",
            head=["what changed", "views", "any function, %", "the verdict, %", "too few, %"],
            rows=[
                Simulation(
                    setting=[name, str(views)],
                    run=find_nothing,
                    args=(kind, views, by_page, rounds if views < 1_000 else rounds // 2),
                )
                for name, kind, views, by_page in settings
            ],
        ),
        Table(
            title="Power: one of the ten heaviest functions is slower",
            head=["views", "times as slow", "found, %", "any other function, %"],
            rows=[
                Simulation(setting=[str(views), f"{factor:g}"], run=find_change, args=(views, factor, rounds))
                for views in (25, 50, 100, 200, 400)
                for factor in (1.25, 1.5, 2.0)
            ],
        ),
    ]
