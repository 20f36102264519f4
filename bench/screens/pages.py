"""The speed of the dashboard's pages and parts, from the request to the last byte, in one process.

The pages are read from the address table, so that a new page is measured without a change here. Arguments are the
busiest values of the project; parts that need other arguments are those that pages fetch. Nothing of the dashboard is
imported: its pages are requested as by a browser.
"""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import URLPattern, get_resolver, resolve, reverse

from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from aggregate.selectors.views.samples import select_sampled_views
from ingest.models import Membership, Project

PROJECT_ROUTE: Final = "projects/<slug:slug>/"
PART: Final = re.compile(r'hx-get="(/[^"]+)"')
Params = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """One address: its times in ms over the rounds, the first one separately, and statements and bytes of the last.

    `note` describes an answer that is not a page, or says why the page could not be requested.
    """

    page: str
    slice_word: str
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    first_ms: float = 0.0
    statements: int = 0
    sent_bytes: int = 0
    note: str = ""
    parts: Sequence[str] = ()  # addresses that it fetches by itself


@dataclass(frozen=True, slots=True)
class Busiest:
    """The busiest values of a project; empty if it has none."""

    page: str
    releases: Sequence[str]  # the two with the most views, the newer first
    arguments: Mapping[str, str]  # by the names that routes give them


def bench_pages(project: Project, rounds: int) -> list[PageResult]:
    """Returns each page and part of a project, for all of it and for its busiest page, the slowest first."""
    busiest = find_busiest(project)
    slices: list[tuple[str, Params]] = [("everything", [])]
    if busiest.page:
        slices.append(("busiest page", [("page", busiest.page)]))
    if busiest.releases:
        slices.append(("busiest page, one release", [("page", busiest.page), ("release", busiest.releases[0])]))
    with _logged_in(project) as client:
        asker = _PageClient(client, busiest, rounds)
        patterns = list(list_patterns())
        known = [pattern for pattern in patterns if not asker.missing(pattern)]
        results = [asker.ask(pattern, word, params) for pattern in known for word, params in slices]
        results += asker.ask_parts(results, [pattern for pattern in patterns if pattern not in known])
    return sorted(results, key=lambda result: (-result.p95_ms, result.page))


def list_patterns() -> Iterator[URLPattern]:
    """Yields the routes of pages about a project."""
    for pattern in get_resolver().url_patterns:
        included = getattr(pattern, "url_patterns", [pattern])
        yield from (each for each in included if each.name and str(each.pattern).startswith(PROJECT_ROUTE))


def name_route(pattern: URLPattern) -> str:
    """Returns a page's route below its project's."""
    return str(pattern.pattern).removeprefix(PROJECT_ROUTE) or "(overview)"


def find_busiest(project: Project) -> Busiest:
    """Returns the page with the most views, its releases, the function most of its views ran, and one of its views."""
    pages = select_overview(Slice(project_id=project.pk), ["page"], limit=10_000).rows
    if not pages:
        return Busiest("", (), {"slug": project.slug})
    page = max(pages, key=lambda row: row.views)
    whole = Slice(project_id=project.pk, pages=(page.page or "",))
    releases = select_overview(whole, ["release"], limit=10_000).rows  # the newest first
    most = sorted(releases, key=lambda row: -row.views)[:2]
    arguments = {"slug": project.slug}
    functions = select_estimated(whole, TableQuery(sort="views", limit=1)).functions
    if functions:
        arguments["func_id"] = str(functions[0].id)
    sampled = select_sampled_views(whole, most=1, population=page.views)
    if sampled:
        view = str(sampled[0][0])
        arguments |= {"view_id": view, "view": view, "ref": f"{view}.0", "trace_id": f"{view}.0", "trace": f"{view}.0"}
    return Busiest(whole.pages[0], [row.release or "" for row in releases if row in most], arguments)


