"""Reads of a project that stand for all others: pages with their parts, answers of the read API, exports."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from aggregate.selectors.page_views.samples import select_sampled_views
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from profcore.formats.registry import EXPORTERS
from projects.models import Project

READ_LIMIT_S: Final = 120.0
PAGES: Final = (
    *("", "functions/", "functions/table/", "functions/table/?group_by=file", "flame-graph/", "views/", "views/list/"),
    *("quality/", "changes/", "quality/sampled/", "functions/{func_id}/", "functions/{func_id}/parts/calls/"),
    *("functions/{func_id}/parts/days/", "views/{view_id}/", "compare/", "settings/", "settings/source-maps/"),
)
ANSWERS: Final = (
    *("functions", "overview", "trend", "flamegraph", "calltree", "views", "pages", "quality", "traces"),
    "functions/{func_id}/breakdown",
    *(f"profile?format={name}" for name in EXPORTERS),
)


@dataclass(frozen=True, slots=True)
class Reads:
    """Addresses to read from a running server, and the cookie of a person who may read them."""

    cookie: str
    addresses: list[str]


def list_reads(slug: str) -> Reads:
    """Returns what to read of a project of this database, and logs the first superuser in."""
    cookie = f"{settings.SESSION_COOKIE_NAME}={log_in().cookies[settings.SESSION_COOKIE_NAME].value}"
    return Reads(cookie, make_addresses(Project.objects.get(slug=slug)))


def log_in() -> Client:
    """Returns a client of the first superuser, who may read everything."""
    client = Client()
    client.force_login(User.objects.filter(is_superuser=True).order_by("pk")[0])
    return client


def make_addresses(project: Project) -> list[str]:
    """Returns every read for the whole project, for its busiest page, and for one release of that."""
    pages = select_overview(Slice(project_id=project.pk), ["page"], limit=10_000).rows
    name = max(pages, key=lambda row: row.views).page or ""
    whole = Slice(project_id=project.pk, pages=(name,))
    newest = select_overview(whole, ["release"], limit=1).rows[0].release or ""
    page, release = ("page", name), ("release", newest)
    function = select_estimated(whole, TableQuery(sort="views", limit=1)).functions[0]
    view = select_sampled_views(whole, most=1, population=1)[0]
    arguments = {"func_id": function.id, "view_id": view[0]}
    made = []
    for params in ([], [page], [page, release]):
        for root, reads in ((f"/projects/{project.slug}/", PAGES), (f"/api/v1/projects/{project.slug}/", ANSWERS)):
            for template in reads:
                path, _, template_query = template.format(**arguments).partition("?")
                query = "&".join(part for part in (template_query, urlencode(params)) if part)
                made.append(f"{root}{path}?{query}" if query else root + path)
    return made


def read(port: int, cookie: str, address: str) -> tuple[int, Mapping[str, str]]:
    """Reads an address; returns the status, 0 without an answer, and the headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READ_LIMIT_S)
    try:
        connection.request("GET", address, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        return 0, {}
    finally:
        connection.close()
    return answer.status, dict(answer.getheaders())


def find_reads(text: str) -> Reads:
    """Returns the reads that `benchmarks memory --here` has printed."""
    return Reads(**json.loads(text))
