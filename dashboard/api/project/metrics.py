"""`metrics`: a project's pages and alerts as OpenMetrics, for a Prometheus that scrapes them by token."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from rest_framework.request import Request

from aggregate.replica.source import at_database
from aggregate.selectors.exports.slice_export import fingerprint_slice
from aggregate.selectors.project.page_metrics import last_hours, select_page_metrics
from aggregate.selectors.slice.slices import Slice
from alerts.reading import select_standings
from dashboard.api.core.answer import TEXT, operation
from dashboard.api.core.parameters import Count
from dashboard.api.core.views import ProjectView
from dashboard.api.project.openmetrics import END, alert_families, page_families, write_families
from dashboard.web.exports import accepts_gzip
from dashboard.web.project_pages import PageTraits
from profcore.caching import keep
from projects.models import Project

MAX_HOURS: Final = 48  # hours are merged into days then
HOURS: Final = Count(
    "hours", f"The window: the last hours, the current one included; 1 to {MAX_HOURS}.", default=24, high=MAX_HOURS
)
GZIP_LEVEL: Final = 1  # of a text that is written once and read once, nearby
TEXTS_KEPT: Final = 16  # of projects and windows, in a process: the largest is about 300 kB


def write_pages(project: Project, hours: int) -> bytes:
    """Returns the page metrics of a project. The last ones are kept until a trace is folded into the window.

    Four statements, or two if they are kept.
    """
    slice_ = last_hours(project.pk, hours, datetime.now(UTC))
    return _write_pages(slice_, project.slug, fingerprint_slice(slice_))


@keep
@lru_cache(maxsize=TEXTS_KEPT)
def _write_pages(slice_: Slice, project: str, _facts: str) -> bytes:
    return write_families(page_families(project, select_page_metrics(slice_)))


def write_alerts(project: Project, _hours: int) -> bytes:
    """Returns the states of a project's alerts, as they are now: a replica may be behind. Two statements."""
    with at_database():
        standings = select_standings(project.pk)
    return write_families(alert_families(project.slug, standings))


# Each writes families of a project, over a window of some hours, without the last line.
WRITERS: Final[tuple[Callable[[Project, int], bytes], ...]] = (write_pages, write_alerts)


class MetricsView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True)
    known_params = (HOURS,)

    @operation(content={"application/openmetrics-text": TEXT})
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Views and their time by page and release, and the states of alerts, as OpenMetrics for Prometheus."""
        hours = HOURS.read(request.query_params)
        text = b"".join(write(self.project, hours) for write in WRITERS) + END
        return _answer_text(request._request, text)


def _answer_text(request: HttpRequest, text: bytes) -> HttpResponse:
    is_gzip = accepts_gzip(request)
    body = gzip.compress(text, GZIP_LEVEL, mtime=0) if is_gzip else text
    response = HttpResponse(body, content_type=CONTENT_TYPE_LATEST)
    if is_gzip:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding", "Authorization", "Cookie"])
    return response
