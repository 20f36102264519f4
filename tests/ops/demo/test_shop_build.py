"""The shop's source builds the same releases each time, is strictly typed, and its lock names no host."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ops.demo.recordings import MAPS
from ops.demo.story import RELEASES
from tools.recording.packing import pack_build
from tools.recording.programs import SHOP

CULPRIT = "src/product/recommendations.ts"
SEARCH = "src/search.ts"


def find_node() -> str:
    """Returns the path of a Node, the machine's or the wheel's; skips the test where there is none, or no packages."""
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if node is None or not all((SHOP / "node_modules" / name).is_dir() for name in ("esbuild", "typescript")):
        pytest.skip("no Node or no packages: run `npm ci` in ops/demo/shop to check the shop's source")
    return node


def test_the_shipped_maps_are_what_the_source_builds(tmp_path: Path) -> None:
    subprocess.run([find_node(), "build.mjs", str(tmp_path)], cwd=SHOP, check=True, timeout=120)
    for release in RELEASES:
        root = tmp_path / release
        built = pack_build(root, [path.relative_to(root).as_posix() for path in root.rglob("*.js*")])
        assert built == (MAPS / f"{release}.tar.gz").read_bytes(), f"record the demo again: {release} is another build"


def test_the_source_passes_the_strict_type_check() -> None:
    command = [find_node(), "node_modules/typescript/bin/tsc", "--noEmit"]
    check = subprocess.run(command, cwd=SHOP, capture_output=True, text=True, timeout=120, check=False)
    assert (check.returncode, check.stdout) == (0, "")


def test_the_lock_holds_a_hash_for_every_package_and_no_host() -> None:
    text = (SHOP / "package-lock.json").read_text()
    packages = {name: package for name, package in json.loads(text)["packages"].items() if name}
    assert packages
    assert [name for name, package in packages.items() if "integrity" not in package] == []
    assert "://" not in text


def read_source(release: str, path: str) -> str:
    """Returns a source's text from the maps that are shipped."""
    with tarfile.open(MAPS / f"{release}.tar.gz") as archive:
        for member in archive.getmembers():
            if member.name.endswith(".map"):
                file = archive.extractfile(member)
                assert file is not None
                built = json.loads(file.read())
                for name, text in zip(built["sources"], built["sourcesContent"], strict=True):
                    if name.endswith(path):
                        return str(text)
    raise AssertionError(f"{release} has no {path}")


def test_the_maps_hold_what_changed_between_the_releases() -> None:
    culprits = [read_source(release, CULPRIT) for release in RELEASES]
    assert len(set(culprits)) == 3
    assert "export function buildIndex(" in read_source("1.0.0", SEARCH)
    assert "export function buildSearchIndex(" in read_source("1.1.0", SEARCH)
    assert read_source("1.1.0", SEARCH) == read_source("1.2.0", SEARCH)
