"""Storing a build: its files, once by content, and the release's scripts by URL."""

import gzip
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import connection, transaction

from aggregate.child_process import CrashedAlone, run_alone
from aggregate.label_models import Artifact
from aggregate.sourcemaps.archives import BuildFile
from aggregate.sourcemaps.labelling import ISOLATED_MODULE
from aggregate.sourcemaps.map_reader import GZIP_LEVEL, MapTask, result_decoder
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from aggregate.sourcemaps.scripts import ScriptRow, StoredMeanwhileDeleted, write_scripts
from ingest.notify import notify_worker
from ingest.storage.groups import allocate_ids
from profcore.formats.importers.completing import UNNAMED
from profcore.litter import is_litter
from profcore.symbolicate.builds import (
    BundleComments,
    InlineMapError,
    Match,
    Pair,
    find_named_file,
    is_bundle,
    is_map,
    may_be_map,
    pair_files,
    read_bundle,
)
from profcore.symbolicate.maps import MapError, read_map, read_map_debug_id
from profcore.symbolicate.paths import ANYWHERE, has_content_hash, is_url_prefix, script_uri
from profcore.trace.funcs import MAX_URI_CHARS, is_cut
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.releases import ReleaseError, announce_release, check_release

PREFIX_RULE: Final = (
    "must be a URL with scheme and host, and without query and fragment. "
    "A * stands for all subdomains, first in the host: https://*.shop.example/."
)
NO_DEBUG_ID: Final = "it has no debug id, so say where it is served: by its URL prefix. Or inject debug ids first."
TRIES: Final = 3  # if its files were deleted meanwhile, an upload stores them again