@dataclass(frozen=True, slots=True)
class _PageClient:
    """Requests pages as one person, each several times."""

    client: Client
    busiest: Busiest
    rounds: int

    def missing(self, pattern: URLPattern) -> list[str]:
        """Returns the arguments of a page that are not known."""
        return [name for name in pattern.pattern.converters if name not in self.busiest.arguments]

    def ask_parts(self, pages: Sequence[PageResult], patterns: Sequence[URLPattern]) -> list[PageResult]:
        """Returns the results of parts whose arguments only the pages that fetch them know, with notes on others."""
        fetched = {address: page for page in pages for address in page.parts}
        results = []
        for pattern in patterns:
            route = name_route(pattern)
            missing = self.missing(pattern)
            found = 0
            for address, page in fetched.items():
                match = resolve(address.partition("?")[0])
                if match.url_name != pattern.name:
                    continue
                found += 1
                own = ", ".join(str(match.kwargs[name]) for name in missing)
                results.append(self.measure(f"{route} {own}", page.slice_word, address))
            if not found:
                results.append(
                    PageResult(page=route, slice_word="", note=f"not asked: nothing is known for {', '.join(missing)}")
                )
        return results

    def ask(self, pattern: URLPattern, word: str, params: Params) -> PageResult:
        """Returns the result of a page for a slice. If that is no answer, the page may need two sides."""
        known, releases = self.busiest.arguments, self.busiest.releases
        route = name_route(pattern)
        path = reverse(str(pattern.name), kwargs={name: known[name] for name in pattern.pattern.converters})
        result = self.measure(route, word, f"{path}?{urlencode(params)}")
        if not result.note or len(releases) < 2:
            return result
        others = [pair for pair in params if pair[0] != "release"]
        sides = [("head_release", releases[0]), ("base_release", releases[1])]
        compared = self.measure(route, f"{word}, compared", f"{path}?{urlencode([*others, *sides])}")
        return result if compared.note else compared

    def measure(self, route: str, word: str, address: str) -> PageResult:
        """Returns the result of one address."""
        times: list[float] = []
        statements, content = 0, b""

        def count(execute: Callable[..., Any], *arguments: Any) -> Any:  # Any: as the wrapper is called
            nonlocal statements
            statements += 1
            return execute(*arguments)

        for _ in range(self.rounds):
            statements = 0
            with connection.execute_wrapper(count):
                began = time.perf_counter()
                response = self.client.get(address)
                content = response.getvalue()
                times.append((time.perf_counter() - began) * 1000)
            if response.status_code == 405:
                return PageResult(page=route, slice_word=word, note="not asked: it is only posted to")
            if response.status_code != 200:
                return PageResult(page=route, slice_word=word, note=f"answered {response.status_code}")
        first_ms = times[0]
        times.sort()
        p50_ms, p95_ms = times[len(times) // 2], times[math.ceil(len(times) * 0.95) - 1]
        parts = [unescape(address) for address in PART.findall(content.decode(errors="replace"))]
        return PageResult(
            page=route,
            slice_word=word,
            p50_ms=p50_ms,
            p95_ms=p95_ms,
            first_ms=first_ms,
            statements=statements,
            sent_bytes=len(content),
            parts=parts,
        )


@contextmanager
def _logged_in(project: Project) -> Iterator[Client]:
    """Yields a client of an admin of the project, else of a superuser; its session ends with it."""
    admin = Membership.objects.filter(project=project, role=Membership.Role.ADMIN).order_by("pk").first()
    user = admin.user if admin else User.objects.filter(is_superuser=True).order_by("pk").first()
    if user is None:
        raise LookupError(f"Nobody may read {project.slug}: it has no admin, and there is no superuser.")
    client = Client(raise_request_exception=False)
    client.force_login(user)
    try:
        yield client
    finally:
        client.logout()


def describe(results: Sequence[PageResult]) -> str:
    """Returns a line for each result."""
    lines = []
    for result in results:
        what = f"  {result.page:34} {result.slice_word:38}"
        if result.note:
            lines.append(f"{what} {result.note}")
            continue
        lines.append(
            f"{what} p50 {result.p50_ms:7.1f} ms  p95 {result.p95_ms:7.1f} ms  first {result.first_ms:7.1f} ms  "
            f"{result.statements:3} statements  {result.sent_bytes / 1000:7.1f} kB"
        )
    return "\n".join(lines)
