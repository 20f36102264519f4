"""What Sentry's tools call to upload source maps: `sentry-cli` and the bundler plugins, with a token of ours.

The token names the project; the organization in the address may be any text. A file comes in parts
(`aggregate.sourcemaps.chunks`), and is an artifact bundle (`aggregate.sourcemaps.artifact_bundles`). What they do with
releases is answered: one that is created is announced, and nothing is kept of the rest. Each error is a sentence in
`detail`, which they print.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from aggregate.sourcemaps.archives import ArchiveError, BuildFile
from aggregate.sourcemaps.artifact_bundles import open_bundle
from aggregate.sourcemaps.chunks import CHUNK_BYTES, assembled, list_missing, store_chunk
from aggregate.sourcemaps.uploading import BadFile, UploadError, store_build
from dashboard.api.core.auth import TokenAuthentication
from dashboard.api.core.permissions import HasCredentials
from dashboard.api.core.views import OneRenderer
from dashboard.api.project.sourcemaps import RETRY_AFTER_S, OthersUpload, upload_turn
from dashboard.web.access import get_visible_project
from dashboard.web.uploads import sent_bytes, take_files
from profcore.formats.importers.completing import UNNAMED
from profcore.inflating import InflateError, inflate
from projects.models import ApiToken, Project
from projects.releases import ReleaseError, announce_release

CHUNKS_AT_ONCE: Final = 4  # parts of a request
MAX_REQUEST_BYTES: Final = CHUNKS_AT_ONCE * CHUNK_BYTES + 64 * 1024  # with what is around the parts
GZIP_FIELD: Final = "file_gzip"
FIELDS: Final = ("file", GZIP_FIELD)
GZIP_WINDOW: Final = 31  # zlib's code for a gzip stream
MAX_SHOWN: Final = 3  # files of which the answer says why they were left out

Sha1 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")]


class AssembleRequest(msgspec.Struct):
    """A file by the checksums of it and of its parts; the projects and the release that it is for."""

    checksum: Sha1
    chunks: Annotated[list[Sha1], msgspec.Meta(min_length=1, max_length=1_000)]
    projects: list[str] = []
    version: str | None = None


class SentryView(APIView):
    """The base of these addresses: they are for tokens with the scope `sourcemaps`, and for no session."""

    authentication_classes = [TokenAuthentication]
    permission_classes = [HasCredentials]
    content_negotiation_class = OneRenderer
    token_scopes = (ApiToken.Scope.SOURCEMAPS,)
    token: ApiToken
    project: Project

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # Any: as in DRF's stubs
        """Checks the token, then whether the address names its project."""
        super().initial(request, *args, **kwargs)
        assert isinstance(request.auth, ApiToken)  # no other authentication, and no guest has credentials here
        self.token = request.auth
        self.project = get_visible_project(self.token, self.token.project.slug)
        self.check_project(kwargs.get("project", self.project.slug))

    def check_project(self, slug: str) -> None:
        """Raises `ParseError` unless the token is of this project. For 404 the tools have a sentence of their own."""
        if slug != self.project.slug:
            raise ParseError(f"This token is for the project {self.project.slug}, not for {slug[:100]!r}.")

    def handle_exception(self, exc: Exception) -> Response:
        """Answers what is refused, and asks to come again if others upload."""
        if isinstance(exc, OthersUpload):
            return Response({"detail": str(exc)}, status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
        if isinstance(exc, UploadError | ReleaseError):
            exc = ParseError(str(exc))
        return super().handle_exception(exc)


class RootView(SentryView):
    """What `sentry-cli info` shows."""

    def get(self, request: Request) -> Response:
        return Response({"version": "0", "user": None, "auth": {"scopes": self.token.scopes}})


class ChunkUploadView(SentryView):
    parser_classes = [MultiPartParser]

    def get(self, request: Request, organization: str) -> Response:
        """Answers how to send parts."""
        return Response(
            {
                "url": request.build_absolute_uri(request.path),
                "chunkSize": CHUNK_BYTES,
                "chunksPerRequest": CHUNKS_AT_ONCE,
                "maxRequestSize": CHUNKS_AT_ONCE * CHUNK_BYTES,
                "maxFileSize": settings.SOURCE_MAP_MAX_UPLOAD_BYTES,
                "concurrency": 1,
                "hashAlgorithm": "sha1",
                "compression": ["gzip"],
                "accept": ["release_files", "artifact_bundles", "artifact_bundles_v2"],
            }
        )

    def post(self, request: Request, organization: str) -> Response:
        """Keeps parts of a file, each under its checksum, which is its name."""
        if sent_bytes(request._request) > MAX_REQUEST_BYTES:
            return Response({"detail": f"The body is larger than {MAX_REQUEST_BYTES} bytes."}, 413)
        take_files(request._request)
        files = [(field, file) for field in FIELDS for file in request.FILES.getlist(field)]
        if not 0 < len(files) <= CHUNKS_AT_ONCE:
            raise UploadError("body", f"send 1 to {CHUNKS_AT_ONCE} parts, in the fields {' or '.join(FIELDS)}.")
        for field, file in files:
            body = file.read(CHUNK_BYTES + 1)
            if field == GZIP_FIELD:
                body = expand(body)
            if len(body) > CHUNK_BYTES:
                raise UploadError("body", f"a part has more than {CHUNK_BYTES} bytes.")
            store_chunk(self.project.pk, str(file.name), body)
        return Response({})


class AssembleView(SentryView):
    def post(self, request: Request, organization: str) -> Response:
        """Stores the artifact bundle that some parts make; names those that are missing."""
        try:
            wanted = msgspec.convert(request.data, AssembleRequest)
        except msgspec.ValidationError as error:
            raise ParseError(f"The body cannot be read: {error}.") from None
        for slug in wanted.projects:
            self.check_project(slug)
        if missing := list_missing(self.project.pk, wanted.chunks):
            return Response({"state": "not_found", "missingChunks": missing})
        try:
            with (
                upload_turn(),
                assembled(self.project.pk, wanted.checksum, wanted.chunks) as file,
                open_bundle(file) as files,
            ):
                problem = store_bundle(self.project.pk, wanted.version or UNNAMED, files)
        except (UploadError, ArchiveError) as error:
            problem = str(error)
        return Response({"state": "error" if problem else "ok", "missingChunks": [], "detail": problem})


class ReleaseView(SentryView):
    """A release is created by its project's address or the organization's, and changed when the build is over."""

    def post(self, request: Request, organization: str, project: str = "") -> Response:
        """Announces a release."""
        for slug in read_list(request.data, "projects"):
            self.check_project(slug)
        release = request.data.get("version") if isinstance(request.data, dict) else None
        if not isinstance(release, str):
            raise ParseError("Say which release, as a text: version.")
        announce_release(self.project.pk, release, datetime.now(UTC))
        return self._answer(release, 201)

    def put(self, request: Request, organization: str, release: str, project: str = "") -> Response:
        """Answers that a release is finished, of which nothing is kept."""
        return self._answer(release, 200)

    def _answer(self, release: str, status: int) -> Response:
        project = {"slug": self.project.slug, "name": self.project.name}
        now = datetime.now(UTC).isoformat()
        return Response({"version": release, "dateCreated": now, "projects": [project]}, status)


def store_bundle(project_id: int, release: str, files: Mapping[str, Sequence[BuildFile]]) -> str | None:
    """Stores the files of a bundle, given by the prefixes of their URLs; returns what is wrong with it, if anything."""
    if not files:
        raise UploadError("body", "there is neither a script nor a map in it.")
    rejected: list[BadFile] = []
    scripts = 0
    for prefix, below in files.items():
        report = store_build(project_id, release=release, url_prefixes=[prefix], files=below)
        rejected += report.rejected
        scripts += len(report.scripts)
    if not rejected:
        return None if scripts else "None of its scripts has a map."
    reasons = [f"{bad.file} ({bad.path}): {bad.detail}" for bad in rejected[:MAX_SHOWN]]
    more = [f"{len(rejected) - MAX_SHOWN} more."] if len(rejected) > MAX_SHOWN else []
    return " ".join([f"Stored scripts: {scripts}. Left out: {len(rejected)}.", *reasons, *more])


def read_list(data: object, name: str) -> list[str]:
    """Returns a list of texts of a JSON body; nothing if it has none."""
    values = data.get(name) if isinstance(data, dict) else None
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def expand(body: bytes) -> bytes:
    """Returns the content of a compressed part. Raises `UploadError`."""
    try:
        return inflate(body, window=GZIP_WINDOW, max_bytes=CHUNK_BYTES, max_members=1)
    except InflateError:
        raise UploadError("body", f"a part is not gzip, or has more than {CHUNK_BYTES} bytes.") from None