class UploadError(Exception):
    """The whole upload is refused: the field that it is about, and a sentence."""

    def __init__(self, field_name: str, detail: str) -> None:
        super().__init__(f"{field_name}: {detail}")
        self.field = field_name
        self.detail = detail


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file that was left out: its path in the build, a place in it such as `$.mappings`, and a sentence."""

    file: str
    path: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScript:
    """A script of the release: its URLs, the paths of its bundle and its map, and how they were matched.

    `missing_map` is the file that the bundle's comment names, if it is not among the uploaded ones.
    """

    file: str
    urls: tuple[str, ...]
    map: str | None
    match: Match
    missing_map: str | None = None


@dataclass(slots=True)
class UploadReport:
    """The result of an upload. `new_files` counts bundles and maps that were not stored before."""

    scripts: list[StoredScript] = field(default_factory=list)
    rejected: list[BadFile] = field(default_factory=list)
    new_files: int = 0

    @property
    def unmatched(self) -> int:
        """The number of bundles without a map."""
        return sum(script.match is Match.NO_MAP for script in self.scripts)

    @property
    def summary(self) -> str:
        """Says how many maps are stored."""
        maps = len(self.scripts) - self.unmatched
        return f"{maps} map{'' if maps == 1 else 's'} stored. "


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    """An upload: the project and release of its files, the addresses where they are served, and its report."""

    project_id: int
    release: str
    url_prefixes: Sequence[str]
    files: Sequence[BuildFile]
    report: UploadReport
    on_file: Callable[[str], object]


@dataclass(slots=True)
class _StoredFiles:
    """Files of a build that are in the database: artifact ids by path, and the facts that pair them."""

    bundles: dict[str, BundleComments] = field(default_factory=dict)
    maps: dict[str, UUID | None] = field(default_factory=dict)
    bundle_ids: dict[str, int] = field(default_factory=dict)
    map_ids: dict[str, int] = field(default_factory=dict)  # inline maps by their bundle's path


def store_build(
    project_id: int,
    *,
    release: str,
    url_prefixes: Sequence[str],
    files: Sequence[BuildFile],
    on_file: Callable[[str], object] = lambda _: None,
) -> UploadReport:
    """Stores the bundles and maps among some files, and their scripts under each prefix; notifies a worker.

    The prefix `ANYWHERE` is for scripts with debug ids; others are left out there. A file is a map by its name, or
    because a bundle's comment names it. `on_file` is called with the path of each bundle and map. A bad map is left out
    and reported; the rest is stored. An equal upload changes nothing. Raises `UploadError`.
    """
    check_upload(project_id, release, url_prefixes)
    build = [file for file in files if not is_litter(file.path)]
    if not any(is_bundle(file.path) or is_map(file.path) for file in build):
        raise UploadError("body", "there is neither a script (.js, .mjs, .cjs) nor a map among the files.")
    try:
        if release != UNNAMED:
            announce_release(project_id, release, datetime.now(UTC))
    except ReleaseError as error:
        raise UploadError("release", str(error)) from None
    for attempt in range(TRIES):
        report = UploadReport()
        upload = _Upload(
            project_id=project_id,
            release=release,
            url_prefixes=url_prefixes,
            files=build,
            report=report,
            on_file=on_file if attempt == 0 else lambda _: None,
        )
        stored = _store_files(upload)
        pairs = pair_files(stored.bundles, stored.maps, url_prefixes)
        try:
            _store_scripts(upload, pairs, stored)
            break
        except StoredMeanwhileDeleted:
            continue
    else:
        raise UploadError("body", "its files were deleted while it was stored; send it again.")
    notify_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)
    return report


def check_upload(project_id: int, release: str, url_prefixes: Sequence[str]) -> None:
    """Raises `UploadError` for errors that are known before any file is read."""
    try:
        check_release(release)
    except ReleaseError as error:
        raise UploadError("release", str(error)) from None
    if not url_prefixes:
        raise UploadError("url_prefix", "say where the files are served, such as https://shop.example/assets/.")
    for prefix in url_prefixes:
        if prefix != ANYWHERE and not is_url_prefix(prefix):
            raise UploadError("url_prefix", f"{prefix!r} {PREFIX_RULE}")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(octet_length(body)), 0) FROM aggregate_artifact WHERE project_id = %s", [project_id]
        )
        ((kept,),) = cursor.fetchall()
    if kept >= settings.SOURCE_MAPS_MAX_KEPT_BYTES:
        raise UploadError("body", f"the project's bundles and maps take {kept} bytes; delete those of old releases.")


def _store_files(upload: _Upload) -> _StoredFiles:
    """Stores bundles first, because they say which other files are maps."""
    stored = _StoredFiles()
    others = {file.path: file for file in upload.files if not is_bundle(file.path)}
    for file in upload.files:
        if is_bundle(file.path):
            _store_file(upload, file, stored)
    named = {find_named_file(path, comments, others, upload.url_prefixes) for path, comments in stored.bundles.items()}
    debug_ids = {comments.debug_id for comments in stored.bundles.values()} - {None}
    for path, file in others.items():
        if is_map(path) or path in named:
            _store_file(upload, file, stored)
        elif debug_ids and may_be_map(path) and _is_small_enough(file):
            content = file.read()
            if read_map_debug_id(content) in debug_ids:
                _store_file(upload, replace(file, read=partial(bytes, content)), stored)
    return stored


def _is_small_enough(file: BuildFile) -> bool:
    return file.size_bytes <= settings.SOURCE_MAP_MAX_FILE_BYTES


def _store_file(upload: _Upload, file: BuildFile, stored: _StoredFiles) -> None:
    """Stores a bundle or map, or reports why it is left out."""
    upload.on_file(file.path)
    report = upload.report
    if not _is_small_enough(file):
        detail = f"{file.size_bytes} bytes are more than {settings.SOURCE_MAP_MAX_FILE_BYTES}."
        report.rejected.append(BadFile(file.path, "$", detail))
        return
    try:
        content = file.read()
        if is_bundle(file.path):
            _store_bundle(upload.project_id, file.path, content, stored, report)
        else:
            check_map(content)
            stored.maps[file.path] = read_map_debug_id(content)
            stored.map_ids[file.path] = _store(upload.project_id, Artifact.Kind.MAP, content, report)
    except MapError as error:
        report.rejected.append(BadFile(file.path, error.path, error.detail))


def _store_bundle(project_id: int, path: str, content: bytes, stored: _StoredFiles, report: UploadReport) -> None:
    try:
        bundle = read_bundle(content)
    except InlineMapError as error:
        raise MapError("sourceMappingURL", str(error)) from None
    stored.bundle_ids[path] = _store(project_id, Artifact.Kind.BUNDLE, content, report, debug_id=bundle.debug_id)
    stored.bundles[path] = bundle
    if bundle.inline_map is not None:
        stored.bundles[path] = BundleComments(bundle.debug_id, None, None)
        try:
            check_map(bundle.inline_map)
        except MapError as error:
            raise MapError(f"sourceMappingURL {error.path}", error.detail) from None
        stored.bundles[path] = BundleComments(
            bundle.debug_id, None, b""
        )  # says that there is one; its content need not be kept
        stored.map_ids[path] = _store(project_id, Artifact.Kind.MAP, bundle.inline_map, report)


def check_map(content: bytes) -> None:
    """Raises `MapError` for a bad map. Reads a large one in a process of its own."""
    if len(content) <= settings.SOURCE_MAP_CHECK_HERE_BYTES:
        read_map(content)
        return
    task = MapTask(
        map=gzip.compress(content, 1),
        bundle=None,
        file="",
        positions=[],
        memory_bytes=settings.SYMBOLICATE_MEMORY_BYTES,
        cpu_s=settings.SYMBOLICATE_TIMEOUT_S,
    )
    try:
        answer = run_alone(ISOLATED_MODULE, msgspec.msgpack.encode(task), timeout_s=settings.SYMBOLICATE_TIMEOUT_S)
    except CrashedAlone as crash:
        raise MapError("$", f"reading it took more time or memory than is allowed: {crash}.") from None
    refusal = result_decoder.decode(answer).refusal
    if refusal is not None:
        path, detail = refusal
        raise MapError(path, detail)


def _store(
    project_id: int, kind: Artifact.Kind, content: bytes, report: UploadReport, *, debug_id: UUID | None = None
) -> int:
    """Returns the id of a bundle or map, and stores it if it is new."""
    digest = hashlib.sha256(content).digest()
    known = Artifact.objects.filter(project_id=project_id, kind=kind, digest=digest).values_list("id", flat=True)
    artifact = known.first()
    if artifact is not None:
        return artifact
    if kind is Artifact.Kind.MAP:
        debug_id = read_map_debug_id(content)
    packed = gzip.compress(content, GZIP_LEVEL, mtime=0)
    with transaction.atomic(), connection.cursor() as cursor:
        (artifact_id,) = allocate_ids(project_id, "artifact", 1)
        cursor.execute(
            """INSERT INTO aggregate_artifact (project_id, id, kind, digest, debug_id, size_bytes, body, created_at)
               VALUES (%s, %s, %s, %b, %s, %s, %b, %s) ON CONFLICT (project_id, digest, kind) DO NOTHING""",
            [project_id, artifact_id, int(kind), digest, debug_id, len(content), packed, datetime.now(UTC)],
        )
        report.new_files += cursor.rowcount
    return known.get()


def _store_scripts(upload: _Upload, pairs: Sequence[Pair], stored: _StoredFiles) -> None:
    rows: list[ScriptRow] = []
    report, paths = upload.report, {file.path for file in upload.files}
    for pair in pairs:
        debug_id = stored.bundles[pair.bundle].debug_id if pair.bundle else stored.maps[pair.map or ""]
        prefixes = [prefix for prefix in upload.url_prefixes if prefix != ANYWHERE or debug_id is not None]
        urls = tuple(dict.fromkeys(script_uri(prefix, pair.path) for prefix in prefixes))
        if any(map(is_cut, urls)):
            report.rejected.append(BadFile(pair.path, "$", f"its URL is longer than {MAX_URI_CHARS} characters."))
            continue
        if not urls:
            if pair.map is not None:  # nothing is lost without a map
                report.rejected.append(BadFile(pair.path, "$", NO_DEBUG_ID))
            continue
        rows += [
            ScriptRow(
                uri=url,
                file=pair.path,
                is_shared=has_content_hash(url),
                bundle_id=stored.bundle_ids[pair.bundle] if pair.bundle else None,
                map_id=stored.map_ids[pair.map] if pair.map else None,
                debug_id=debug_id,
            )
            for url in urls
        ]
        missing = _find_missing(pair, stored, paths, upload.url_prefixes)
        report.scripts.append(
            StoredScript(file=pair.path, urls=urls, map=pair.map, match=pair.match, missing_map=missing)
        )
    with transaction.atomic():
        by_debug_id = write_scripts(upload.project_id, upload.release, rows)
        record(Act.SOURCE_MAPS_UPLOADED, project=upload.project_id, release=upload.release, scripts=len(report.scripts))
    report.scripts = [
        replace(script, match=Match.DEBUG_ID, missing_map=None)
        if script.match is Match.NO_MAP and by_debug_id.intersection(script.urls)
        else script
        for script in report.scripts
    ]


def _find_missing(pair: Pair, stored: _StoredFiles, paths: set[str], url_prefixes: Sequence[str]) -> str | None:
    """Returns what the comment of a pair's bundle names, None if that is not needed or is in the upload."""
    if pair.bundle is None or pair.match not in (Match.NAME, Match.NO_MAP):
        return None
    comments = stored.bundles[pair.bundle]
    is_there = find_named_file(pair.bundle, comments, paths, url_prefixes) is not None
    return None if is_there else comments.mapping_url
