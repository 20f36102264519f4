"""The client programs of PostgreSQL, and the address of the database in their words."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from django.conf import settings
from psycopg.conninfo import make_conninfo

from ops.supervisor.stores.binaries import find_machine_folders, find_wheel_folders

ASK_LIMIT_S: Final = 20


class BackupError(Exception):
    """A backup or a restore is refused or has failed; the text is one or two sentences."""


def read_fields() -> Mapping[str, str]:
    """Returns the connection's fields, by libpq's names, without the password."""
    fields: dict[str, Any] = settings.DATABASES["default"]  # Django's values have many types
    address = {"host": fields["HOST"], "port": fields["PORT"], "user": fields["USER"], "dbname": fields["NAME"]}
    more = {name: value for name, value in fields["OPTIONS"].items() if name.startswith("ssl")}
    return {name: str(value) for name, value in (address | more).items() if value}


def read_address() -> str:
    """Returns the address for a connection of our own."""
    fields = dict(read_fields())
    if password := settings.DATABASES["default"]["PASSWORD"]:
        fields["password"] = str(password)
    return make_conninfo(**fields)


def make_client_environment() -> dict[str, str]:
    """Returns the environment for a client program. The password is not on its command line, which others can see."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    if password := settings.DATABASES["default"]["PASSWORD"]:
        environment["PGPASSWORD"] = str(password)
    return environment


def find_program(name: str, *, server_major: int) -> tuple[Path, int]:
    """Returns a client program with its major version: that of the server, else the next newer one.

    An older one cannot read a newer server. Raises BackupError.
    """
    folders = [*find_wheel_folders(), *find_machine_folders()]
    if on_path := shutil.which(name):
        folders.append(Path(on_path).resolve().parent)
    paths = {major: folder / name for folder in reversed(folders) if (major := read_major(folder / name)) is not None}
    usable = sorted(major for major in paths if major >= server_major)
    if not usable:
        here = f"only of {', '.join(map(str, sorted(paths)))}" if paths else "none"
        raise BackupError(
            f"The server is PostgreSQL {server_major}, and this needs its {name} or a newer one; here is {here}. "
            f"Install it (on Debian, the package postgresql-client-{server_major}), or run {name} where the server is "
            "(docs/backup.md#other-servers)."
        )
    return paths[usable[0]], usable[0]


def read_major(program: Path) -> int | None:
    """Returns the major version of a client program, None if it does not run here."""
    if not os.access(program, os.X_OK):
        return None
    try:
        result = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=ASK_LIMIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+)", result.stdout)
    return int(match[1]) if match else None


def end_by_sigterm() -> None:
    """Lets SIGTERM end the command as Ctrl-C does: the client program is ended, and what is half is removed."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)


def run_program(command: list[str]) -> None:
    """Runs a client program to its end. Raises BackupError with the end of its words."""
    done = subprocess.run(command, env=make_client_environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = " ".join(done.stderr.strip().splitlines()[-3:]) or f"exit code {done.returncode}"
        raise BackupError(f"{Path(command[0]).name} failed: {said}")
