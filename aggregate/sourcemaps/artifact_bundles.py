"""Artifact bundles, as Sentry's tools make them: a zip whose `manifest.json` says what each of its files is.

The files are not unpacked to disk, and their paths are those of the manifest's URLs: no name in the zip names a place.
"""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import IO, Final
from urllib.parse import unquote

import msgspec
from django.conf import settings

from aggregate.sourcemaps.archives import DAMAGED, ArchiveError, BuildFile
from profcore.symbolicate.builds import clean_path
from profcore.symbolicate.paths import ANYWHERE

MANIFEST: Final = "manifest.json"
MAX_MANIFEST_BYTES: Final = 16 * 2**20  # 800 for each of the most files
MAX_DIRECTORY_BYTES: Final = 8 * 2**20  # of the zip: Python reads it at once, and makes 600 bytes of 60
FILE_TYPES: Final = frozenset({"minified_source", "source_map"})  # others are sources, which maps have too
METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may need much more memory than they give bytes
ENCRYPTED: Final = 0x1
UNREADABLE: Final = (*DAMAGED, zipfile.BadZipFile, NotImplementedError)


class BundleFile(msgspec.Struct):
    """What the manifest says of a file: its URL, and its type."""

    url: str
    type: str


class BundleManifest(msgspec.Struct):
    """The manifest of a bundle; its files by their names in the zip."""

    files: dict[str, BundleFile]


class _Directory:
    """A zip file with a bounded directory, whose length the zip says itself."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self.is_open = False

    def read(self, size: int = -1) -> bytes:
        if self.is_open:
            return self._file.read(size)
        content = self._file.read(MAX_DIRECTORY_BYTES + 1 if size < 0 else min(size, MAX_DIRECTORY_BYTES + 1))
        if len(content) > MAX_DIRECTORY_BYTES:
            raise ArchiveError(f"Its directory has more than {MAX_DIRECTORY_BYTES} bytes.")
        return content


@contextmanager
def open_bundle(file: IO[bytes]) -> Iterator[Mapping[str, list[BuildFile]]]:
    """Yields the scripts and maps of a bundle by the prefix of their URLs; they are read while it is open.

    The prefix is an origin with a slash, or `ANYWHERE`. Raises `ArchiveError`, also for too many files or bytes, and
    for a URL that leads out of its origin.
    """
    directory = _Directory(file)
    try:
        with zipfile.ZipFile(directory) as archive:
            directory.is_open = True
            yield _list_files(archive)
    except UNREADABLE as error:
        raise ArchiveError(f"It is not a readable artifact bundle: {error}.") from error


def _list_files(archive: zipfile.ZipFile) -> Mapping[str, list[BuildFile]]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(archive.infolist()) > settings.SOURCE_MAP_MAX_FILES:
        raise ArchiveError(f"It has more than {settings.SOURCE_MAP_MAX_FILES} files.")
    if sum(entry.file_size for entry in entries.values()) > settings.SOURCE_MAP_MAX_EXPANDED_BYTES:
        raise ArchiveError(f"Its files have more than {settings.SOURCE_MAP_MAX_EXPANDED_BYTES} bytes.")
    if MANIFEST not in entries or entries[MANIFEST].file_size > MAX_MANIFEST_BYTES:
        raise ArchiveError(f"It has no {MANIFEST} of at most {MAX_MANIFEST_BYTES} bytes.")
    try:
        manifest = msgspec.json.decode(_read(archive, entries[MANIFEST]), type=BundleManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ArchiveError(f"Its {MANIFEST} cannot be read: {error}.") from None
    files: dict[str, list[BuildFile]] = {}
    for name, about in sorted(manifest.files.items()):
        if about.type not in FILE_TYPES:
            continue
        if name not in entries:
            raise ArchiveError(f"Its {MANIFEST} names {name[:200]!r}, which it does not have.")
        prefix, path = _split(about.url)
        entry = entries[name]
        files.setdefault(prefix, []).append(BuildFile(path, entry.file_size, partial(_read, archive, entry)))
    return files


def _split(url: str) -> tuple[str, str]:
    """Returns the prefix of a file's URL, and its path below it."""
    if url.startswith(ANYWHERE):
        prefix, path = ANYWHERE, url.removeprefix(ANYWHERE)
    else:
        scheme, separator, rest = url.partition("://")
        host, slash, path = rest.partition("/")
        prefix = scheme + separator + host + slash
    path = path.partition("?")[0].partition("#")[0]
    cleaned = clean_path(unquote(path))  # it is escaped again when its script's URL is made
    if cleaned is None:
        raise ArchiveError(f"The URL {url[:200]!r} names no file below its origin, or below ~/.")
    return prefix, cleaned


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Returns the content of a file, of which the zip's directory tells the size."""
    if entry.compress_type not in METHODS or entry.flag_bits & ENCRYPTED:
        raise ArchiveError(f"{entry.filename[:200]!r} is neither stored nor deflated, or it is encrypted.")
    with archive.open(entry) as stream:
        content = stream.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ArchiveError(f"{entry.filename[:200]!r} has not the size that is said.")
    return content
