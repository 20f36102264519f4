"""The committed snippet is small, is what its source builds, and its lock names no host."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.snippet.views import SNIPPET_PATH

SOURCE_DIR = Path(__file__).resolve().parent.parent.parent.parent / "ingest" / "snippet"
GZIP_LIMIT_BYTES = 2048


def test_the_snippet_is_at_most_2_kilobytes_gzipped() -> None:
    assert len(gzip.compress(SNIPPET_PATH.read_bytes(), 9)) <= GZIP_LIMIT_BYTES


def test_the_snippet_is_plain_ascii_for_pages_of_any_encoding() -> None:
    assert SNIPPET_PATH.read_bytes().isascii()


def find_node() -> str:
    """Returns the path of a Node, the machine's or the wheel's; skips the test where there is none, or no packages."""
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if node is None or not (SOURCE_DIR / "node_modules" / "esbuild").is_dir():
        pytest.skip("no Node or no packages: run `npm ci` in ingest/snippet to check the snippet's source")
    return node


def test_the_committed_snippet_is_what_its_source_builds(tmp_path: Path) -> None:
    built = tmp_path / "snippet.js"
    subprocess.run([find_node(), "build.mjs", str(built)], cwd=SOURCE_DIR, check=True, timeout=120)
    assert built.read_bytes() == SNIPPET_PATH.read_bytes()


def test_the_source_passes_the_strict_type_check() -> None:
    command = [find_node(), "node_modules/typescript/bin/tsc", "--noEmit"]
    check = subprocess.run(command, cwd=SOURCE_DIR, capture_output=True, text=True, timeout=120, check=False)
    assert (check.returncode, check.stdout) == (0, "")


def test_the_lock_holds_a_hash_for_every_package_and_no_host() -> None:
    text = (SOURCE_DIR / "package-lock.json").read_text()
    packages = {name: package for name, package in json.loads(text)["packages"].items() if name}
    assert packages
    assert all("integrity" in package and "version" in package for package in packages.values())
    assert "://" not in text
