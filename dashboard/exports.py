"""Answers with a slice's export: negotiated or packed, named, and not sent again where the client has it."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

from aggregate.selectors import ExportRequest, Slice, fingerprint_export, select_code, select_export
from ingest.models import Project
from profcore.formats.registry import Exporter
from profcore.formats.streaming import gzip_stream

# A change of what exporters write, or of labels, must change every ETag.
EXPORT_VERSION: Final = 5
FILE_NAME_CHARS: Final = 80
SOURCE_HEADER: Final = "Fieldflame-Source"  # what the sums were taken from: cells or raw
UNSAFE: Final = re.compile(r"[^A-Za-z0-9.]+")


def answer_export(
    request: HttpRequest, project: Project, asked: ExportRequest, exporter: Exporter, *, as_gzip_file: bool, link: str
) -> HttpResponseBase:
    """Streams an export.

    As a gzip file (`….json.gz`), or as the format's own type, which HTTP may compress on the way where the client
    accepts that; a format that is gzip by itself is sent as it is. The ETag is weak: it stands for the same sums, and
    bytes may differ in a detail such as the usual interval of a sample of traces.
    """
    as_gzip_file = as_gzip_file and not exporter.is_packed
    is_encoded = not as_gzip_file and not exporter.is_packed and accepts_gzip(request)
    etag = make_etag(project, asked, exporter, link, "file" if as_gzip_file else "gzip" if is_encoded else "plain")
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag, response=None)
    if response is None:
        written = exporter.write(select_export(asked, project=project.name, link=link))
        # The first piece before the status line: what fails while the tables are built answers 500, not half a file.
        pieces: Iterator[bytes] = chain([next(written)], written)
        response = StreamingHttpResponse(gzip_stream(pieces) if as_gzip_file or is_encoded else pieces)
        response["Content-Type"] = "application/gzip" if as_gzip_file else exporter.media_type
        name = name_export(project, asked) + exporter.suffix + (".gz" if as_gzip_file else "")
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        response["X-Content-Type-Options"] = "nosniff"  # names are hostile, and some formats are plain text
        if is_encoded:
            response["Content-Encoding"] = "gzip"
    response["ETag"] = etag
    response[SOURCE_HEADER] = asked.source
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def accepts_gzip(request: HttpRequest) -> bool:
    """Tells whether the client takes gzip as a content encoding."""
    for offer in request.headers.get("Accept-Encoding", "").split(","):
        coding, _, weight = offer.partition(";")
        if coding.strip().lower() in {"gzip", "*"} and not re.fullmatch(r"\s*q=0(\.0*)?\s*", weight):
            return True
    return False


def make_etag(project: Project, asked: ExportRequest, exporter: Exporter, link: str, coding: str) -> str:
    """Returns the weak ETag of one representation of an export.

    The project's sites are part of it: they decide which functions are first-party.
    """
    what = (asked.kind, asked.query, asked.segment, fingerprint_export(asked))
    code = select_code(project.pk, as_stored=asked.slice_.as_stored)
    facts = (EXPORT_VERSION, exporter.name, coding, project.name, link, what, sorted(code.sites), code.version)
    return f'W/"{hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest()}"'


def name_file(project: Project, slice_: Slice) -> str:
    """Returns a file name without its suffix: ASCII letters, digits, dots and dashes."""
    return _join_words([project.slug, *slice_.releases[:1], *slice_.pages[:1]])


def name_export(project: Project, asked: ExportRequest) -> str:
    """Returns the same for an export, which says what is particular about it."""
    slice_, words = asked.slice_, [project.slug]
    if asked.base is not None and asked.head is not None:
        words += [*asked.base.releases[:1], "to", *asked.head.releases[:1]]
    words += [*slice_.releases[:1], *slice_.pages[:1]]
    words += [f"view-{str(view)[:8]}" for view in slice_.views[:1]]
    words += [f"trace-{str(trace)[:8]}" for trace in slice_.traces[:1]]
    return _join_words([*words, "by", asked.segment] if asked.segment else words)


def _join_words(words: Sequence[str]) -> str:
    return "-".join(part for word in words if (part := UNSAFE.sub("-", word).strip("-.")))[:FILE_NAME_CHARS]
