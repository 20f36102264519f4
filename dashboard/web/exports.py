"""Answers with the export of a slice: its encoding, its file name, and its ETag."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.urls import reverse
from django.utils.cache import patch_vary_headers

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.exports.requests import (
    ExportRequest,
    fingerprint_export,
    select_export,
)
from aggregate.selectors.slice.slices import Slice
from dashboard.web.etags import answer_if_changed, make_etag
from profcore.formats.registry import Exporter
from profcore.formats.streaming import gzip_stream
from projects.models import Project

# A change of what exporters write, or of labels, must change every ETag.
EXPORT_VERSION: Final = 8
FILE_NAME_CHARS: Final = 80
SOURCE_HEADER: Final = "Fieldflame-Source"  # where the sums come from: cells or raw
UNSAFE: Final = re.compile(r"[^A-Za-z0-9.]+")


def answer_export(
    request: HttpRequest, project: Project, export: ExportRequest, exporter: Exporter, *, as_gzip_file: bool, link: str
) -> HttpResponseBase:
    """Streams an export.

    It is a gzip file (`….json.gz`), or has the format's own type with gzip as its encoding if the client accepts that.
    A format that is gzip itself is sent as it is. The ETag is weak: it stands for equal sums, but bytes may differ in
    details such as the usual sampling interval.
    """
    as_gzip_file = as_gzip_file and not exporter.is_gzip
    is_encoded = not as_gzip_file and not exporter.is_gzip and accepts_gzip(request)

    def write() -> StreamingHttpResponse:
        written = exporter.write(select_export(export, project=project.name, link=link))
        # Write the first piece before the status line: an error while the tables are built gives 500, not half a file.
        pieces: Iterator[bytes] = chain([next(written)], written)
        response = StreamingHttpResponse(gzip_stream(pieces) if as_gzip_file or is_encoded else pieces)
        response["Content-Type"] = "application/gzip" if as_gzip_file else exporter.media_type
        name = name_export(project, export) + exporter.suffix + (".gz" if as_gzip_file else "")
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        response["X-Content-Type-Options"] = "nosniff"  # names are hostile, and some formats are plain text
        if is_encoded:
            response["Content-Encoding"] = "gzip"
        return response

    coding = "file" if as_gzip_file else "gzip" if is_encoded else "plain"
    response = answer_if_changed(request, make_export_etag(project, export, exporter, link, coding), write)
    response[SOURCE_HEADER] = export.source
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def accepts_gzip(request: HttpRequest) -> bool:
    """Returns whether the client accepts gzip as a content encoding."""
    for offer in request.headers.get("Accept-Encoding", "").split(","):
        coding, _, weight = offer.partition(";")
        if coding.strip().lower() in {"gzip", "*"} and not re.fullmatch(r"\s*q=0(\.0*)?\s*", weight):
            return True
    return False


def make_export_etag(project: Project, export: ExportRequest, exporter: Exporter, link: str, coding: str) -> str:
    """Returns the weak ETag of one representation of an export.

    The project's sites are part of it: they decide which functions are first-party.
    """
    what = (export.kind, export.query, export.segment, fingerprint_export(export))
    code = load_symbols(project.pk, as_stored=export.slice_.as_stored)
    parts = (EXPORT_VERSION, exporter.name, coding, project.name, link, what, sorted(code.sites), code.version)
    return make_etag(*parts)


def name_file(project: Project, slice_: Slice) -> str:
    """Returns a file name without its suffix: ASCII letters, digits, dots and dashes."""
    return _join_names([project.slug, *slice_.releases[:1], *slice_.pages[:1]])


def name_export(project: Project, export: ExportRequest) -> str:
    """Returns the file name of an export, without its suffix."""
    slice_, names = export.slice_, [project.slug]
    if export.base is not None and export.head is not None:
        names += [*export.base.releases[:1], "to", *export.head.releases[:1]]
    names += [*slice_.releases[:1], *slice_.pages[:1]]
    names += [f"view-{str(view)[:8]}" for view in slice_.views[:1]]
    names += [f"trace-{str(trace)[:8]}" for trace in slice_.traces[:1]]
    return _join_names([*names, "by", export.segment] if export.segment else names)


def _join_names(names: Sequence[str]) -> str:
    return "-".join(part for word in names if (part := UNSAFE.sub("-", word).strip("-.")))[:FILE_NAME_CHARS]


def link_of(project: Project, slice_: Slice) -> str:
    """Returns the path of the dashboard's page for a slice."""
    name = "functions" if slice_.pages else "overview"
    query = slice_.query()
    return reverse(name, args=[project.slug]) + (f"?{query}" if query else "")
