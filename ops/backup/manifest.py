"""What a backup says about itself: `manifest.json`, next to the dump."""

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from ops.backup.programs import BackupError

NAME: Final = "manifest.json"
DUMP: Final = "database.dump"
FORMAT: Final = 1


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a backup."""

    bytes: int
    sha256: str


class KeptTable(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a table, and the sum of their hashes (`ops.backup.checksums`)."""

    rows: int
    total: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A backup. `tables` is None if their rows were not summed."""

    format: int
    made_at: datetime
    postgres: int  # the major version of the server
    pg_dump: int  # the one of the program that wrote the dump: no older one can read it
    migrations: list[tuple[str, str]]  # app and name
    files: dict[str, KeptFile]
    tables: dict[str, KeptTable] | None
    took_s: float


def describe_file(path: Path) -> KeptFile:
    """Returns the size and digest of a file."""
    with path.open("rb") as file:
        return KeptFile(bytes=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def read_manifest(folder: Path) -> Manifest:
    """Returns the manifest of a backup. Raises BackupError if there is none, or if a file is not as it was written."""
    try:
        manifest = msgspec.json.decode((folder / NAME).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise BackupError(f"{folder} is not a backup: it has no {NAME}.") from None
    except msgspec.MsgspecError as error:
        raise BackupError(f"{folder / NAME} cannot be read: {error}.") from None
    if manifest.format != FORMAT:
        raise BackupError(f"{folder} was made by another version of Fieldflame (format {manifest.format}).")
    for name, kept in manifest.files.items():
        path = folder / name
        if not path.is_file() or describe_file(path) != kept:
            raise BackupError(f"{path} is missing or not as it was written; this backup cannot be trusted.")
    return manifest
