"""Measures the queries of the dashboard and of the read API, over many page views."""

import math
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from aggregate.selectors.exports.requests import ExportQuery, resolve_export, select_export
from aggregate.selectors.exports.slice_export import fingerprint_slice
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.project.page_metrics import last_hours, select_page_metrics
from aggregate.selectors.project.pages import select_pages, select_releases
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import Slice, SliceQuery, resolve_slice
from aggregate.selectors.statistics.comparisons import compare_slices, select_summary
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from aggregate.selectors.verdict.breakdown import select_breakdown
from aggregate.selectors.verdict.verdict import Verdict, select_verdict
from alerts.auto_resolve.usage import is_older, measure_best, measure_span
from alerts.new_third_parties.previews import preview_new_third_parties
from alerts.queries import AlertQuery
from benchmarks.shared.fill import LAST_RELEASE, PRIOR_RELEASE, TOP_PAGE, fill_project
from benchmarks.shared.here import add_here, run_here
from ops.supervisor.running import run_stack
from profcore.formats.registry import EXPORTERS
from profcore.stats.comparison import FALSE_DISCOVERIES
from profcore.times import DAY, start_of_day
from projects.models import Project

SLICE_FORMATS = [name for name, exporter in EXPORTERS.items() if "slice" in exporter.kinds]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One query's times in ms over the rounds; the first one separately, as nothing is cached then."""

    question: str
    p50_ms: float
    p95_ms: float
    first_ms: float


def bench_queries(views: int, rounds: int) -> tuple[int, list[QueryResult]]:
    """Fills a new project of this database with about `views` views, and returns their number and the results."""
    project, written = fill_project(f"bench-{views}", views)

    def sliced(release: Sequence[str] = (), page: Sequence[str] = ()) -> Slice:
        return resolve_slice(project.pk, SliceQuery(release=release, page=page))

    queries: dict[str, Callable[[], object]] = {
        "top functions of the busiest page, one release": lambda: select_functions(
            sliced([LAST_RELEASE], [TOP_PAGE]), limit=100
        ),
        "top functions of the busiest page, all releases": lambda: select_functions(sliced(page=[TOP_PAGE]), limit=100),
        "the same of one release, with intervals and percentiles": lambda: select_estimated(
            sliced([LAST_RELEASE], [TOP_PAGE]), TableQuery(limit=100)
        ),
        "the same of all releases, with intervals and percentiles": lambda: select_estimated(
            sliced(page=[TOP_PAGE]), TableQuery(limit=100)
        ),
        "functions of all pages": lambda: select_functions(sliced(), limit=100),
        "functions of all pages, with intervals and percentiles": lambda: select_estimated(
            sliced(), TableQuery(limit=100)
        ),
        "pages of one release": lambda: select_pages(sliced([LAST_RELEASE])),
        "pages of all releases": lambda: select_pages(sliced()),
        "compare the last two releases on it": lambda: compare_slices(
            sliced([PRIOR_RELEASE], [TOP_PAGE]), sliced([LAST_RELEASE], [TOP_PAGE])
        ),
        "compare the last two releases on all pages": lambda: compare_slices(
            sliced([PRIOR_RELEASE]), sliced([LAST_RELEASE])
        ),
        "verdict on the last two releases": lambda: _select_verdict(sliced([PRIOR_RELEASE]), sliced([LAST_RELEASE])),
        "the same change by device class and browser": lambda: select_breakdown(
            sliced([PRIOR_RELEASE]), sliced([LAST_RELEASE]), bound=FALSE_DISCOVERIES
        ),
        "summary of it, one release": lambda: select_summary(sliced([LAST_RELEASE], [TOP_PAGE])),
        "overview by release": lambda: select_overview(sliced(), ["release"], limit=100),
        "overview by day and release": lambda: select_overview(sliced(), ["day", "release"], limit=10_000),
        "overview by page, release and day": lambda: select_overview(
            sliced(), ["page", "release", "day"], limit=10_000
        ),
        "metrics of the last 24 hours, computed": lambda: select_page_metrics(last_day(project)),
        "the same, nothing folded since": lambda: fingerprint_slice(last_day(project)),
        "preview of an alert on new third parties, 30 days": lambda: preview_new_third_parties(
            project.pk, AlertQuery(measure="time", by="party", limit=5.0), datetime.now(UTC)
        ),
        "was the release before rolled back": lambda: ask_about_rollback(project),
        "state of the queue": lambda: select_status(project.pk),
        **{f"export of everything: {name}": partial(write_export, project, name) for name in SLICE_FORMATS},
    }
    return written, [_measure(name, ask, rounds) for name, ask in queries.items()]


def write_export(project: Project, name: str) -> int:
    """Writes an export of a whole project in one format, and returns its bytes."""
    exporter = EXPORTERS[name]
    asked = resolve_export(resolve_slice(project.pk, SliceQuery()), exporter, ExportQuery())
    return sum(map(len, exporter.write(select_export(asked, project=project.name, link=None))))


def _select_verdict(base: Slice, head: Slice) -> Verdict:
    return select_verdict(base, head, now=datetime.now(UTC))


def last_day(project: Project) -> Slice:
    """Returns the window of a project's metrics."""
    return last_hours(project.pk, 24, datetime.now(UTC))


def ask_about_rollback(project: Project) -> object:
    """Asks both statements of `alerts.bases.was_gone`, which rarely needs the second one."""
    known = select_releases(project.pk)
    prior = next(row for row in known if row.release == PRIOR_RELEASE)
    older = [row.release for row in known if is_older(row, prior)]
    until = start_of_day(datetime.now(UTC)) + DAY
    span = (until - 2 * DAY, until)
    return measure_span(project.pk, prior, older, [], span), measure_best(project.pk, prior, older, [], span[0])


def _measure(question: str, ask: Callable[[], object], rounds: int) -> QueryResult:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1000)
    first_ms = times[0]
    times.sort()
    return QueryResult(question, times[len(times) // 2], times[math.ceil(len(times) * 0.95) - 1], first_ms)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--views", type=int, default=10_000, help="page views of the project (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each question (default: %(default)s)")
    add_here(parser)
    options = parser.parse_args()
    if not options.here:
        with run_stack() as stack:
            arguments = ("--views", str(options.views), "--rounds", str(options.rounds))
            print(run_here(stack.store_environment, "queries", *arguments))
        return
    views, results = bench_queries(options.views, options.rounds)
    print(f"{views:,} views")
    for result in results:
        times = f"p50 {result.p50_ms:8.1f} ms   p95 {result.p95_ms:8.1f} ms   first {result.first_ms:8.1f} ms"
        print(f"  {result.question:60} {times}")
