"""How many statements each page, endpoint and selector sends: cold, and again with its process's caches filled.

Each count is independent of the number of rows: it is the same for one page, function, member … and for three.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from aggregate.doctor.server import work_checks
from aggregate.doctor.server.examining import examine_server
from aggregate.models import Func
from aggregate.selectors.code.sites import select_sites
from aggregate.selectors.exports.requests import ExportQuery, resolve_export, select_export
from aggregate.selectors.exports.slice_export import fingerprint_slice, select_slice_export
from aggregate.selectors.functions.breakdown import select_function_breakdown
from aggregate.selectors.functions.calls import select_calls
from aggregate.selectors.functions.groups import select_function_table
from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.page_views.picked_views import select_views
from aggregate.selectors.page_views.view_facts import select_listed
from aggregate.selectors.page_views.view_lists import ListQuery, select_view_page
from aggregate.selectors.project.pages import select_pages, select_releases
from aggregate.selectors.project.summaries import select_project_summaries, select_status
from aggregate.selectors.project.trends import estimate_trend, sum_trend
from aggregate.selectors.search.function_hits import find_functions
from aggregate.selectors.slice.slices import Slice, SliceQuery, resolve_slice
from aggregate.selectors.statistics.estimates import TableQuery
from aggregate.selectors.verdict.breakdown import select_breakdown
from aggregate.selectors.verdict.page_changes import PageComparer, sum_pages
from alerts.auto_resolve.usage import follow_usage
from alerts.bases import choose_base
from alerts.models import AlertRule
from dashboard.pages.function.view import PARTS
from dashboard.web.cache import answer_table
from ingest.endpoint.admission import ADMISSION
from profcore.formats.registry import EXPORTERS
from profcore.trace.dimensions import DIMENSIONS
from projects.key_cache import find_key
from projects.models import Project
from projects.tokens import create_token, note_use
from tests.dashboard.conftest import VIEW_ID
from tests.dashboard.web.addresses import (
    ADMIN_ADDRESSES,
    API,
    API_ADDRESSES,
    PAGE_ADDRESSES,
    PROJECT,
    PROJECT_QUESTION_ADDRESSES,
    TRACE,
)
from tests.dashboard.web.counted_site import BASE, HEAD, grow, make_counted_site, report_absence
from tests.envelopes import view_id_of
from tests.runner.caches import clear_caches

SIDES: Final = f"?base_release={BASE}&head_release={HEAD}"
FUNCTIONS: Final = f"{PROJECT}functions/?page=/p0"
ADMINISTRATION: Final = ("/users/", "/audit/")
# Besides those of tests/dashboard/web/addresses.py.
MORE_ADDRESSES: Final = (
    *(f"{PROJECT}functions/1/parts/{part}/{SIDES}" for part in PARTS),
    f"{API}views/{VIEW_ID}/timeline",
    f"{API}metrics?hours=48",  # views began yesterday: the usual window has them only on some hours of the day
    "/projects/",
    "/search/?find=draw",
    *ADMINISTRATION,
    "/metrics",
)
# An address without a row takes at most so many statements.
MOST_WITHOUT_ROW: Final = 6
Counts = tuple[int, int]
ADDRESSES: Final[dict[str, Counts]] = {
    "api/metrics": (7, 5),
    "api/vitals": (10, 3),
    "api/savings": (13, 4),
    "api/forced-layout": (10, 3),
    "api/functions": (7, 4),
    "api/compare": (11, 4),
    "api/verdict": (16, 7),
    "api/profile": (7, 6),
    "api/functions/ID/callers": (7, 6),
    "api/functions/ID/callees": (7, 6),
    "api/quality": (14, 14),
    "api/hangs": (10, 7),
    "project/": (27, 18),
    "project/changes/": (24, 10),
    "project/change-parts/": (21, 8),
    "project/change-forced/": (29, 8),
    "project/last-change/": (17, 8),
    "project/functions/": (14, 11),
    "project/functions/table/": (12, 6),
    "project/functions/ID/": (10, 9),
    "project/functions/ID/parts/cost/": (10, 9),
    "project/flame-graph/": (12, 11),
    "project/compare/": (10, 9),
    "project/compare/table/": (22, 9),
    "project/compare/csv/": (13, 7),
    "project/vitals/": (9, 8),
    "project/vitals/windows/": (14, 6),
    "project/vitals/all/": (7, 7),
    "project/savings/": (9, 8),
    "project/savings/table/": (19, 7),
    "project/views/": (9, 8),
    "project/views/list/": (11, 10),
    "project/views/ID/": (8, 7),
    "project/views/ID/functions/": (13, 12),
    "project/hangs/": (17, 14),
    "project/quality/": (21, 20),
    "project/quality/sampled/": (8, 7),
    "project/search/": (12, 12),
    "project/search/results/": (12, 12),
    "project/alerts/": (8, 8),
    "project/settings/alerts/": (7, 7),
    "project/settings/retention/": (12, 12),
    "project/functions/ID/parts/savings/": (18, 9),
    "project/functions/ID/parts/trend/": (11, 10),
    "project/functions/ID/parts/step/": (13, 12),
    "project/functions/ID/parts/relatives/": (7, 6),
    "project/functions/ID/parts/pages/": (9, 8),
    "project/functions/ID/parts/calls/": (10, 9),
    **{f"project/functions/ID/parts/{dimension.plural}/": (9, 8) for dimension in DIMENSIONS},
    "project/functions/ID/parts/days/": (9, 8),
    "project/functions/ID/parts/views/": (10, 9),
    "api/views/ID/timeline": (8, 7),
    "/search/": (11, 11),
    "/metrics": (8, 0),
    "project/functions/, not modified": (5, 4),
}
WARM: Final = (("cache", "warm"),)
VIEWS: Final = tuple(UUID(view_id_of(f"{HEAD} /p0 {number}")) for number in range(3))


def take_base(whole: Slice) -> Slice:
    return replace(whole, releases=(BASE,))


def take_head(whole: Slice) -> Slice:
    return replace(whole, releases=(HEAD,))


def export_on_clocks(whole: Slice) -> None:
    request = resolve_export(replace(whole, views=VIEWS), EXPORTERS["firefox"], ExportQuery())
    select_export(request, project="Shop")


def compare_pages(whole: Slice) -> None:
    PageComparer(take_base(whole), take_head(whole), sum_pages(take_base(whole), take_head(whole))).compare_pages()


def list_views(whole: Slice) -> None:
    select_listed(whole.project_id, select_view_page(whole, ListQuery(order="worst", limit=50)))


def choose_among_two(whole: Slice) -> None:
    choose_base(whole.project_id, HEAD, (BASE, "0.9.0"), select_releases(whole.project_id), {})


def follow_release(whole: Slice) -> None:
    alert = AlertRule.objects.get(project=whole.project_id)
    follow_usage(alert, select_releases(whole.project_id), (), datetime.now(UTC))


CALLS: Final[dict[str, tuple[Callable[[Slice], object], int, int]]] = {
    "select_pages": (select_pages, 1, 1),
    "select_releases": (lambda whole: select_releases(whole.project_id), 1, 1),
    "select_status": (lambda whole: select_status(whole.project_id), 1, 1),
    "select_project_summaries": (lambda whole: select_project_summaries(range(whole.project_id + 1)), 1, 1),
    "fingerprint_slice": (fingerprint_slice, 1, 1),
    "merge_slice": (merge_slice, 1, 1),
    "resolve_slice": (lambda whole: resolve_slice(whole.project_id, SliceQuery(release=[HEAD])), 0, 0),
    "PageComparer": (compare_pages, 4, 4),
    "select_breakdown": (lambda whole: select_breakdown(take_base(whole), take_head(whole), bound=0.05), 4, 4),
    "select_slice_export": (lambda whole: select_slice_export(whole, project="Shop"), 5, 4),
    "select_export of three views": (export_on_clocks, 4, 3),
    "select_listed": (list_views, 7, 7),
    "estimate_trend": (lambda whole: estimate_trend(sum_trend(whole, by="release", limit=6), measure="self"), 2, 2),
    "select_functions": (lambda whole: select_functions(whole, limit=9), 3, 2),
    "select_functions of a tag": (lambda whole: select_functions(replace(whole, tags=WARM), limit=9), 7, 6),
    "select_function_table": (select_function_table, 3, 2),
    "select_calls": (lambda whole: select_calls(whole, 2, "callers"), 4, 3),
    "select_function_breakdown": (lambda whole: select_function_breakdown(whole, 2, "page"), 2, 2),
    "select_views": (lambda whole: select_views(whole, func_id=None, order="worst", limit=9), 4, 4),
    "find_functions": (lambda whole: find_functions([whole.project_id], "draw", limit=8), 4, 4),
    "select_sites": (lambda whole: select_sites(whole.project_id), 1, 0),
    "answer_table": (lambda whole: answer_table(whole, TableQuery(limit=10)), 5, 2),
    "choose_base": (choose_among_two, 2, 2),
    "follow_usage": (follow_release, 5, 5),
    "find_key": (lambda whole: find_key("KEY-shop"), 2, 0),
    "find_key of a guess": (lambda whole: find_key("nobody"), 1, 0),
    "has_room": (lambda whole: ADMISSION.has_room(whole.project_id), 1, 0),
    "count_absence": (lambda whole: report_absence(whole.project_id), 2, 1),
    "examine_server": (lambda whole: examine_server(), 22, 22),
}


def count(ask: Callable[[], object]) -> Counts:
    """Returns the numbers of statements of a first call, without caches, and of a second one."""
    clear_caches()
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            ask()
        counts.append(len(queries))
    return counts[0], counts[1]


def list_addresses(func_id: int) -> Iterator[tuple[str, str]]:
    """Yields (name, address): a name is below the project's address and has neither ids nor a query."""
    for address in (
        *API_ADDRESSES,
        *PAGE_ADDRESSES,
        *ADMIN_ADDRESSES,
        *PROJECT_QUESTION_ADDRESSES,
        *MORE_ADDRESSES,
    ):
        path, _, query = address.partition("?")
        name = path.replace(API, "api/").replace(PROJECT, "project/").replace(VIEW_ID, "ID").replace(TRACE, "ID")
        query = SIDES if "base_release" in query else query and f"?{query}"
        yield (
            name.replace("functions/1/", "functions/ID/"),
            path.replace("functions/1/", f"functions/{func_id}/") + query,
        )


