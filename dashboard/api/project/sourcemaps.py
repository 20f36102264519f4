"""`sourcemaps`: uploads a build in one request, lists what is uploaded, and deletes it."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Annotated, Final

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.archives import ArchiveError, open_archive
from aggregate.sourcemaps.coverage import select_coverage_in_time
from aggregate.sourcemaps.deleting import delete_scripts
from aggregate.sourcemaps.listing import ScriptState, select_scripts
from aggregate.sourcemaps.uploading import UploadError, store_build
from dashboard.api.core.answer import BINARY, Answer, Instant, choices, doc, operation
from dashboard.api.core.parameters import Parameter, Text, limit_of
from dashboard.api.core.views import BUILDS_ONLY, BuildView
from dashboard.web.params import ParamError
from ingest.endpoint.requests import CHUNK_BYTES
from profcore.symbolicate.builds import Match
from profcore.symbolicate.paths import ANYWHERE
from profcore.trace.addresses import canonical_uri

MAX_LISTED: Final = 1_000
RETRY_AFTER_S: Final = 10
# An upload holds its largest file several times in memory. Clients beyond this number in one process must retry.
UPLOADS_AT_ONCE: Final = 2
_turns = threading.BoundedSemaphore(UPLOADS_AT_ONCE)

RELEASE: Final = Text("release", "The release, as the snippet sends it.", is_required=True)
URL_PREFIX: Final = Parameter(
    "url_prefix",
    "Where the archive's files are served, such as https://shop.example/; ~/ if their debug ids say it. Repeatable.",
    is_many=True,
    is_required=True,
)
URL: Final = Text("url", "Only the script of this URL.")
LIMIT: Final = limit_of(MAX_LISTED)


class OthersUpload(Exception):
    """Too many uploads are being read; the client should retry later."""


class UploadedScriptAnswer(Answer):
    file: Annotated[str, doc("Its path in the archive.")]
    urls: Annotated[Sequence[str], doc("The URL of the script, as traces name it.")]
    map: Annotated[str | None, doc("The path of its map; the script's own path if the map is inline.")]
    match: Annotated[Annotated[str, choices([match.value for match in Match])], doc("How the map was found.")]
    missing_map: Annotated[
        str | None, doc("What its `sourceMappingURL` names, if that is not among the files; else null.")
    ]


class BadFileAnswer(Answer):
    file: str
    path: Annotated[str, doc("A place in the file, such as `$.sections[3].map.mappings`.")]
    detail: str


class CoverageAnswer(Answer):
    all_functions: Annotated[int, doc("Recorded functions of the release that are in scripts.")]
    functions: Annotated[int, doc("Those below the given prefixes.")]
    matched: Annotated[int, doc("Those in scripts with a map: they get names.")]
    named: Annotated[int, doc("Those that have names already.")]
    folders: Annotated[Sequence[str], doc("Where most scripts of the release's traces came from.")]
    suggested_url_prefix: Annotated[
        str | None, doc("If no function matches: a prefix with which the files would match.")
    ]


class UploadAnswer(Answer):
    release: str
    scripts: list[UploadedScriptAnswer]
    rejected: list[BadFileAnswer]
    unmatched: Annotated[int, doc("Scripts without a map.")]
    new_files: Annotated[int, doc("Scripts and maps that were not stored before.")]
    coverage: Annotated[
        CoverageAnswer | None,
        doc(
            "How many functions of the release the maps reach, by its traces so far. Null: not counted in time, or ~/."
        ),
    ]


class SourceMapAnswer(Answer):
    release: str
    url: str
    file: str
    state: Annotated[str, choices([state.value for state in ScriptState])]
    failure: Annotated[str | None, doc("Why its map cannot be used.")]
    serves_other_releases: Annotated[bool, doc("Its URL has a content hash.")]
    map_bytes: int | None
    functions: Annotated[int, doc("Functions it was asked for.")]
    mapped: Annotated[int, doc("Functions that its map covers.")]
    uploaded_at: Instant


class SourceMapsAnswer(Answer):
    total: int
    source_maps: list[SourceMapAnswer]


class DeletedAnswer(Answer):
    deleted: Annotated[int, doc("Deleted scripts, with their maps and labels.")]


class SourceMapsView(BuildView):
    changed = "source maps"
    known_params = (Text("release", "Of this release alone."), LIMIT)

    def get(self, request: Request, slug: str) -> SourceMapsAnswer:
        """Lists the uploads, newest first, and the progress of their labels. Contents are never served."""
        limit = LIMIT.read(request.query_params)
        release = RELEASE.read(request.query_params) or None
        scripts, total = select_scripts(self.project.pk, release=release, limit=limit)
        rows = [SourceMapAnswer.of(row, url=row.uri, serves_other_releases=row.is_shared) for row in scripts]
        return SourceMapsAnswer(total, rows)

    @operation(
        "upload_source_maps",
        params=(RELEASE, URL_PREFIX),
        body={"application/gzip": BINARY},
        answers={200: UploadAnswer, 422: UploadAnswer},
        notes={422: "Some files were left out; the others are stored."},
        errors={
            **BUILDS_ONLY,
            413: "The body is too large.",
            503: "Too many uploads at the moment; `Retry-After` says when to retry.",
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Stores the scripts and source maps of a build: a tar, plain or gzip. A repeated upload changes nothing."""
        release = RELEASE.read(request.query_params)
        prefixes = request.query_params.getlist("url_prefix")
        try:
            with upload_turn(), spool_body(request) as body:
                if body is None:
                    detail = f"The body is larger than {settings.SOURCE_MAP_MAX_UPLOAD_BYTES} bytes."
                    return Response({"detail": detail}, status=413)
                with open_archive(body) as files:
                    report = store_build(self.project.pk, release=release, url_prefixes=prefixes, files=files)
        except OthersUpload as error:
            return Response({"detail": str(error)}, status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
        except UploadError as error:
            raise ParamError(error.field, error.detail) from None
        except ArchiveError as error:
            raise ParamError("body", str(error)) from None
        below = [prefix for prefix in prefixes if prefix != ANYWHERE]
        coverage = select_coverage_in_time(self.project.pk, release, below) if below else None
        answer = UploadAnswer.of(
            report,
            release=release,
            scripts=[UploadedScriptAnswer.of(script) for script in report.scripts],
            rejected=[BadFileAnswer.of(bad) for bad in report.rejected],
            coverage=coverage and CoverageAnswer.of(coverage, suggested_url_prefix=coverage.suggested),
        )
        return Response(answer, status=422 if report.rejected else 200)

    @operation("delete_source_maps", params=(RELEASE, URL), errors=BUILDS_ONLY)
    def delete(self, request: Request, slug: str) -> DeletedAnswer:
        """Deletes a release's scripts and maps, or one script; their functions lose their labels."""
        release = RELEASE.read(request.query_params)
        if not release:
            raise ParamError("release", "Say which release.")
        scripts = ReleaseScript.objects.filter(project=self.project, release=release)
        url = URL.read(request.query_params)
        if url:
            scripts = scripts.filter(uri=canonical_uri(url))
        ids = list(scripts.values_list("id", flat=True))
        return DeletedAnswer(delete_scripts(self.project.pk, ids))


@contextmanager
def upload_turn() -> Iterator[None]:
    """Holds one of the process's places for uploads. Raises `OthersUpload` if all are taken."""
    if not _turns.acquire(blocking=False):
        raise OthersUpload("Too many source map uploads at the moment.")
    try:
        yield
    finally:
        _turns.release()


@contextmanager
def spool_body(request: Request) -> Iterator[IO[bytes] | None]:
    """Yields a request's body as a file on disk; None if it is too large."""
    size = 0
    with TemporaryFile() as file:
        while chunk := request._request.read(CHUNK_BYTES):
            size += len(chunk)
            if size > settings.SOURCE_MAP_MAX_UPLOAD_BYTES:
                yield None
                return
            file.write(chunk)
        file.seek(0)
        yield file
