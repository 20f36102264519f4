"""`sourcemaps`: uploads a build in one request, lists what is uploaded, and deletes it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any, Final

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.archives import ArchiveError, open_archive
from aggregate.sourcemaps.coverage import Coverage, select_coverage_in_time
from aggregate.sourcemaps.deleting import delete_scripts
from aggregate.sourcemaps.listing import ListedScript, ScriptState, select_scripts
from aggregate.sourcemaps.uploading import UploadError, UploadReport, store_build
from dashboard.api.core.encoding import ErrorShape
from dashboard.api.core.parameters import BUILDS_ONLY, ERRORS
from dashboard.api.core.views import BuildView
from dashboard.api.jobs.endpoints import format_at
from dashboard.web.params import ParamError, read_count, read_one
from dashboard.web.schemas import Json, Shape
from ingest.endpoint.requests import CHUNK_BYTES
from profcore.symbolicate.builds import Match

MAX_LISTED: Final = 1_000
RETRY_AFTER_S: Final = 10
# An upload holds its largest file several times in memory. Clients beyond this number in one process must retry.
UPLOADS_AT_ONCE: Final = 2
_turns = threading.BoundedSemaphore(UPLOADS_AT_ONCE)

RELEASE: Final = "The release, as the snippet sends it."
KNOWN: Final = {"GET": ("release", "limit"), "POST": ("release", "url_prefix"), "DELETE": ("release", "url")}


class OthersUpload(Exception):
    """Too many uploads are being read; the client should retry later."""


class UploadedScriptShape(Shape):
    file = serializers.CharField(help_text="Its path in the archive.")
    urls = serializers.ListField(child=serializers.CharField(), help_text="The URL of the script, as traces name it.")
    map = serializers.CharField(
        allow_null=True, help_text="The path of its map; the script's own path if the map is inline."
    )
    match = serializers.ChoiceField([match.value for match in Match], help_text="How the map was found.")


class BadFileShape(Shape):
    file = serializers.CharField()
    path = serializers.CharField(help_text="A place in the file, such as `$.sections[3].map.mappings`.")
    detail = serializers.CharField()


class CoverageShape(Shape):
    all_functions = serializers.IntegerField(help_text="Recorded functions of the release that are in scripts.")
    functions = serializers.IntegerField(help_text="Those below the given prefixes.")
    matched = serializers.IntegerField(help_text="Those in scripts with a map: they get names.")
    named = serializers.IntegerField(help_text="Those that have names already.")
    folders = serializers.ListField(
        child=serializers.CharField(), help_text="Where most scripts of the release's traces came from."
    )
    suggested_url_prefix = serializers.CharField(
        allow_null=True, help_text="If no function matches: a prefix with which the files would match."
    )


class UploadShape(Shape):
    release = serializers.CharField()
    scripts = UploadedScriptShape(many=True)
    rejected = BadFileShape(many=True)
    unmatched = serializers.IntegerField(help_text="Scripts without a map.")
    new_files = serializers.IntegerField(help_text="Scripts and maps that were not stored before.")
    coverage = CoverageShape(
        allow_null=True,
        help_text="How many functions of the release the maps reach, by its traces so far. Null: not counted in time.",
    )


class SourceMapShape(Shape):
    release = serializers.CharField()
    url = serializers.CharField()
    file = serializers.CharField()
    state = serializers.ChoiceField([state.value for state in ScriptState])
    failure = serializers.CharField(allow_null=True, help_text="Why its map cannot be used.")
    serves_other_releases = serializers.BooleanField(help_text="Its URL has a content hash.")
    map_bytes = serializers.IntegerField(allow_null=True)
    functions = serializers.IntegerField(help_text="Functions it was asked for.")
    mapped = serializers.IntegerField(help_text="Functions that its map covers.")
    uploaded_at = serializers.DateTimeField()


class SourceMapsShape(Shape):
    total = serializers.IntegerField()
    source_maps = SourceMapShape(many=True)


class DeletedShape(Shape):
    deleted = serializers.IntegerField(help_text="Deleted scripts, with their maps and labels.")


class SourceMapsView(BuildView):
    changed = "source maps"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        self.known_params = KNOWN.get(request.method or "", ())
        super().initial(request, *args, **kwargs)

    @extend_schema(
        operation_id="source_maps",
        parameters=[
            OpenApiParameter("release", description="Of this release alone."),
            OpenApiParameter("limit", OpenApiTypes.INT, default=MAX_LISTED, description=f"1 to {MAX_LISTED}."),
        ],
        responses={200: SourceMapsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists the uploads, newest first, and the progress of their labels. Contents are never served."""
        limit = read_count(request.query_params, "limit", default=MAX_LISTED, high=MAX_LISTED)
        release = read_one(request.query_params, "release", "") or None
        scripts, total = select_scripts(self.project.pk, release=release, limit=limit)
        return Response({"total": total, "source_maps": [encode_script(script) for script in scripts]})

    @extend_schema(
        operation_id="upload_source_maps",
        parameters=[
            OpenApiParameter("release", required=True, description=RELEASE),
            OpenApiParameter(
                "url_prefix",
                required=True,
                many=True,
                description="Where the archive's files are served, such as https://shop.example/. Repeatable.",
            ),
        ],
        request={"application/gzip": OpenApiTypes.BINARY},
        responses={
            200: UploadShape,
            **ERRORS,
            403: BUILDS_ONLY,
            413: OpenApiResponse(ErrorShape, "The body is too large."),
            422: OpenApiResponse(UploadShape, "Some files were left out; the others are stored."),
            503: OpenApiResponse(ErrorShape, "Too many uploads at the moment; `Retry-After` says when to retry."),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Stores the scripts and source maps of a build: a tar, plain or gzip. A repeated upload changes nothing."""
        release = read_one(request.query_params, "release", "")
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
        coverage = select_coverage_in_time(self.project.pk, release, prefixes)
        answer = encode_report(release, report) | {"coverage": coverage and encode_coverage(coverage)}
        return Response(answer, status=422 if report.rejected else 200)

    @extend_schema(
        operation_id="delete_source_maps",
        parameters=[
            OpenApiParameter("release", required=True, description=RELEASE),
            OpenApiParameter("url", description="Only the script of this URL."),
        ],
        responses={200: DeletedShape, **ERRORS, 403: BUILDS_ONLY},
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Deletes a release's scripts and maps, or one script; their functions lose their labels."""
        release = read_one(request.query_params, "release", "")
        if not release:
            raise ParamError("release", "Say which release.")
        scripts = ReleaseScript.objects.filter(project=self.project, release=release)
        url = read_one(request.query_params, "url", "")
        if url:
            scripts = scripts.filter(uri=url)
        ids = list(scripts.values_list("id", flat=True))
        return Response({"deleted": delete_scripts(self.project.pk, ids)})


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


def encode_report(release: str, report: UploadReport) -> Json:
    return {
        "release": release,
        "scripts": [
            {"file": script.file, "urls": list(script.urls), "map": script.map, "match": script.match.value}
            for script in report.scripts
        ],
        "rejected": [{"file": bad.file, "path": bad.path, "detail": bad.detail} for bad in report.rejected],
        "unmatched": report.unmatched,
        "new_files": report.new_files,
    }


def encode_coverage(coverage: Coverage) -> Json:
    return {
        "all_functions": coverage.all_functions,
        "functions": coverage.functions,
        "matched": coverage.matched,
        "named": coverage.named,
        "folders": list(coverage.folders),
        "suggested_url_prefix": coverage.suggested,
    }


def encode_script(script: ListedScript) -> Json:
    return {
        "release": script.release,
        "url": script.uri,
        "file": script.file,
        "state": script.state,
        "failure": script.failure,
        "serves_other_releases": script.is_shared,
        "map_bytes": script.map_bytes,
        "functions": script.functions,
        "mapped": script.mapped,
        "uploaded_at": format_at(script.uploaded_at),
    }
