"""The kernel's build: from pinned crates with a cargo, once per source; without one it says why and stops nothing.

A made-up cargo stands for the real one here, and notes what it was asked. The kernel that `./test` builds with the
real one is what tests/profcore/test_kernel.py loads.
"""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from profcore.kernel import BUILT_NAME, SOURCE_FOLDER, find_kernel

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 120
CARGO = """#!/bin/sh
echo "$1" >>"{asked}"
case $1 in
    metadata) echo '{{"dependencies":[{{"name":"a","source":"registry+https://crates.example/index"}}]}}' ;;
    build)
        {build}
        mkdir -p "$CARGO_TARGET_DIR/release"
        echo library >"$CARGO_TARGET_DIR/release/libfieldflame_kernel.so"
        ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A copy of the kernel's sources in a project of its own, and a PATH with a made-up cargo or none."""

    root: Path
    programs: Path

    @property
    def folder(self) -> Path:
        return self.root / "packages" / "fieldflame-kernel"

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.root)}

    def add_cargo(self, build: str = ":") -> None:
        cargo = self.programs / "cargo"
        cargo.write_text(CARGO.format(asked=self.programs / "asked", build=build), encoding="utf-8")
        cargo.chmod(0o755)

    def list_asked(self) -> list[str]:
        asked = self.programs / "asked"
        return asked.read_text(encoding="utf-8").split() if asked.exists() else []

    def build(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run([str(self.folder / "build"), *words])

    def ensure(self, function: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Calls a function of bootstrap.sh, as `run` and `test` do."""
        script = f'set -eu; root="{self.root}"; . "{ROOT}/config/up/bootstrap.sh"; {function}; echo started'
        return self.run(["sh", "-c", script], **more)

    def run(self, command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.environment | more, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    if shutil.which("cargo", path="/usr/bin:/bin"):
        pytest.skip("the system's own cargo would be found")
    found = Place(tmp_path, tmp_path / "programs")
    shutil.copytree(SOURCE_FOLDER, found.folder, ignore=shutil.ignore_patterns("built", "target", "Cargo.lock"))
    found.programs.mkdir()
    return found


def test_a_kernel_is_built_once_for_its_sources(place: Place) -> None:
    place.add_cargo()
    assert place.build("stamp").returncode != 0
    for _ in range(2):
        done = place.build()
        assert (done.returncode, done.stderr) == (0, "")
    assert place.list_asked() == ["metadata", "build"]
    assert (place.folder / BUILT_NAME).read_text(encoding="utf-8") == "library\n"
    assert place.build("stamp").returncode == 0
    (place.folder / "src" / "more.rs").touch()
    assert place.build("stamp").returncode == 0  # an empty file changes nothing
    (place.folder / "src" / "more.rs").write_text("//\n", encoding="utf-8")
    assert place.build("stamp").returncode != 0


def test_cargo_verifies_the_checksums_of_the_list(place: Place) -> None:
    """A crate in Cargo.lock is verified if it has a source and a checksum; only cargo itself names the source."""
    place.add_cargo()
    place.build()
    listed = (place.folder / "crates.lock").read_text(encoding="utf-8")
    lock = (place.folder / "Cargo.lock").read_text(encoding="utf-8")
    assert lock.count('source = "registry+https://crates.example/index"\nchecksum = "') == listed.count("checksum = ")
    assert re.sub(r"source = .*\n", "", lock) == listed
    assert "--locked" in (place.folder / "build").read_text(encoding="utf-8")


def test_the_list_of_crates_is_pinned_and_names_no_host() -> None:
    listed = (SOURCE_FOLDER / "crates.lock").read_text(encoding="utf-8")
    assert re.findall(r"https?://\S+|registry\+\S*|git\+\S*", listed) == []
    crates = re.findall(r'\[\[package\]\]\nname = "([\w-]+)"\nversion = "\S+"\n(checksum = "[0-9a-f]{64}"\n)?', listed)
    assert len(crates) == listed.count("[[package]]") > 10
    assert [name for name, checksum in crates if not checksum] == ["fieldflame-kernel"]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "Cargo.lock" not in tracked  # it names a host


def test_without_cargo_the_reason_is_kept_for_whoever_asks(place: Place) -> None:
    done = place.build()
    assert done.returncode != 0
    assert done.stderr == "there is no cargo on the PATH\n"
    why = "the compiled kernel is not built here: there is no cargo on the PATH"
    assert find_kernel("auto", place.folder).why_pure == why


def test_what_cargo_says_is_the_reason(place: Place) -> None:
    place.add_cargo(build="echo 'error: linker `cc` not found' >&2; exit 101")
    done = place.build()
    assert done.returncode != 0
    assert "cargo failed: linker `cc` not found" in done.stderr
    assert not (place.folder / BUILT_NAME).exists()
    assert "linker `cc` not found" in find_kernel("auto", place.folder).why_pure


def test_a_folder_that_cannot_be_written_stops_nothing(place: Place) -> None:
    place.add_cargo()
    (place.folder / "built").write_text("in the way", encoding="utf-8")
    for function in ("ensure_kernel", "ensure_kernel_beside"):
        done = place.ensure(function)
        assert (done.returncode, done.stdout) == (0, "started\n")


def test_tests_wait_for_the_kernel_and_go_on_without_it(place: Place) -> None:
    done = place.ensure("ensure_kernel")
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert "pure Python does its work: there is no cargo on the PATH." in done.stderr
    place.add_cargo()
    done = place.ensure("ensure_kernel")
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert (place.folder / BUILT_NAME).exists()
    assert place.ensure("ensure_kernel").stderr == ""


def test_a_start_does_not_wait_for_the_kernel(place: Place) -> None:
    go = place.programs / "go"
    place.add_cargo(build=f'until [ -e "{go}" ]; do sleep 0.1; done')
    done = place.ensure("ensure_kernel_beside")  # returns although the build cannot go on
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")
    assert not (place.folder / BUILT_NAME).exists()
    go.touch()
    deadline = time.monotonic() + LIMIT_S
    while place.build("stamp").returncode != 0:
        assert time.monotonic() < deadline, "the build did not end"
        time.sleep(0.05)


def test_a_start_without_cargo_leaves_the_reason(place: Place) -> None:
    done = place.ensure("ensure_kernel_beside")
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")
    assert "no cargo on the PATH" in find_kernel("auto", place.folder).why_pure


@pytest.mark.parametrize("function", ["ensure_kernel", "ensure_kernel_beside"])
def test_nothing_is_built_for_the_pure_twin(place: Place, function: str) -> None:
    place.add_cargo()
    assert place.ensure(function, FIELDFLAME_KERNEL="pure").stdout == "started\n"
    assert place.list_asked() == []


def test_a_start_that_must_have_the_kernel_waits_for_it(place: Place) -> None:
    place.add_cargo()
    assert place.ensure("ensure_kernel_beside", FIELDFLAME_KERNEL="compiled").stdout == "started\n"
    assert (place.folder / BUILT_NAME).exists()


def test_a_start_that_must_have_the_kernel_does_not_speak_of_pure_python(place: Place) -> None:
    done = place.ensure("ensure_kernel_beside", FIELDFLAME_KERNEL="compiled")
    assert done.stderr == "Fieldflame: the compiled kernel is not built: there is no cargo on the PATH.\n"


def test_run_and_test_build_it() -> None:
    assert "ensure_kernel\n" in (ROOT / "test").read_text(encoding="utf-8")
    assert "ensure_kernel_beside\n" in (ROOT / "run").read_text(encoding="utf-8")
    assert os.access(SOURCE_FOLDER / "build", os.X_OK)
