"""The kernel's build: from pinned crates with a cargo, once per source; without one nothing stops.

Made-up programs stand for uv and cargo here, and note what they were asked. The kernel that `./test` builds with the
real ones is what tests/profcore/twins compares.
"""

import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.files import ROOT

FOLDER = ROOT / "packages" / "fieldflame-kernel"
LIMIT_S = 120
INSTALLED = "lib/python3.11/site-packages/fieldflame_kernel"
UV = """#!/bin/sh
[ "$1" != --version ] || exit 0
echo "$@" >>"{root}/asked"
for last; do :; done
version=${{last#*==}}
{build}
mkdir -p "{root}/.venv/{installed}" "{root}/.venv/{installed}-${{version##*/}}.dist-info"
"""
CARGO = """#!/bin/sh
echo '{"packages":[{"dependencies":[{"name":"a","source":"registry+https://crates.example/index"}]}]}'
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A project with the kernel's sources and an environment, and a PATH with a made-up cargo or none."""

    root: Path
    system: Path  # the system's programs without its cargo

    @property
    def folder(self) -> Path:
        return self.root / "packages" / "fieldflame-kernel"

    @property
    def installed(self) -> Path:
        return self.root / ".venv" / INSTALLED

    @property
    def asked(self) -> list[str]:
        """What uv was asked, without the place."""
        asked = self.root / "asked"
        return asked.read_text(encoding="utf-8").replace(f"{self.root}/", "").splitlines() if asked.exists() else []

    def write_program(self, name: str, text: str) -> None:
        program = self.root / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)

    def add_uv(self, build: str = ":") -> None:
        self.write_program(".tools/bin/uv", UV.format(root=self.root, build=build, installed=INSTALLED))

    def add_cargo(self, build: str = ":") -> None:
        self.write_program("programs/cargo", CARGO)
        self.add_uv(build)

    def call(self, function: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Calls a function of bootstrap.sh, as `run` and `test` do."""
        script = f'set -eu; root="{self.root}"; . "{ROOT}/ops/supervisor/bootstrap.sh"; {function}; echo started'
        environment = {"PATH": f"{self.root}/programs:{self.system}", "HOME": str(self.root), "PYTHON": sys.executable}
        return subprocess.run(
            ["sh", "-c", script],
            env=environment | more,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to the system's programs, except to a cargo, which would be found."""
    folder = tmp_path_factory.mktemp("system")
    programs = {path.name: path for folder in ("/bin", "/usr/bin") for path in Path(folder).iterdir()}
    for name in programs.keys() - {"cargo"}:
        (folder / name).symlink_to(programs[name])
    return folder


@pytest.fixture
def place(tmp_path: Path, system: Path) -> Place:
    made = Place(tmp_path, system)
    shutil.copytree(FOLDER, made.folder, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    (tmp_path / ".venv").mkdir()
    made.write_program(
        "run", f'#!/bin/sh\nroot="{tmp_path}"; . "{ROOT}/ops/supervisor/bootstrap.sh"; install_kernel "$kernel"'
    )
    return made


def test_a_kernel_is_built_once_for_its_sources(place: Place) -> None:
    place.add_cargo()
    done = place.call("ensure_kernel")
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert "this takes about a minute, once" in done.stderr
    (call,) = place.asked
    assert "--build-constraint requirements/kernel.txt" in call
    assert call.endswith(" packages/fieldflame-kernel")
    (place.folder / "src" / "more.rs").touch()  # an empty file changes nothing
    assert place.call("ensure_kernel").stderr == ""
    assert place.asked == [call]
    (place.folder / "src" / "more.rs").write_text("//\n", encoding="utf-8")
    place.call("ensure_kernel")
    assert place.asked == [call, call]


def test_a_kernel_that_the_environment_lost_is_built_again(place: Place) -> None:
    place.add_cargo()
    place.call("ensure_kernel")
    place.installed.rmdir()
    place.call("ensure_kernel")
    assert place.installed.exists()


@pytest.mark.parametrize("function", ["ensure_kernel", "ensure_kernel_beside"])
def test_a_kernel_of_other_sources_goes_before_the_start(place: Place, function: str) -> None:
    place.add_cargo()
    place.call("ensure_kernel")
    (place.folder / "src" / "lib.rs").write_text("// other\n", encoding="utf-8")
    (place.root / "programs" / "cargo").unlink()
    assert place.call(function).stdout == "started\n"
    assert not place.installed.exists()


def test_a_kernel_that_was_installed_by_hand_stays(place: Place) -> None:
    place.installed.mkdir(parents=True)
    assert place.call("ensure_kernel").stdout == "started\n"
    assert place.installed.exists()


def test_a_build_that_fails_stops_nothing(place: Place) -> None:
    place.add_cargo(build="echo 'linker `cc` not found' >&2; exit 1")
    for function in ("ensure_kernel", "ensure_kernel_beside"):
        done = place.call(function)
        assert (done.returncode, done.stdout) == (0, "started\n")
    assert (
        "linker `cc` not found\nFieldflame: the compiled kernel could not be installed.\n"
        in place.call("ensure_kernel").stderr
    )
    assert not (place.root / ".venv" / "lock-kernel").exists()


def test_a_start_does_not_wait_for_the_kernel(place: Place) -> None:
    go = place.root / "go"
    place.add_cargo(build=f'until [ -e "{go}" ]; do sleep 0.1; done')
    done = place.call("ensure_kernel_beside")  # returns although the build cannot go on
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")
    assert not place.installed.exists()
    go.touch()
    deadline = time.monotonic() + LIMIT_S
    while not (place.root / ".venv" / "lock-kernel").exists():
        assert time.monotonic() < deadline, "the build did not end"
        time.sleep(0.05)


@pytest.mark.parametrize("function", ["ensure_kernel", "ensure_kernel_beside"])
def test_nothing_is_built_for_the_pure_twin(place: Place, function: str) -> None:
    place.add_cargo()
    assert place.call(function, FIELDFLAME_KERNEL="pure").stdout == "started\n"
    assert place.asked == []


def test_a_start_that_must_have_the_kernel_waits_for_it(place: Place) -> None:
    place.add_cargo()
    assert place.call("ensure_kernel_beside", FIELDFLAME_KERNEL="compiled").stdout == "started\n"
    assert place.installed.exists()


@pytest.mark.parametrize("function", ["ensure_kernel", "ensure_kernel_beside"])
def test_a_wheel_of_these_sources_is_installed_where_there_is_no_cargo(place: Place, function: str) -> None:
    place.add_uv()
    done = place.call(function, FIELDFLAME_KERNEL_WHEELS="/wheels")
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")
    (call,) = place.asked
    assert " --no-config --no-index --no-build --no-deps --find-links /wheels " in call
    crc, size = (place.root / ".venv" / "lock-kernel").read_text(encoding="utf-8").split()
    assert call.endswith(f" fieldflame-kernel==1.0.0+{crc}.{size}")
    place.call(function, FIELDFLAME_KERNEL_WHEELS="/wheels")
    assert place.asked == [call]
    (place.folder / "src" / "lib.rs").write_text("// other\n", encoding="utf-8")
    place.call(function, FIELDFLAME_KERNEL_WHEELS="/wheels")
    _, other = place.asked
    assert other != call


@pytest.mark.parametrize(
    ("build", "why"),
    [
        ("printf 'error: no\\n  platform tag\\n' >&2; exit 1", "error: no platform tag"),
        ("version=1.0.0", "a file has the name of another version"),
    ],
    ids=["does not fit", "renamed"],
)
def test_a_wheel_that_does_not_fit_is_not_used_and_one_line_says_so(place: Place, build: str, why: str) -> None:
    place.add_uv(build)
    done = place.call("ensure_kernel_beside", FIELDFLAME_KERNEL_WHEELS="/wheels")
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert done.stderr == f"Fieldflame: no wheel of /wheels fits this version on this machine: {why}\n"
    assert not place.installed.exists()
    assert not (place.root / ".venv" / "lock-kernel").exists()


def test_a_kernel_is_built_where_no_wheel_fits(place: Place) -> None:
    place.add_cargo(build="case $last in *==*) exit 1 ;; esac")
    assert place.call("ensure_kernel", FIELDFLAME_KERNEL_WHEELS="/wheels").stdout == "started\n"
    assert [call.endswith(" packages/fieldflame-kernel") for call in place.asked] == [False, True]
    assert place.installed.exists()


@pytest.mark.parametrize("wheels", ["http://wheels.example/", "ftp://wheels.example/"])
def test_wheels_are_not_taken_from_an_address_that_anybody_could_answer(place: Place, wheels: str) -> None:
    place.add_uv()
    done = place.call("ensure_kernel", FIELDFLAME_KERNEL_WHEELS=wheels)
    assert (done.stdout, place.asked) == ("started\n", [])
    assert "cannot be trusted with code" in done.stderr


def test_a_wheel_is_built_from_a_copy_with_the_version_of_its_sources(place: Place) -> None:
    place.add_cargo(build=f'cp "$last/pyproject.toml" "{place.root}/built.toml"')
    copies = place.root / "copies"
    copies.mkdir()
    assert place.call('build_wheel "$root/wheels"; read_kernel_version', TMPDIR=str(copies)).returncode == 0
    (call,) = place.asked
    assert "build --wheel" in call
    assert "--out-dir wheels " in call
    version = place.call("read_kernel_version").stdout.removesuffix("started\n")
    built = tomllib.loads((place.root / "built.toml").read_text(encoding="utf-8"))
    assert re.fullmatch(r"1\.0\.0\+\d+\.\d+", version)
    assert (built["project"]["version"], "dynamic" in built["project"]) == (version, False)
    assert list(copies.iterdir()) == []


def test_cargo_verifies_the_checksums_of_the_list(place: Place) -> None:
    """A crate in Cargo.lock is verified if it has a source and a checksum; only cargo itself names the source."""
    place.add_cargo()
    code = f"sys.path.insert(0, '{place.folder}'); import locked_maturin; locked_maturin.write_cargo_lock()"
    assert place.call(f'"$PYTHON" -c "import sys; {code}"').stdout == "started\n"
    listed = (place.folder / "crates.lock").read_text(encoding="utf-8")
    lock = (place.folder / "Cargo.lock").read_text(encoding="utf-8")
    assert lock.count('source = "registry+https://crates.example/index"\nchecksum = "') == listed.count("checksum = ")
    assert re.sub(r"source = .*\n", "", lock) == listed
    assert tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["maturin"]["locked"] is True


def test_the_list_of_crates_is_pinned_and_names_no_host() -> None:
    listed = (FOLDER / "crates.lock").read_text(encoding="utf-8")
    assert re.findall(r"https?://\S+|registry\+\S*|git\+\S*", listed) == []
    crates = re.findall(r'\[\[package\]\]\nname = "([\w-]+)"\nversion = "\S+"\n(checksum = "[0-9a-f]{64}"\n)?', listed)
    assert len(crates) == listed.count("[[package]]") > 10
    assert [name for name, checksum in crates if not checksum] == ["fieldflame-kernel"]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "Cargo.lock" not in tracked  # it names a host


def test_maturin_is_pinned_to_the_version_of_the_lock() -> None:
    (required,) = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert f"\n{required} \\\n" in (ROOT / "requirements" / "kernel.txt").read_text(encoding="utf-8")
