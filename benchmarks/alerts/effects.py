"""What a release may change on one page: a function that gets slower, is new, or whose time moves; or all of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from benchmarks.alerts.arrivals import Effect, PageViews, whole
from benchmarks.statistics.population import RELEASE, Population, Recorded, load_populations
from profcore.stats.views import FloatColumn
from tests.corpus import DATA

SLOWER_RELEASE: Final = "1.1.0"
# The sampler's interval: what is slower is seen in whole ticks.
TICK_US: Final = 10_000
# A function is chosen for a share if its own is at most this many times as large or small, and runs in enough views.
NEAR_SHARE: Final = 4.0
LEAST_SEEN: Final = 0.5
NEW_SIGMA: Final = 0.5
# Time moves from functions with this much of their page.
MOVED_SHARES: Final = (0.05, 0.4)
OTHER_FILE: Final = "src/new.ts"

Alter = Callable[[np.random.Generator, PageViews], PageViews]


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The recorded pages of both releases of a project, and what its release does to one page.

    `culprits` are the functions that a message may name. `new_files` has the files of new functions.
    """

    base: Sequence[Recorded]
    head: Sequence[Recorded]
    page: int | None = None
    culprits: frozenset[int] = frozenset()
    alter: Alter = lambda _rng, page: page
    new_files: Mapping[int, str] = field(default_factory=dict)


Choose = Callable[[int], Project]


def choose_unchanged(number: int, *, copies: int = 1) -> Project:
    """Returns a project without a change; with `copies` it has all recorded pages so often, with other functions."""
    population = load_populations()
    if copies == 1:
        pages = _apps(population)[number % 4]
        return Project(base=pages, head=pages)
    count = len(population.functions)
    pages = [
        replace(page, page=f"{page.page}{copy}", columns=(page.columns[0] + copy * count, *page.columns[1:]))
        for copy in range(copies)
        for page in population.releases[RELEASE]
    ]
    return Project(base=pages, head=pages)


def choose_recorded(number: int) -> Project:
    """Returns a project with one of the recorded regressions, on one page."""
    population = load_populations()
    regressions = json.loads((DATA / "corpus-regressions.json").read_text(encoding="utf-8"))
    affected = [(app["app"], page, app["selfTimeExpectedIn"]) for app in regressions for page in app["affectedPages"]]
    app, name, functions = affected[number % len(affected)]
    base = [page for page in population.releases[RELEASE] if page.app == app]
    later = {page.page: page for page in population.releases[SLOWER_RELEASE] if page.app == app}
    culprits = [
        at for at, function in enumerate(population.functions) if function.app == app and function.name in functions
    ]
    return Project(
        base=base,
        head=[later[page.page] if page.page == name else page for page in base],
        page=[page.page for page in base].index(name),
        culprits=frozenset(culprits),
    )


def choose_slower_page(number: int, *, factor: float) -> Project:
    """Returns a project of which one page takes so many times as long, in all functions."""
    pages = _apps(load_populations())[number % 4]
    return Project(
        base=pages,
        head=pages,
        page=number // 4 % len(pages),
        alter=lambda _rng, page: replace(page, factor=page.factor * factor),
    )


def choose_slower_function(number: int, *, share: float, factor: float) -> Project:
    """Returns a project of which one function, with this share of its page, takes so many times as long."""
    pages, page, func = _choose_function(number, (share / NEAR_SHARE, share * NEAR_SHARE))
    scaled = [other.scaled(func, share) if at == page else other for at, other in enumerate(pages)]

    def alter(rng: np.random.Generator, views: PageViews) -> PageViews:
        usual = _smooth(views.recorded, func)[views.picked] * views.factor
        more = rng.poisson(usual * (factor - 1) / TICK_US) * TICK_US
        return replace(views, effects=(Effect(func, more, np.zeros_like(more)),))

    return Project(base=scaled, head=scaled, page=page, culprits=frozenset([func]), alter=alter)


def choose_new_function(number: int, *, ms: float) -> Project:
    """Returns a project with a new function of so many ms per view, more on slow devices."""
    population = load_populations()
    pages, func = _apps(population)[number % 4], len(population.functions)

    def alter(rng: np.random.Generator, views: PageViews) -> PageViews:
        time = (views.recorded.js_us + views.recorded.hidden_us).astype(np.float64)
        speed = views.recorded.mean_of_class(time)[views.picked] / time.mean() * views.factor
        drawn = 1_000 * ms * speed * rng.lognormal(-(NEW_SIGMA**2) / 2, NEW_SIGMA, views.views)
        us = rng.poisson(drawn / TICK_US) * TICK_US
        return replace(views, effects=(Effect(func, us, np.zeros_like(us)),))

    page = number // 4 % len(pages)
    return Project(
        base=pages, head=pages, page=page, culprits=frozenset([func]), alter=alter, new_files={func: OTHER_FILE}
    )


def choose_refactored(number: int, *, part: float, is_new: bool, same_file: bool) -> Project:
    """Returns a project where a part of a function's time moves to a new or to another function of the page."""
    population = load_populations()
    pages, page, func = _choose_function(number, MOVED_SHARES)
    to = len(population.functions)
    file = population.functions[func].file
    new_files = {to: file if same_file else OTHER_FILE}
    if not is_new:
        seen = [at for at in pages[page].heaviest(1_000) if at != func]
        is_near = [(population.functions[at].file == file) == same_file for at in seen]
        to = next((at for at, near in zip(seen, is_near, strict=True) if near), seen[0])
        new_files = {}

    def alter(rng: np.random.Generator, views: PageViews) -> PageViews:
        own = [whole(views.recorded.cost(func, at)[views.picked] * views.factor) for at in (1, 2)]
        ticks = np.maximum(np.rint((own[0] + own[1]) / TICK_US).astype(np.int64), 1)
        share = rng.binomial(ticks, part) / ticks
        moved = [whole(column * share) for column in own]
        return replace(views, effects=(Effect(func, -moved[0], -moved[1]), Effect(to, moved[0], moved[1])))

    return Project(base=pages, head=pages, page=page, alter=alter, new_files=new_files)


def _apps(population: Population) -> list[list[Recorded]]:
    pages = population.releases[RELEASE]
    return [[page for page in pages if page.app == app] for app in sorted({page.app for page in pages})]


def _choose_function(number: int, shares: tuple[float, float]) -> tuple[list[Recorded], int, int]:
    """Returns the pages of a project, the number of one of them, and a function with a share of it in this range."""
    found = []
    for pages in _apps(load_populations()):
        for at, page in enumerate(pages):
            cost = np.bincount(page.columns[0], page.columns[1] + page.columns[2])
            share = cost / cost.sum()
            seen = np.bincount(page.columns[0]) / page.js_us.size
            fits = (share >= shares[0]) & (share <= shares[1]) & (seen >= LEAST_SEEN)
            found += [(pages, at, func) for func in np.flatnonzero(fits).tolist()]
    # Neighbours are of one page: numbers go from page to page.
    return found[int(number * 0.618034 % 1 * len(found))]


def _smooth(page: Recorded, func: int) -> FloatColumn:
    """Returns what a function usually takes in views like each recorded one: what it took is half chance."""
    cost = page.cost(func, 1, 2).astype(np.float64)
    return np.asarray((cost + page.mean_of_class(cost)) / 2)
