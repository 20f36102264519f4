"""The exchange of a data folder for its upgraded copy: two renames, of which an interruption may leave the second.

`postgres.upgraded` is the copy. Once its rows were compared with those of `postgres`, it has the file `VERIFIED`. Then
`postgres` becomes `postgres.old-16`, and the copy becomes `postgres`. Each start looks here first, because a missing
`postgres` would otherwise mean that nothing was ever stored.
"""

import os
import re
import shutil
import signal
from pathlib import Path
from typing import Final

from config.up.messages import StartError
from config.up.proc import end_processes, list_processes, works_in

VERIFIED: Final = "fieldflame_verified"
OLD_NAME: Final = re.compile(r"\.old-(\d+)$")
GENTLE_LIMIT_S: Final = 30.0


def copy_of(data: Path) -> Path:
    """Returns the place of the upgraded copy of a data folder."""
    return data.with_name(f"{data.name}.upgraded")


def old_of(data: Path, major: int) -> Path:
    """Returns the place where the data of a former major version is kept."""
    return data.with_name(f"{data.name}.old-{major}")


def list_old(data: Path) -> list[Path]:
    """Returns the kept folders of former major versions."""
    return sorted(path for path in data.parent.glob(f"{data.name}.old-*") if OLD_NAME.search(path.name))


def exchange(data: Path, major: int) -> Path:
    """Puts the verified copy into the place of the data of `major`; returns where the old data is kept."""
    kept = old_of(data, major)
    data.rename(kept)
    sync_folder(data.parent)
    copy_of(data).rename(data)
    (data / VERIFIED).unlink()
    sync_folder(data.parent)
    return kept


def finish_exchange(given: Path) -> None:
    """Ends an exchange that was interrupted, and removes a copy that was not. Raises StartError if data is missing.

    The folder's lock must be held.
    """
    data = given.resolve()  # root may have a link here
    copy = copy_of(data)
    if data.exists():
        (data / VERIFIED).unlink(missing_ok=True)
        remove_copy(data)
    elif (copy / VERIFIED).exists() and list_old(data):
        copy.rename(data)
        (data / VERIFIED).unlink()
        sync_folder(data.parent)
    elif old := list_old(data):
        raise StartError(
            f"{data} is missing, but {old[-1]}, which an upgrade of PostgreSQL kept, is there. Move it back "
            f"(mv {old[-1]} {data}), or to another place to start from nothing."
        )


def remove_copy(data: Path) -> None:
    """Removes the copy of an upgrade that did not end, and the servers that may still run in it."""
    copy = copy_of(data)
    if copy.exists():
        end_servers(copy)
        shutil.rmtree(copy)


def end_servers(data: Path) -> None:
    """Ends the servers that run in a data folder. Raises StartError if they do not stop."""

    if not end_processes(
        lambda: (process for process in list_processes() if works_in(process.pid, data)),
        gentle=signal.SIGINT,
        gentle_limit_s=GENTLE_LIMIT_S,
    ):
        raise StartError(f"A PostgreSQL server runs in {data} and does not stop.")


def sync_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
