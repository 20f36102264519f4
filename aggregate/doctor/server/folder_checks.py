"""Checks of the data folder: who may read the secrets in it."""

import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from django.conf import settings

from aggregate.doctor.findings import Finding, ok, problem, warning

# Files of the data folder that only their owner may read: keys, passwords, addresses of the stores, backups.
SECRET_NAMES: Final = ("secret_key", "admin_password", "environment", "backups")
LOGS: Final = "logs"  # they name pages and addresses


def check_folders(_: datetime) -> Iterator[Finding]:
    """Yields which files of the data folder others may read or change."""
    folder = Path(settings.DATA_DIR)
    if not folder.is_dir():
        yield ok("permissions", "There is no data folder; all secrets are in the environment.")
        return
    faults = list(find_open(folder))
    yield from faults
    if not faults:
        yield ok("permissions", "Only their owner reads the secrets in the data folder.")


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
