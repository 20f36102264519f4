"""Releases of many projects, unchanged or with one change: how often, how soon and of what the alert would tell."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from benchmarks.alerts.arrivals import VISITORS, Arrived, Traffic, draw_days, receive
from benchmarks.alerts.effects import (
    Choose,
    Project,
    choose_new_function,
    choose_recorded,
    choose_refactored,
    choose_slower_function,
    choose_slower_page,
    choose_unchanged,
)
from benchmarks.alerts.evaluating import Told, Watched, alert_release, describe_code, judge_sides
from benchmarks.statistics.population import load_populations
from benchmarks.statistics.tables import PROCESSES, percent
from profcore.alerts.evidence import SubjectName
from profcore.alerts.usage import is_short_lived
from profcore.stats.estimates import wilson_interval

WEEK: Final = 7
STAGED_DAYS: Final = 2  # of a release that half of the visitors get, compared with two weeks of the one before
# A quarter of the projects has a new release every two weeks.
SLOW_ONES: Final = 4
# In a table of single looks: so many views of each page and side, at the bound of a single look.
LOOK_VIEWS: Final = 300
LOOK_BOUND: Final = 0.05


class Row(NamedTuple):
    """One row of a table: the change of its releases, and how their views come.

    With `short`, a release of so many views comes first and has the change, which the next one keeps. With `staged`
    the base goes on while the head runs.
    """

    name: str
    choose: Choose
    traffic: Traffic = VISITORS
    short: int | None = None
    staged: bool = False

    def start_random(self, number: int) -> np.random.Generator:
        """Returns the source of chance of a release. Rows that differ only behind a semicolon have the same views."""
        return np.random.default_rng([number, *self.name.partition(";")[0].encode()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What became of one release; `page` and `culprits` are what its change is of."""

    page: str | None
    culprits: frozenset[int]
    watched: Watched

    def find(self, told: Mapping[SubjectName, Told]) -> Told | None:
        """Returns the first message on the change: of its page, or its function; of an unchanged release any."""
        every = self.page is None
        return next((it for it in told.values() if every or it.page == self.page or it.func in self.culprits), None)

    @property
    def has_other(self) -> bool:
        """Returns whether another page is confirmed, which nothing changed."""
        told = self.watched.confirmed.values()
        return any(what.page not in (self.page, None) and what.func not in self.culprits for what in told)


APP: Final = Traffic(sessions="app", visitor_sigma=0.4)
SHOP: Final = Traffic(sessions="shop", visitor_sigma=0.4)
UPDATE: Final = Traffic(updated=(0.1, 0.9), browser=1.1)
DAYS: Final = Traffic(day_sigma=0.1)
SLOW_FUNCTION: Final = partial(choose_slower_function, share=0.05, factor=1.5)
SLOW_PAGE: Final = partial(choose_slower_page, factor=1.5)
MOVE: Final = partial(choose_refactored, part=0.5, is_new=True, same_file=True)

TABLES: Final[dict[str, Sequence[Row]]] = {
    "slower": [
        Row("recorded", choose_recorded),
        Row("2 % of its page × 2", partial(choose_slower_function, share=0.02, factor=2.0)),
        Row("5 % × 1.5", SLOW_FUNCTION),
        Row("20 % × 1.5", partial(choose_slower_function, share=0.2, factor=1.5)),
        Row("new, 20 ms", partial(choose_new_function, ms=20.0)),
        Row("page × 1.5", SLOW_PAGE),
        Row("page × 1.25", partial(choose_slower_page, factor=1.25)),
        Row("5 % × 1.5, sessions of a shop", SLOW_FUNCTION, SHOP),
        Row("page × 1.5, sessions of an app", SLOW_PAGE, APP),
        Row("page × 1.5, sessions of an app; named", SLOW_PAGE, replace(APP, names_sessions=True)),
    ],
    "unchanged": [
        Row("independent views", choose_unchanged),
        Row("sessions of a shop", choose_unchanged, SHOP),
        Row("sessions of an app", choose_unchanged, APP),
        Row("days differ by 5 %", choose_unchanged, Traffic(day_sigma=0.05)),
        Row("sessions of an app; named", choose_unchanged, replace(APP, names_sessions=True)),
    ],
    "pages": [Row("40 pages", partial(choose_unchanged, copies=4), Traffic(views_a_day=(500.0, 20_000.0)))],
    "visitors": [
        Row("cold caches 30 → 90 %", choose_unchanged, Traffic(cold=(0.3, 0.9))),
        Row("browser 3 % slower, 10 → 90 %", choose_unchanged, Traffic(updated=(0.1, 0.9), browser=1.03)),
        Row("browser 10 % slower, 10 → 90 %", choose_unchanged, UPDATE),
        Row("a monitor stops, 30 → 5 %", choose_unchanged, Traffic(monitor=(0.3, 0.05))),
    ],
    "refactored": [
        Row("half to a new one", MOVE),
        Row("all to a new one", partial(MOVE, part=1.0)),
        Row("half, same file", partial(MOVE, is_new=False)),
        Row("half, other file", partial(MOVE, is_new=False, same_file=False)),
    ],
    "hotfixes": [
        Row(f"page × {factor:g}, {views} views", partial(choose_slower_page, factor=factor), short=views)
        for views in (60, 200, 600)
        for factor in (1.5, 2.0)
    ],
}
# Of one look only. Of the unchanged ones, one in twenty may seem slower.
LOOKS: Final = (
    *TABLES["slower"][:5],
    *TABLES["refactored"],
    Row("unchanged", choose_unchanged),
    Row("unchanged, browser 10 % slower", choose_unchanged, UPDATE),
    Row("unchanged, days differ by 10 %", choose_unchanged, DAYS),
    Row("unchanged, days differ by 10 %, staged", choose_unchanged, DAYS, staged=True),
    Row("5 % × 1.5, days differ by 10 %, staged", SLOW_FUNCTION, DAYS, staged=True),
)
STATES: Final = ("suspected", "confirmed")
HEAD: Final = (
    "releases | suspected, % | confirmed, % | right function, % | another page confirmed, % | views until suspected "
    "| until confirmed | looks"
)