class Readers:
    """The owner of the shop, a superuser for the pages of administration, and a token for the API."""

    def __init__(self, shop: Project) -> None:
        self.owner = log_in(User.objects.get(username="owner"))
        self.root = log_in(User.objects.create_superuser("root"))
        token, clear = create_token(project=shop)
        note_use(token, datetime.now(UTC))  # so that no request does it
        self.bearer = {"Authorization": f"Bearer {clear}"}

    def request(self, address: str, **headers: str) -> Any:  # Any: as the test client's responses are typed
        if address.startswith(API):
            return Client().get(address, headers=self.bearer)
        client = self.root if address in ADMINISTRATION else self.owner
        return client.get(address, headers=headers)


def log_in(user: User) -> Client:
    """Returns a client with a session and the cookie without which no page has an ETag."""
    client = Client()
    client.force_login(user)
    client.get("/projects/")
    return client


def count_all(shop: Project, readers: Readers) -> dict[str, Counts]:
    func_id = Func.objects.get(project=shop, name="draw").id
    counts = {name: count(partial(readers.request, address)) for name, address in list_addresses(func_id)}
    etag = readers.request(FUNCTIONS)["ETag"]
    counts["project/functions/, not modified"] = count(partial(readers.request, FUNCTIONS, **{"If-None-Match": etag}))
    whole = Slice(project_id=shop.pk)
    return counts | {name: count(partial(call, whole)) for name, (call, *_) in CALLS.items()}


@pytest.mark.django_db
@pytest.mark.slow(20)
def test_statements_are_counted_and_do_not_grow_with_rows(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(work_checks, "WORKER_WAIT_S", 0.1)
    shop = make_counted_site()
    readers = Readers(shop)
    grow(shop, range(1))
    small = count_all(shop, readers)
    rows = ADDRESSES | {name: (cold, warm) for name, (_, cold, warm) in CALLS.items()}
    assert {name: pair for name, pair in small.items() if name in rows or max(pair) > MOST_WITHOUT_ROW} == rows
    grow(shop, range(1, 3))
    assert count_all(shop, readers) == small
