"""Many projects over a month: a new release each week or two, unchanged or with one page that got slower."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import Final

import numpy as np

from benchmarks.alerts.arrivals import Arrived, Slower, receive
from benchmarks.alerts.evaluating import Watched, alert_release
from benchmarks.statistics.population import SIGMA, Recorded, load_population
from benchmarks.statistics.tables import PROCESSES, percent
from profcore.stats.estimates import wilson_interval

DAYS: Final = 30
WEEK: Final = 7
# A quarter of the projects has a new release every two weeks.
SLOW_ONES: Final = 4
FACTORS: Final = (1.1, 1.25, 1.5, 2.0)
# Views of a project in a day: from small sites to middling ones, evenly on a scale of factors.
VIEWS_A_DAY: Final = (50.0, 2_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What became of one release of a project: of `page`, by `factor`; 1.0 and "" of an unchanged one."""

    factor: float
    page: str
    base_views: int
    views: int
    watched: Watched


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What a project's views are drawn from: its pages, and by how much views of one recording differ.

    A slower page takes `factor` times as long; or, with `slower`, it is one of these, by number, as recorded.
    """

    pages: Sequence[Recorded]
    factor: float = 1.0
    slower: Mapping[int, Recorded] = field(default_factory=dict)
    spread: float = SIGMA
    accepts: bool = False  # whoever is told of a slowdown accepts it

    def choose(self, rng: np.random.Generator) -> Slower | None:
        """Returns the page that gets slower in a release; None if none does."""
        if self.slower:
            page = int(rng.choice(sorted(self.slower)))
            return Slower(page=page, recorded=self.slower[page])
        page = int(rng.integers(len(self.pages)))
        return Slower(page=page, factor=self.factor) if self.factor != 1.0 else None


def follow_project(number: int, factor: float, accepts: bool = False) -> list[Followed]:
    """Returns what became of the releases of a project in a month, each against the one before."""
    rng = np.random.default_rng([number, round(100 * factor)])
    apps = [list(group) for _, group in groupby(load_population(), key=lambda page: page.app)]
    return follow_month(rng, Traffic(pages=apps[number % len(apps)], factor=factor, accepts=accepts), number)


def follow_month(rng: np.random.Generator, traffic: Traffic, number: int) -> list[Followed]:
    """Returns what became of the releases of a project, by its number, in a month."""
    views_a_day = float(np.exp(rng.uniform(*np.log(VIEWS_A_DAY))))
    shares = rng.dirichlet(np.full(len(traffic.pages), 3.0))
    days = WEEK if number % SLOW_ONES else 2 * WEEK

    def arrive(slower: Slower | None = None) -> Arrived:
        return receive(
            rng,
            traffic.pages,
            views_a_day=views_a_day,
            shares=shares,
            days=days,
            slower=slower,
            spread=traffic.spread,
        )

    followed, before = [], arrive()
    for _ in range(DAYS // days):
        slower = traffic.choose(rng)
        head = arrive(slower)
        page = slower.page if slower else 0
        name = traffic.pages[page].name if slower else ""
        until = None if traffic.accepts else name or None
        watched = alert_release(before, head, days=days, until=until, accepts=traffic.accepts)
        sizes = [int((side.page == page).sum()) for side in (before, head)]
        followed.append(
            Followed(factor=traffic.factor, page=name, base_views=sizes[0], views=sizes[1], watched=watched)
        )
        before = arrive()
    return followed


def follow_projects(projects: int, factor: float, *, accepts: bool = False) -> list[Followed]:
    """Returns what became of the releases of all projects."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        given = range(projects), [factor] * projects, [accepts] * projects
        done = pool.map(follow_project, *given, chunksize=4)
        return [release for project in done for release in project]


def describe_calm(calm: Sequence[Followed]) -> Iterator[str]:
    """Yields the table of false alarms. Their interval is Wilson's."""
    yield "| unchanged releases | looks (median) | ever suspected, % | falsely confirmed, % | 95 % interval |"
    yield "|---:|---:|---:|---:|---:|"
    counts = [sum(bool(pages) for pages in column) for column in (_of(calm, "suspected"), _of(calm, "confirmed"))]
    looks = median(release.watched.looks for release in calm)
    low, high = wilson_interval(np.array([counts[1] / len(calm)]), len(calm))
    yield (
        f"| {len(calm):,} | {looks:.0f} | {percent(counts[0], len(calm))} | {100 * counts[1] / len(calm):.2f} "
        f"({counts[1]}) | {100 * low[0]:.2f} to {100 * high[0]:.2f} |"
    )


def describe_alerts(projects: int, calm_projects: int) -> Iterator[str]:
    """Yields the lines of two tables: false alarms of so many projects, and delays."""
    calm = follow_projects(max(projects, calm_projects), 1.0)
    yield f"{max(projects, calm_projects)} projects, {DAYS} days, a release every one or two weeks"
    yield ""
    yield from describe_calm(calm)
    yield ""
    yield (
        "| slower by | releases | suspected, % | confirmed, % | another page confirmed, % "
        "| views of the page until suspected | until confirmed |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for factor in FACTORS:
        yield describe_found(f"{factor:g}×", follow_projects(projects, factor))


def _of(followed: Sequence[Followed], name: str) -> list[dict[str | None, int]]:
    return [getattr(release.watched, name) for release in followed]


def describe_found(name: str, followed: Sequence[Followed]) -> str:
    """Returns the row of some releases with a slower page: how many were found, and after how many views."""
    columns = {
        state: [views.get(release.page) for release, views in zip(followed, _of(followed, state), strict=True)]
        for state in ("suspected", "confirmed")
    }
    others = sum(bool(set(release.watched.confirmed) - {release.page, None}) for release in followed)
    seen = {state: [views for views in column if views is not None] for state, column in columns.items()}
    cells = [
        name,
        f"{len(followed):,}",
        *(percent(len(seen[state]), len(followed)) for state in ("suspected", "confirmed")),
        percent(others, len(followed)),
        *(f"{median(column):,.0f}" if column else "–" for column in seen.values()),
    ]
    return f"| {' | '.join(cells)} |"
