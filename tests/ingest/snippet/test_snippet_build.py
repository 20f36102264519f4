"""The committed snippet is small, is what its source builds, and its lock names no host."""

import base64
import gzip
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.snippet.views import SNIPPET_PATH
from profcore.trace.funcs import SNIPPET_FUNCTIONS, SNIPPET_NAME

SOURCE_DIR = Path(__file__).resolve().parent.parent.parent.parent / "ingest" / "snippet"
# What a page loads, gzipped. The bare core lacks what docs/snippet.md lists.
LIMITS_BYTES = {"stub.js": 300, "bare.mjs": 2_400, "snippet.js": 4_200, "full.js": 4_800}


@pytest.mark.parametrize("name", LIMITS_BYTES)
def test_each_file_is_small(name: str) -> None:
    assert len(gzip.compress(SNIPPET_PATH.with_name(name).read_bytes(), 9)) <= LIMITS_BYTES[name]


def test_the_hash_in_the_docs_is_that_of_the_stub() -> None:
    digest = base64.b64encode(hashlib.sha256(SNIPPET_PATH.with_name("stub.js").read_bytes()).digest()).decode()
    assert f"'sha256-{digest}'" in (SOURCE_DIR.parent.parent / "docs" / "snippet.md").read_text()


def test_the_snippet_is_plain_ascii_for_pages_of_any_encoding() -> None:
    assert SNIPPET_PATH.read_bytes().isascii()


def find_node() -> str:
    """Returns the path of a Node, the machine's or the wheel's; skips the test where there is none, or no packages."""
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if node is None or not all(
        (SOURCE_DIR / "node_modules" / name).is_dir() for name in ("acorn", "esbuild", "terser")
    ):
        pytest.skip("no Node or no packages: run `npm ci` in ingest/snippet to check the snippet's source")
    return node


def test_the_committed_files_are_what_their_source_builds(tmp_path: Path) -> None:
    subprocess.run([find_node(), "build.mjs", str(tmp_path)], cwd=SOURCE_DIR, check=True, timeout=120)
    committed = [*SNIPPET_PATH.parent.iterdir(), SOURCE_DIR.parents[1] / "profcore" / "data" / "snippet-functions.json"]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in committed}
    for path in committed:
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


@pytest.mark.parametrize(("name", "suffix"), [("snippet.js", ""), ("full.js", "-full")])
def test_the_places_of_functions_hold_in_every_copy_that_a_server_fills(name: str, suffix: str) -> None:
    version = json.loads((SOURCE_DIR / "package.json").read_text())["version"]
    text = SNIPPET_PATH.with_name(name).read_text()
    last = max(column for _, column in SNIPPET_FUNCTIONS[version + suffix])
    assert last < text.index("FIELDFLAME_SETTINGS")
    assert last < text.index("/ingest/v1/traces")


@pytest.mark.parametrize("name", ["index.mjs", "bare.mjs", "full.mjs"])
def test_what_goes_on_after_an_answer_has_the_name_by_which_servers_know_it_in_a_bundle(name: str) -> None:
    text = SNIPPET_PATH.with_name(name).read_text()
    assert text.count("async") == text.count(f'async"{SNIPPET_NAME}"(') == 1


def test_the_places_of_older_versions_stay_known() -> None:
    assert {"1.0.0", "1.1.0", "1.1.1"} <= SNIPPET_FUNCTIONS.keys()


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