def follow(row: Row, number: int) -> Followed:
    """Returns what became of one release of a row, by its number."""
    rng = row.start_random(number)
    project = row.choose(number)
    views_a_day = float(np.exp(rng.uniform(*np.log(row.traffic.views_a_day))))
    days = WEEK if number % SLOW_ONES else 2 * WEEK
    shares = rng.dirichlet(np.full(len(project.base), 3.0))
    arrive = partial(receive, rng, views_a_day=views_a_day, shares=shares, days=days, traffic=row.traffic)
    base = arrive(project.base)
    heads = [alter(rng, project, arrive(project.head, is_head=True)) for _ in range(1 if row.short is None else 2)]
    pairs = [(base, heads[0])]
    if row.short is not None:
        hours = np.sort(np.concatenate([page.hour for page in heads[1].pages]))
        hotfixed = heads[1].until(int(hours[min(row.short, hours.size - 1)]) + 1)
        pairs = [(base, hotfixed), (hotfixed, heads[0])]
        if is_short_lived(hotfixed.views, base.views):
            pairs.append((base, heads[0]))
    name = None if project.page is None else project.base[project.page].name
    code = describe_code(heads[0], load_populations().functions, project.new_files)
    watched = Watched()
    for before, after in pairs:
        of_pair = alert_release(before, after, code, days=days, until=name)
        watched.looks += of_pair.looks
        watched.suspected.update(of_pair.suspected)
        watched.confirmed.update(of_pair.confirmed)
    return Followed(page=name, culprits=project.culprits, watched=watched)


def alter(rng: np.random.Generator, project: Project, arrived: Arrived) -> Arrived:
    """Returns the views of a release with its change."""
    return Arrived([project.alter(rng, page) if at == project.page else page for at, page in enumerate(arrived.pages)])


def describe(name: str, releases: int) -> Iterator[str]:
    """Yields the lines of a table, row by row."""
    yield f"| {name} | {HEAD} |"
    yield f"|---|{'---:|' * (HEAD.count('|') + 1)}"
    for row in TABLES[name]:
        with ProcessPoolExecutor(PROCESSES) as pool:
            followed = list(pool.map(partial(follow, row), range(releases), chunksize=2))
        yield f"| {row.name} | {' | '.join(describe_row(followed))} |"


def describe_row(followed: Sequence[Followed]) -> list[str]:
    """Returns the figures of a row."""
    count = len(followed)
    columns = [[release.find(getattr(release.watched, state)) for release in followed] for state in STATES]
    suspected, confirmed = ([what for what in column if what is not None] for column in columns)
    low, high = (100 * float(end[0]) for end in wilson_interval(np.array([len(confirmed) / count]), count))
    culprits = [release.culprits for release, what in zip(followed, columns[1], strict=True) if what is not None]
    right = [what.func in names for what, names in zip(confirmed, culprits, strict=True) if names]
    return [
        f"{count}",
        percent(len(suspected), count),
        f"{percent(len(confirmed), count)} ({low:.1f} to {high:.1f})",
        percent(sum(right), len(right)),
        percent(sum(release.has_other for release in followed), count) if followed[0].page else "–",
        *(f"{median(what.views for what in column):,.0f}" if column else "–" for column in (suspected, confirmed)),
        f"{median(release.watched.looks for release in followed):.0f}",
    ]


def describe_sentences(releases: int) -> Iterator[str]:
    """Yields a table of single looks at 300 views of each page: whether the first sentence names page and function."""
    yield "| one look at 300 views | releases | page and function named, % | anything slower, % |"
    yield "|---|---:|---:|---:|"
    for row in LOOKS:
        with ProcessPoolExecutor(PROCESSES) as pool:
            looks = list(pool.map(partial(look_once, row), range(releases), chunksize=2))
        named, slower = (sum(column) for column in zip(*looks, strict=True))
        yield f"| {row.name} | {releases} | {percent(named, releases)} | {percent(slower, releases)} |"


def look_once(row: Row, number: int) -> tuple[bool, bool]:
    """Returns whether one look names the page and the function that changed, and whether anything is slower."""
    rng = row.start_random(number)
    project = row.choose(number)
    count = len(project.base)
    days = STAGED_DAYS if row.staged else WEEK
    views_a_day, shares = LOOK_VIEWS * count / (days - 0.5), np.full(count, 1 / count)
    of_days = draw_days(rng, row.traffic, 2 * WEEK) if row.staged else None
    arrive = partial(receive, rng, views_a_day=views_a_day, shares=shares, traffic=row.traffic, of_days=of_days)
    base = arrive(project.base, days=2 * WEEK if row.staged else days)
    head = alter(rng, project, arrive(project.head, days=days, is_head=True))
    code = describe_code(head, load_populations().functions, project.new_files)
    judgement = judge_sides(base, head, [page.sample(base.most) for page in base.pages], code, LOOK_BOUND)
    assert judgement is not None
    leading, function = judgement.leading, judgement.leading_function
    first = function or next(iter(leading.functions.slower), None)
    is_page = project.page is not None and leading.page == project.base[project.page].name
    is_named = is_page and judgement.state == "slower" and first is not None and first.func_id in project.culprits
    return is_named, judgement.state == "slower"
