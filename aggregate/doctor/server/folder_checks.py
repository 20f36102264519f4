"""Checks of the data folder and of secrets' files: who may read them."""

import os
import stat
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from django.conf import settings

from aggregate.doctor.findings import Finding, ok, problem, warning

# Files of the data folder that only their owner may read: keys, passwords, addresses of the stores, backups.
SECRET_NAMES: Final = ("secret_key", "admin_password", "environment", "backups")
MOUNTED: Final = Path("/run/secrets")  # an orchestrator's: open there, and seen in its container only
LOGS: Final = "logs"  # they name pages and addresses


def check_folders(_: datetime) -> Iterator[Finding]:
    """Yields which secrets others may read or change."""
    folder = Path(settings.DATA_DIR)
    faults = [*find_open_files(os.environ), *(find_open(folder) if folder.is_dir() else ())]
    yield from faults
    if not faults:
        yield ok("permissions", "Only their owner reads the secrets.")


def find_open_files(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yields a finding for each secret's file, named by a variable such as DATABASE_URL_FILE, that is open to all."""
    for name, value in sorted(environ.items()):
        path = Path(value)
        is_ours = name.endswith("_FILE") and name.startswith(("FIELDFLAME_", "DATABASE_URL", "REDIS_URL"))
        if is_ours and MOUNTED not in path.parents and path.is_file() and read_mode(path) & stat.S_IRWXO:
            yield problem(
                "permissions", f"Others of this machine may read the file of {name}.", line=f"chmod 600 {path}"
            )


def find_open(folder: Path) -> Iterator[Finding]:
    """Yields a finding for each path that is open to others."""
    if read_mode(folder) & (stat.S_IWGRP | stat.S_IWOTH):
        yield problem("permissions", "Others may change the data folder.", line=f"chmod 711 {folder}")
    for name in SECRET_NAMES:
        path = folder / name
        if path.exists() and read_mode(path) & (stat.S_IRWXG | stat.S_IRWXO):
            mode = 700 if path.is_dir() else 600
            yield problem(
                "permissions",
                f"Others of this machine may read {name} in the data folder.",
                line=f"chmod {mode} {path}",
            )
    logs = folder / LOGS
    if logs.exists() and read_mode(logs) & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning("permissions", "Others of this machine may read the logs.", line=f"chmod 700 {logs}")


def read_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
