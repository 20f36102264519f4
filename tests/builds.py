"""The builds that the corpus was recorded with, and their expected symbolication. They hold third-party code, and are
no part of the project: tests that need them skip where `../shared/traces` is absent.
"""

import gzip
import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

SHARED: Final = Path(__file__).resolve().parents[2] / "shared" / "traces"
BUNDLES: Final = SHARED / "bundles-dev.tar.xz"
SYMBOLS: Final = SHARED / "symbols-dev.json.gz"
needs_builds: Final = pytest.mark.skipif(
    not (BUNDLES.exists() and SYMBOLS.exists()), reason=f"the recorded apps' builds are not in {SHARED}"
)
# Written by an independent library: JSON as it is.
Json = dict[str, Any]


@cache
def build_files() -> dict[str, bytes]:
    """Returns each file of the builds by its path, such as `shopboard/1.0.0/assets/main-LYD7EPAI.js`."""
    with tarfile.open(BUNDLES) as archive:
        members = [member for member in archive if member.isfile()]
        return {
            member.name.removeprefix("bundles/"): file.read()
            for member in members
            if (file := archive.extractfile(member)) is not None
        }


@cache
def manifest() -> dict[str, Json]:
    """Returns the builds' scripts by URL: `file`, `map`, `app` and `release`."""
    scripts: dict[str, Json] = json.loads(build_files()["manifest.json"])
    return scripts


@cache
def symbols() -> list[Json]:
    """Returns what an independent library found for each recorded func."""
    with gzip.open(SYMBOLS, "rb") as file:
        entries: list[Json] = json.load(file)["symbols"]
    return entries
