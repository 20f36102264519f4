"""`sourcemaps`: CI uploads a build by one request; people see what is there, and delete it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any, Final

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.archives import ArchiveError, open_archive
from aggregate.sourcemaps.deleting import delete_scripts
from aggregate.sourcemaps.listing import ListedScript, ScriptState, select_scripts
from aggregate.sourcemaps.uploading import UploadError, UploadReport, store_build
from dashboard.access import may_administer
from dashboard.api import ERRORS, ProjectView
from dashboard.jobs import format_at
from dashboard.params import ParamError, read_count, read_one
from dashboard.serializers import ErrorShape
from dashboard.shapes import Json, Shape
from ingest.bodies import CHUNK_BYTES
from ingest.models import ApiToken
from profcore.symbolicate.builds import Match

MAX_LISTED: Final = 1_000
RETRY_AFTER_S: Final = 10
# An upload holds its largest file some times in memory; more of them in one process wait their turn at the client.
UPLOADS_AT_ONCE: Final = 2
_turns = threading.BoundedSemaphore(UPLOADS_AT_ONCE)

RELEASE: Final = "The release, as the snippet sends it."
KNOWN: Final = {"GET": ("release", "limit"), "POST": ("release", "url_prefix"), "DELETE": ("release", "url")}


class OthersUpload(Exception):
    """Too many uploads are read at the moment; a later one is welcome."""


class UploadedScriptShape(Shape):
    file = serializers.CharField(help_text="Its path in the archive.")
    urls = serializers.ListField(child=serializers.CharField(), help_text="Where functions of it are found.")
    map = serializers.CharField(allow_null=True, help_text="Its map's path; its own where the map is inline.")
    match = serializers.ChoiceField([match.value for match in Match], help_text="How the map was found.")


class BadFileShape(Shape):
    file = serializers.CharField()
    path = serializers.CharField(help_text="A place in it, such as `$.sections[3].map.mappings`.")
    detail = serializers.CharField()


class UploadShape(Shape):
    release = serializers.CharField()
    scripts = UploadedScriptShape(many=True)
    rejected = BadFileShape(many=True)
    unmatched = serializers.IntegerField(help_text="Scripts for which no map was found.")
    new_files = serializers.IntegerField(help_text="Scripts and maps that were not stored already.")


class SourceMapShape(Shape):
    release = serializers.CharField()
    url = serializers.CharField()
    file = serializers.CharField()
    state = serializers.ChoiceField([state.value for state in ScriptState])
    failure = serializers.CharField(allow_null=True, help_text="Why its map was set aside.")
    serves_other_releases = serializers.BooleanField(help_text="Its URL has a content hash.")
    map_bytes = serializers.IntegerField(allow_null=True)
    functions = serializers.IntegerField(help_text="Functions it was asked for.")
    mapped = serializers.IntegerField(help_text="Those of them that its map maps.")
    uploaded_at = serializers.DateTimeField()


class SourceMapsShape(Shape):
    total = serializers.IntegerField()
    source_maps = SourceMapShape(many=True)


class DeletedShape(Shape):
    deleted = serializers.IntegerField(help_text="Scripts that went, with their maps and labels.")


NOT_ALLOWED: Final = OpenApiResponse(ErrorShape, "Only admins, and tokens made with --sourcemaps.")


class SourceMapsView(ProjectView):
    token_scopes: tuple[str, ...] = (ApiToken.Scope.READ, ApiToken.Scope.SOURCEMAPS)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        self.known_params = KNOWN.get(request.method or "", ())
        super().initial(request, *args, **kwargs)
        if request.method in ("POST", "DELETE") and not self.may_change():
            raise PermissionDenied(
                "Source maps are changed by the project's admins, and tokens made with --sourcemaps."
            )

    def may_change(self) -> bool:
        """Tells whether who asks may upload and delete."""
        if isinstance(self.request.auth, ApiToken):
            return self.request.auth.scope == ApiToken.Scope.SOURCEMAPS
        return may_administer(self.request.user, self.project)

    @extend_schema(
        operation_id="source_maps",
        parameters=[
            OpenApiParameter("release", description="Of this release alone."),
            OpenApiParameter("limit", OpenApiTypes.INT, default=MAX_LISTED, description=f"1 to {MAX_LISTED}."),
        ],
        responses={200: SourceMapsShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What is uploaded, the last first, and how far its labels are. Contents are never served."""
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
            403: NOT_ALLOWED,
            413: OpenApiResponse(ErrorShape, "The body is larger than it may be."),
            422: OpenApiResponse(UploadShape, "Some files were left out; the others are stored."),
            503: OpenApiResponse(ErrorShape, "Others upload at the moment; `Retry-After` says when to try again."),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Takes a build folder as a tar, plain or gzip: its scripts and source maps. The same again changes nothing."""
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
        return Response(encode_report(release, report), status=422 if report.rejected else 200)

    @extend_schema(
        operation_id="delete_source_maps",
        parameters=[
            OpenApiParameter("release", required=True, description=RELEASE),
            OpenApiParameter("url", description="The script of this URL alone."),
        ],
        responses={200: DeletedShape, **ERRORS, 403: NOT_ALLOWED},
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Deletes a release's scripts and maps, or one of them; their functions lose their labels."""
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
    """Holds one of the process's turns to read an upload. Raises `OthersUpload` where all are taken."""
    if not _turns.acquire(blocking=False):
        raise OthersUpload("Others upload source maps at the moment.")
    try:
        yield
    finally:
        _turns.release()


@contextmanager
def spool_body(request: Request) -> Iterator[IO[bytes] | None]:
    """Yields a request's body as a file on disk, None for one that is larger than it may be."""
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
