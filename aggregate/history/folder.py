"""The folder of a history: a file per table, project and day, and a manifest per project and day.

    FOLDER/TABLE/project=SLUG/day=2026-11-20/TABLE.parquet
    FOLDER/manifests/project=SLUG/2026-11-20.json
    FOLDER/writing/SLUG/                            while a day is written

A day is complete if it has a manifest whose files are there in their sizes. Its files are written elsewhere, compared,
and renamed; the manifest goes first and comes back last. So a day that was killed halfway has no manifest, and is
written again.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from aggregate.history.columns import TABLES, HistoryTable

MANIFESTS: Final = "manifests"
WRITING: Final = "writing"


class HistoryError(Exception):
    """A sentence on why a history cannot be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A written table of a day. `sums` are those of the whole table, by column."""

    size_bytes: int
    rows: int
    sums: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What was written of a day. `cells`, `first_cell` and `digest` are of its source (`source.DaySource`)."""

    schema: int
    project_id: int
    day: str
    cells: int
    first_cell: int
    digest: int
    written_at: str
    files: Mapping[str, WrittenFile]

    @property
    def size_bytes(self) -> int:
        """The bytes of all files."""
        return sum(file.size_bytes for file in self.files.values())


class HistoryFolder:
    """The history of one project in a folder."""

    def __init__(self, root: Path, slug: str) -> None:
        self.root = root
        self.slug = slug
        self.writing = root / WRITING / slug

    def path_of(self, table: HistoryTable, day: date) -> Path:
        """Returns the path of a day's file."""
        return self.root / table.name / f"project={self.slug}" / f"day={day.isoformat()}" / table.file_name

    def manifest_path(self, day: date) -> Path:
        """Returns the path of a day's manifest."""
        return self.root / MANIFESTS / f"project={self.slug}" / f"{day.isoformat()}.json"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the project's part of the folder. Raises `HistoryError` if another export writes there."""
        self.writing.mkdir(parents=True, exist_ok=True)
        with (self.writing / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HistoryError(f"another export writes days of {self.slug} there.") from None
            self.clear_workplace()
            yield

    def clear_workplace(self) -> None:
        """Deletes what a killed export has left where days are written."""
        for path in self.writing.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()

    def read_manifests(self) -> dict[date, Manifest]:
        """Returns the manifests of all days by day. One that cannot be read is left out."""
        manifests: dict[date, Manifest] = {}
        for path in sorted((self.root / MANIFESTS / f"project={self.slug}").glob("*.json")):
            try:
                manifest = _read_manifest(json.loads(path.read_text(encoding="utf-8")))
                manifests[date.fromisoformat(path.stem)] = manifest
            except (ValueError, KeyError, TypeError):
                continue
        return manifests

    def days_without_manifest(self) -> list[date]:
        """Returns the days that have files but no manifest."""
        days = set()
        for table in TABLES:
            for path in (self.root / table.name / f"project={self.slug}").glob("day=*/*.parquet"):
                day = date.fromisoformat(path.parent.name.removeprefix("day="))
                if not self.manifest_path(day).exists():
                    days.add(day)
        return sorted(days)

    def is_whole(self, day: date, manifest: Manifest) -> bool:
        """Returns whether the files of a day are there as its manifest says."""
        for table in TABLES:
            try:
                size = self.path_of(table, day).stat().st_size
            except OSError:
                return False
            if table.name not in manifest.files or manifest.files[table.name].size_bytes != size:
                return False
        return True

    def put(self, day: date, files: Mapping[HistoryTable, Path], manifest: Manifest) -> None:
        """Replaces a day's files by others, of the same file system, and its manifest."""
        self.manifest_path(day).unlink(missing_ok=True)
        for table, written in files.items():
            _sync(written)
            target = self.path_of(table, day)
            target.parent.mkdir(parents=True, exist_ok=True)
            written.replace(target)
            _sync(target.parent)
        self._write_manifest(day, manifest)

    def remove(self, day: date) -> None:
        """Removes a day's manifest and files."""
        self.manifest_path(day).unlink(missing_ok=True)
        for table in TABLES:
            path = self.path_of(table, day)
            path.unlink(missing_ok=True)
            if path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()

    def _write_manifest(self, day: date, manifest: Manifest) -> None:
        target, written = self.manifest_path(day), self.writing / f"{day.isoformat()}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(json.dumps(asdict(manifest), indent=1) + "\n", encoding="utf-8")
        _sync(written)
        written.replace(target)
        _sync(target.parent)


def _read_manifest(values: dict[str, Any]) -> Manifest:  # Any: JSON
    files = {name: WrittenFile(**file) for name, file in values.pop("files").items()}
    return Manifest(**values, files=files)


def _sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
