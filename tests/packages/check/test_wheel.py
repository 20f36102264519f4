"""The wheel of `fieldflame`: built, installed into a fresh environment, and run with only what it declares."""

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

from tests.packages.check.made_server import TOKEN
from tests.packages.conftest import PACKAGES

pytestmark = pytest.mark.slow(10)
LIMIT_S: Final = 300


def run(
    *arguments: str | Path, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the package's folder."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(PACKAGES / "fieldflame", folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=folder / "source")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def list_needed(name: str, needed: set[str] | None = None) -> set[str]:
    """Returns a package and all that it needs, by what these say themselves."""
    needed = set() if needed is None else needed
    if name not in needed:
        needed.add(name)
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                list_needed(requirement.name, needed)
    return needed


def lay_out_needed(wheel: Path, folder: Path) -> Path:
    """Links what the wheel declares to need into a folder, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (member for member in archive.namelist() if member.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    declared = [Requirement(line.partition(": ")[2]) for line in lines if line.startswith("Requires-Dist: ")]
    assert [requirement.name for requirement in declared if requirement.marker is None] == ["httpx"]
    folder.mkdir()
    for package in list_needed("httpx"):
        installed = distribution(package)
        for top in {file.parts[0] for file in installed.files or () if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(str(installed.locate_file(top)))
    return folder


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    source = PACKAGES / "fieldflame"
    files = (path for path in (source / "fieldflame").rglob("*") if path.suffix == ".py" or path.name == "py.typed")
    modules = {path.relative_to(source).as_posix() for path in files}
    assert {name for name in names if name.startswith("fieldflame/")} == modules
    assert {name.partition("/")[0] for name in names} == {"fieldflame", f"{wheel.name.split('-py3')[0]}.dist-info"}


def test_the_wheel_runs_in_a_fresh_environment_with_what_it_declares(wheel: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        pytest.skip("this Python has no ensurepip, so no fresh environment has a pip")
    home = tmp_path / "fresh"
    plain = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    made = run(sys.executable, "-m", "venv", home, cwd=tmp_path, environment=plain)
    assert made.returncode == 0, made.stdout + made.stderr
    python = home / "bin" / "python"
    installed = run(
        *(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", wheel),
        cwd=tmp_path,
        environment=plain,
    )
    assert installed.returncode == 0, installed.stderr
    command = home / "bin" / "fieldflame"
    needs = {**plain, "PYTHONPATH": str(lay_out_needed(wheel, tmp_path / "needed"))}
    version = run(command, "--version", cwd=tmp_path, environment=needs)
    assert (version.returncode, version.stdout) == (0, "fieldflame 1.0.0\n"), version.stderr
    arguments = ("check", "--project", "shop", "--release", "1")
    denied = run(command, *arguments, "--url", "http://127.0.0.1:1", cwd=tmp_path, environment=needs)
    assert (denied.returncode, "FIELDFLAME_TOKEN" in denied.stderr) == (5, True)
    wrong = run(python, "-m", "fieldflame", *arguments, TOKEN, cwd=tmp_path, environment=needs)
    assert (wrong.returncode, TOKEN in wrong.stderr) == (3, False)
