"""The files of a build: from a folder, or from a tar as CI sends it. Nothing is unpacked to disk."""

import gzip
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

from django.conf import settings

from profcore.litter import is_litter
from profcore.symbolicate.builds import clean_path

GZIP_MAGIC: Final = b"\x1f\x8b"
MAX_FOLDERS: Final = 20_000  # of a build: links may lead into each other, or to a whole disk
# The exceptions that `tarfile` and `gzip` raise for damaged or hostile archives.
DAMAGED: Final = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError)


class ArchiveError(Exception):
    """An archive cannot be read, or holds more than it may. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class BuildFile:
    """One file of a build: its path in it, its size, and how to read it."""

    path: str
    size_bytes: int
    read: Callable[[], bytes]


def list_folder(folder: Path) -> list[BuildFile]:
    """Returns the files in a folder and those below it, by path, without litter. Links are followed, as Bazel has them.

    A link to a file of another ending is skipped: a build does not name a password file `a.js`. Raises `ArchiveError`
    if there are too many folders, as behind a link to `/`.
    """
    files = []
    for path in sorted(_iter_paths(folder)):
        name = path.relative_to(folder).as_posix()
        if not is_litter(name) and path.is_file() and _is_of_its_kind(path):
            files.append(BuildFile(name, path.stat().st_size, path.read_bytes))
    return files


def _is_of_its_kind(path: Path) -> bool:
    """Returns whether a path is no link, or its file has the same ending."""
    return not path.is_symlink() or path.resolve().suffix == path.suffix != ""


def _iter_paths(folder: Path) -> Iterator[Path]:
    """Yields the paths in a folder and those below it, also behind links, except those that lead back up."""
    for count, (parent, folders, names) in enumerate(os.walk(folder, followlinks=True)):
        if count >= MAX_FOLDERS:
            raise ArchiveError(f"{folder} has more than {MAX_FOLDERS} folders, those behind links included.")
        here = Path(parent)
        above = {os.path.realpath(here), *(os.path.realpath(outer) for outer in here.parents)}
        folders[:] = [name for name in folders if os.path.realpath(here / name) not in above]
        yield from (here / name for name in names)


@contextmanager
def open_archive(file: IO[bytes]) -> Iterator[list[BuildFile]]:
    """Yields the files in a tar, plain or gzip, in its order; they are read while it is open.

    Links, devices and litter are skipped. Raises `ArchiveError`, also for a path that leads out of the archive, for too
    many files, and for too many bytes.
    """
    head = file.read(len(GZIP_MAGIC))
    file.seek(0)
    try:
        if head == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=file) as expanded, _open_tar(expanded) as files:
                yield files
        else:
            with _open_tar(file) as files:
                yield files
    except DAMAGED as error:
        raise ArchiveError(f"It is not a readable tar archive, plain or gzip: {error}.") from error


class _Bounded:
    """A stream with bounded reads: a tar's headers name sizes that `tarfile` reads at once."""

    def __init__(self, file: "IO[bytes] | gzip.GzipFile") -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= settings.SOURCE_MAP_MAX_FILE_BYTES:
            raise ArchiveError(f"One of its parts has more than {settings.SOURCE_MAP_MAX_FILE_BYTES} bytes.")
        return self._file.read(size)

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence != 0 or offset > 2 * settings.SOURCE_MAP_MAX_EXPANDED_BYTES:  # headers and padding come on top
            raise ArchiveError(f"Its files have more than {settings.SOURCE_MAP_MAX_EXPANDED_BYTES} bytes.")
        return self._file.seek(offset)


@contextmanager
def _open_tar(file: "IO[bytes] | gzip.GzipFile") -> Iterator[list[BuildFile]]:
    bounded: IO[bytes] = _Bounded(file)  # type: ignore[assignment]  # it has the methods that `tarfile` needs to read
    with tarfile.open(fileobj=bounded, mode="r:") as archive:
        yield list(_list_tar(archive))


def _list_tar(archive: tarfile.TarFile) -> Iterator[BuildFile]:
    count = total = 0
    for member in archive:
        count += 1
        total += member.size
        if count > settings.SOURCE_MAP_MAX_FILES:
            raise ArchiveError(f"It has more than {settings.SOURCE_MAP_MAX_FILES} files.")
        if total > settings.SOURCE_MAP_MAX_EXPANDED_BYTES:
            raise ArchiveError(f"Its files have more than {settings.SOURCE_MAP_MAX_EXPANDED_BYTES} bytes.")
        if not member.isfile() or is_litter(member.name):
            continue
        path = clean_path(member.name)
        if path is None:
            raise ArchiveError(f"{member.name[:200]!r} leads out of the archive.")
        yield BuildFile(path, member.size, partial(_read_member, archive, member))


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None  # a regular file
    content = file.read()
    if len(content) != member.size:
        raise ArchiveError(f"{member.name[:200]!r} is cut off.")
    return content
