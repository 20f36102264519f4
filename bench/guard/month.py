"""Many projects over a month: a new release each week or two, unchanged or with one page that got slower."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from bench.guard.arrivals import Slower, receive
from bench.guard.watching import Watched, watch_release
from bench.statistics.population import Recorded, load_population
from bench.statistics.tables import percent
from profcore.stats.comparison import MIN_COMPARED_VIEWS
from profcore.stats.distributions import normal_quantile

DAYS: Final = 30
WEEK: Final = 7
# A quarter of the projects has a new release every two weeks.
SLOW_ONES: Final = 4
FACTORS: Final = (1.1, 1.25, 1.5, 2.0)
# Views of a project in a day: from small sites to middling ones, evenly on a scale of factors.
VIEWS_A_DAY: Final = (50.0, 2_000.0)
# A single look that errs as often as releases may be falsely called slower.
FALSE_ALARMS: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What became of one release of a project: of `page`, by `factor`; 1.0 and "" of an unchanged one."""

    factor: float
    page: str
    base_views: int
    views: int
    watched: Watched


def follow_project(path: Path, number: int, factor: float) -> list[Followed]:
    """Returns what became of the releases of a project in a month, each against the one before."""
    rng = np.random.default_rng([number, round(100 * factor)])
    apps = [list(group) for _, group in groupby(load_population(path), key=lambda page: page.app)]
    pages: Sequence[Recorded] = apps[number % len(apps)]
    views_a_day = float(np.exp(rng.uniform(*np.log(VIEWS_A_DAY))))
    shares = rng.dirichlet(np.full(len(pages), 3.0))
    days = WEEK if number % SLOW_ONES else 2 * WEEK
    found, before = [], receive(rng, pages, views_a_day=views_a_day, shares=shares, days=days)
    for _ in range(DAYS // days):
        page = int(rng.integers(len(pages)))
        slower = Slower(page=page, factor=factor) if factor != 1.0 else None
        head = receive(rng, pages, views_a_day=views_a_day, shares=shares, days=days, slower=slower)
        name = pages[page].name if slower else ""
        watched = watch_release(before, head, days=days, until=name or None)
        sizes = [int((side.page == page).sum()) for side in (before, head)]
        found.append(Followed(factor=factor, page=name, base_views=sizes[0], views=sizes[1], watched=watched))
        before = receive(rng, pages, views_a_day=views_a_day, shares=shares, days=days)
    return found


def follow_projects(path: Path, projects: int, factor: float, processes: int) -> list[Followed]:
    """Returns what became of the releases of all projects."""
    with ProcessPoolExecutor(processes) as pool:
        done = pool.map(follow_project, [path] * projects, range(projects), [factor] * projects, chunksize=4)
        return [each for project in done for each in project]


def describe_guard(path: Path, projects: int, processes: int) -> Iterator[str]:
    """Yields the lines of two tables: false alarms, and delays."""
    calm = follow_projects(path, projects, 1.0, processes)
    yield f"{projects} projects, {DAYS} days, a release every one or two weeks, {len(calm):,} unchanged releases"
    yield ""
    yield "| unchanged releases | looks (median) | ever suspected, % | falsely confirmed, % |"
    yield "|---:|---:|---:|---:|"
    counts = [sum(bool(each) for each in column) for column in (_of(calm, "suspected"), _of(calm, "confirmed"))]
    looks = median(each.watched.looks for each in calm)
    yield f"| {len(calm):,} | {looks:.0f} | {percent(counts[0], len(calm))} | {percent(counts[1], len(calm))} |"
    yield ""
    yield (
        "| slower by | releases | suspected, % | confirmed, % | another page confirmed, % "
        "| views of the page until suspected | until confirmed | least | delay |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for factor in FACTORS:
        yield _describe_factor(factor, follow_projects(path, projects, factor, processes))


def _of(followed: Sequence[Followed], name: str) -> list[dict[str | None, int]]:
    return [getattr(each.watched, name) for each in followed]


def _describe_factor(factor: float, followed: Sequence[Followed]) -> str:
    found = {
        name: [views.get(each.page) for each, views in zip(followed, _of(followed, name), strict=True)]
        for name in ("suspected", "confirmed")
    }
    others = sum(bool(set(each.watched.confirmed) - {each.page, None}) for each in followed)
    least = find_least(followed)
    seen = {name: [views for views in column if views is not None] for name, column in found.items()}
    cells = [
        f"{factor:g}×",
        f"{len(followed):,}",
        *(percent(len(seen[name]), len(followed)) for name in ("suspected", "confirmed")),
        percent(others, len(followed)),
        *(f"{median(column):,.0f}" if column else "–" for column in seen.values()),
        f"{median(least):,.0f}" if least else "–",
        f"{median(seen['confirmed']) / median(least):.1f}×" if least and seen["confirmed"] else "–",
    ]
    return f"| {' | '.join(cells)} |"


def find_least(followed: Sequence[Followed]) -> list[float]:
    """Returns the least views of the page that a confirmation can take, for each release.

    That is what one single look needs that knows when to look: as many views as let it find the slowdown in half of all
    cases, with one false alarm in a hundred; and at least as many as are compared at all. How strong the page's
    slowdown is for the rank test is taken from all releases with it: the mean of z / √information at their last looks.
    """
    strength: dict[str, list[float]] = {}
    for each in followed:
        if each.page in each.watched.scores:
            z, information = each.watched.scores[each.page]
            strength.setdefault(each.page, []).append(z / np.sqrt(information))
    needed = normal_quantile(1 - FALSE_ALARMS)
    least = []
    for each in followed:
        mean = float(np.mean(strength.get(each.page, [0.0])))
        information = (needed / mean) ** 2 if mean > 0 else np.inf
        if information < each.base_views:
            views = information * each.base_views / (each.base_views - information)
            least.append(max(float(views), float(MIN_COMPARED_VIEWS)))
    return least
