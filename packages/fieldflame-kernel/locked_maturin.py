"""The build backend: maturin, with exactly the crates of crates.lock.

crates.lock is Cargo.lock without its `source` lines, because they name a registry's host. Cargo refuses a lock without
them, so Cargo.lock is written before each build. `./run lock` calls this file to rewrite crates.lock.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Returns the name of the wheel that it writes, as PEP 517 asks."""
    from maturin import build_wheel as build

    write_cargo_lock()
    return str(build(wheel_directory, config_settings, metadata_directory))


def write_cargo_lock() -> None:
    """Writes Cargo.lock from crates.lock. Only cargo knows the registry; with `--no-deps` it asks no network."""
    package = json.loads(run_cargo("metadata", "--no-deps", "--offline", "--format-version=1"))["packages"][0]
    source = package["dependencies"][0]["source"]
    crates = (FOLDER / "crates.lock").read_text(encoding="utf-8")
    lock = re.sub("^checksum = ", f'source = "{source}"\n\\g<0>', crates, flags=re.MULTILINE)
    (FOLDER / "Cargo.lock").write_text(lock, encoding="utf-8")


def write_crates_lock(*, upgrade: bool) -> None:
    if upgrade:
        run_cargo("generate-lockfile")
    else:
        write_cargo_lock()
        run_cargo("update", "--workspace")
    lock = (FOLDER / "Cargo.lock").read_text(encoding="utf-8")
    (FOLDER / "crates.lock").write_text(re.sub("^source = .*\n", "", lock, flags=re.MULTILINE), encoding="utf-8")


def run_cargo(*arguments: str) -> str:
    """Returns what cargo prints."""
    return subprocess.run(["cargo", *arguments], cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    write_crates_lock(upgrade="--upgrade" in sys.argv)
