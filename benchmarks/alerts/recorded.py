"""Slowdowns that were recorded, not multiplied: alerts releases whose slower page is another recording.

Two populations have them. The recorded apps have a release with a regression, 28 views per page. The recordings with
the browser's own profile next to them (`tests.acceptance.truth.scores`) have each page once per release and speed of
the processor, and say what really ran: the true factor. Its views are drawn from few recordings, so they get the spread
that views of one page and device have in the first population.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from statistics import median
from typing import Final

import numpy as np

from benchmarks.alerts.month import Followed, Traffic, describe_calm, describe_found, follow_month
from benchmarks.statistics.population import RELEASE, SIGMA, Recorded, load_population, read_population
from benchmarks.statistics.tables import PROCESSES
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.acceptance.truth.scores import COLLECTION, JS, read_recordings, read_truth
from tests.corpus import DATA

SLOWER_RELEASE: Final = "1.1.0"
# Of the logarithm of the time of views of one page and device class in the recorded apps: median 0.57 (2026-11-23).
TRUTH_SPREAD: Final = 0.6
DEVICE_OF_THROTTLE: Final = {1: 1, 4: 3}  # as in `benchmarks.statistics.population.CLASSES`: fast desktops, phones
SEED: Final = 3  # of its own, so that no month is one of the other tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """The pages of both releases, by app, and by which factor the slower ones really are, by page."""

    base: Mapping[str, Sequence[Recorded]]
    slower: Mapping[str, Mapping[int, Recorded]]
    factors: Mapping[str, float]
    spread: float


def read_truth_pages() -> tuple[dict[str, list[Recorded]], dict[tuple[str, str], float]]:
    """Returns the pages of the recordings by release, and the real µs of JS and garbage collection of each."""
    views: dict[tuple[str, str, str], list[tuple[int, int, int]]] = defaultdict(list)
    real_us: dict[tuple[str, str], float] = defaultdict(float)
    for recording in read_recordings():
        envelope = decode_envelope(json.dumps(recording["envelope"]).encode(), Limits())
        parts = fold_trace(envelope, page=recording["page"], funcs=FuncTable()).parts
        release, app, page = recording["release"], recording["app"], recording["page"]
        views[release, app, page].append((parts.js_us, parts.hidden_us, DEVICE_OF_THROTTLE[recording["throttle"]]))
        kinds = read_truth(recording).kinds
        real_us[release, f"{app}{page}"] += kinds[JS] + kinds[COLLECTION]
    pages: dict[str, list[Recorded]] = defaultdict(list)
    empty = np.zeros(0, dtype=np.int64)
    for (release, app, page), rows in sorted(views.items()):
        js_us, hidden_us, device = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        none = np.zeros_like(js_us)
        columns = (empty, empty, empty)  # only whole views are compared
        pages[release].append(
            Recorded(
                app=app,
                page=page,
                lengths=none,
                columns=columns,
                js_us=js_us,
                hidden_us=hidden_us,
                device=device,
                tag=none,
            )
        )
    return dict(pages), dict(real_us)


@cache
def load_recorded(has_truth: bool) -> Population:
    """Returns the population of the apps, or of the recordings with the truth; each process reads it once."""
    affected = {
        f"{app['app']}{page}"
        for app in json.loads((DATA / "corpus-regressions.json").read_text(encoding="utf-8"))
        for page in app["affectedPages"]
    }
    if not has_truth:
        base, head = load_population(), read_population(SLOWER_RELEASE)
        means = [{page.name: float((page.js_us + page.hidden_us).mean()) for page in side} for side in (base, head)]
        spread = SIGMA
    else:
        pages, real_us = read_truth_pages()
        base, head = pages[RELEASE], pages[SLOWER_RELEASE]
        means = [{page.name: real_us[release, page.name] for page in base} for release in (RELEASE, SLOWER_RELEASE)]
        spread = TRUTH_SPREAD
    apps = {app: list(pages) for app, pages in groupby(base, key=lambda page: page.app)}
    later = {page.name: page for page in head}
    return Population(
        base=apps,
        slower={
            app: {at: later[page.name] for at, page in enumerate(pages) if page.name in affected}
            for app, pages in apps.items()
        },
        factors={name: means[1][name] / means[0][name] for name in sorted(affected)},
        spread=spread,
    )


def follow_recorded(has_truth: bool, number: int, is_slower: bool) -> list[Followed]:
    """Returns what became of the releases of a project in a month: unchanged ones, or with a slower page each."""
    population = load_recorded(has_truth)
    app = sorted(population.base)[number % len(population.base)]
    slower = population.slower[app] if is_slower else {}
    traffic = Traffic(pages=population.base[app], slower=slower, spread=population.spread)
    rng = np.random.default_rng([SEED, number, int(is_slower), int(has_truth)])
    return follow_month(rng, traffic, number)


def follow_all(has_truth: bool, projects: int, is_slower: bool) -> list[Followed]:
    """Returns what became of the releases of all projects."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        given = [has_truth] * projects, range(projects), [is_slower] * projects
        return [release for project in pool.map(follow_recorded, *given, chunksize=4) for release in project]


def describe_recorded(projects: int, calm: int) -> Iterator[str]:
    """Yields the lines of tables of both populations: false alarms of `calm` projects, and delays by page."""
    for name, has_truth in (("the apps' own regressions", False), ("recordings with the truth", True)):
        yield f"{name}: {projects} projects"
        yield ""
        yield from describe_calm(follow_all(has_truth, max(projects, calm), False))
        yield ""
        population = load_recorded(has_truth)
        followed = follow_all(has_truth, projects, True)
        yield (
            "| page | slower by | releases | suspected, % | confirmed, % | another page confirmed, % "
            "| views of the page until suspected | until confirmed |"
        )
        yield "|---|---:|---:|---:|---:|---:|---:|---:|"
        for page, factor in population.factors.items():
            releases = [release for release in followed if release.page == page]
            yield f"| {page} {describe_found(f'{factor:.2f}×', releases)}"
        yield ""
        sizes = [recorded.js_us.size for pages in population.base.values() for recorded in pages]
        yield f"{median(sizes):.0f} recordings per page and release"
        yield ""
