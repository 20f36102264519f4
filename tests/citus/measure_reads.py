"""What each kind of read costs on Citus beside plain PostgreSQL. Asserts nothing.

    FIELDFLAME_TEST_VIEWS=600 ./test tests/citus/measure_reads.py -s

Both databases hold the same rows, and are asked in turns. Nothing is cached between two queries. On a busy
machine the least tells more than the median.
"""

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from aggregate.jobs.runs import claim_job
from aggregate.selectors.project.summaries import select_project_days, select_project_summaries
from aggregate.selectors.search.function_hits import find_functions
from aggregate.sourcemaps.queue import claim_script
from profcore.caching import clear_caches
from tests.citus.asked_site import API, BASE, HEAD, PAGES, ask, make_site
from tests.citus.cluster import open_database
from tests.citus.twins import asking, copy_database

pytestmark = [pytest.mark.django_db(transaction=True)]
TURNS: Final = 5
ROUNDS: Final = 5
ADDRESSES: Final = {
    "state of the queue": f"{API}status",
    "pages of a release": f"{API}pages?release={HEAD}",
    "overview by day and release": f"{API}overview",
    "top functions of a release": f"{API}functions?release={HEAD}",
    "functions by package": f"{API}functions?group_by=package",
    "call tree of a release": f"{API}calltree?release={HEAD}",
    "compare two releases": f"{API}compare?base_release={BASE}&head_release={HEAD}",
    "verdict": f"{API}verdict",
    "views, the slowest first": f"{API}views",
    "functions of one browser, views in detail": f"{API}functions?func_over=1:5",
    "export for the Firefox Profiler": f"{API}profile?format=firefox",
    "page: overview": PAGES,
    "page: list of projects": "/projects/",
    "page: settings": f"{PAGES}settings/",
}


def test_measure() -> None:
    site = make_site()
    number = site.project.pk
    since = datetime.now(UTC) - timedelta(days=28)
    queries: dict[str, Callable[[], object]] = {
        name: lambda address=address: ask(site.client, address)  # type: ignore[misc]
        for name, address in ADDRESSES.items()
    }
    queries["search over projects: functions by name"] = lambda: find_functions([number], "draw", limit=8)
    queries["summaries of projects"] = lambda: select_project_summaries([number])
    queries["days of projects"] = lambda: select_project_days([number], since)
    queries["next job, none waits"] = claim_job
    queries["next script, none waits"] = claim_script
    taken: dict[tuple[str, bool], list[float]] = {}
    statements: dict[str, int] = {}
    with open_database() as url:
        copy_database(url)
        for _ in range(TURNS):
            for on_citus in (False, True):
                with asking(url) if on_citus else nullcontext():
                    for name, read in queries.items():
                        read()
                        for _ in range(ROUNDS):
                            clear_caches()
                            begin = time.perf_counter()
                            read()
                            taken.setdefault((name, on_citus), []).append(1000 * (time.perf_counter() - begin))
                        with CaptureQueriesContext(connection) as captured:
                            read()
                        statements[name] = len(captured)
    print("\n| question | statements | plain: least, p50 | Citus: least, p50 | ratio |")
    print("|---|---|---|---|---|")
    for name in queries:
        plain, spread = taken[name, False], taken[name, True]
        cells = [f"{min(times):.1f}, {median(times):.1f} ms" for times in (plain, spread)]
        print(f"| {name} | {statements[name]} | {' | '.join(cells)} | {min(spread) / min(plain):.1f} |")
    print(os.uname().machine, datetime.now(UTC).date())
