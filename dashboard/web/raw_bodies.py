"""Answers with the stored body of a trace, for administrators and for tokens with the scope `raw`."""

import gzip

from django.conf import settings
from django.http import Http404, HttpResponse, HttpResponseBase
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from aggregate.selectors.page_views.traces import select_raw_body
from dashboard.web.access import may_read_raw, reader_of
from dashboard.web.exports import accepts_gzip
from ingest.endpoint.requests import expand
from projects.models import Project


def answer_raw(request: Request, project: Project, ref: str, *, as_gzip_file: bool = False) -> HttpResponseBase:
    """Sends the envelope as it was received, with full URLs and texts; stays gzip if the client accepts it.

    `ref` is the trace's id or `VIEW.SEQ`. Raises `PermissionDenied`, or `Http404` if there is no such body.
    """
    if not may_read_raw(reader_of(request), project):
        raise PermissionDenied("Only administrators of the project and tokens with the scope raw can read raw bodies.")
    stored = select_raw_body(project.pk, ref)
    if stored is None:
        raise Http404("There is no such trace, or its raw body has expired.")
    is_gzip, body = stored
    is_encoded = is_gzip and not as_gzip_file and accepts_gzip(request._request)
    if as_gzip_file and not is_gzip:
        body = gzip.compress(body, mtime=0)
    elif is_gzip and not as_gzip_file and not is_encoded:
        body = expand(body, max_bytes=settings.INGEST_MAX_EXPANDED_BYTES)
    response = HttpResponse(body, content_type="application/gzip" if as_gzip_file else "application/json")
    suffix = ".json.gz" if as_gzip_file else ".json"
    response["Content-Disposition"] = f'attachment; filename="trace-{ref}{suffix}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Vary"] = "Accept-Encoding, Authorization, Cookie"
    if is_encoded:
        response["Content-Encoding"] = "gzip"
    return response
