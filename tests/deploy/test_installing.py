"""`./run install` compiles all bytecode: services may not write it, and would compile everything at each start."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import PRODUCT
from tests.deploy.files import ROOT

HISTORY = 'root=$1; . "$2/ops/supervisor/bootstrap.sh"; ensure_history'
COMPILE = 'root=$1; . "$2/ops/supervisor/bootstrap.sh"; compile_all'


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """An installation with one module in each folder, and a package with a file for another Python."""
    for folder in (*PRODUCT, ".venv/lib/package"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "module.py").write_text("x = 1\n")
    (tmp_path / ".venv/lib/package/old.py").write_text("print 'of Python 2'\n")
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    return tmp_path


def compile_all(installation: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-euc", COMPILE, "sh", str(installation), str(ROOT)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_packages_and_our_own_code_are_compiled(installation: Path) -> None:
    done = compile_all(installation)
    assert (done.returncode, done.stderr) == (0, "")
    for folder in (*PRODUCT, ".venv/lib/package"):
        assert len(list((installation / folder / "__pycache__").glob("module.*.pyc"))) == 1


def test_code_of_ours_that_cannot_be_compiled_stops_it(installation: Path) -> None:
    (installation / "ingest" / "module.py").write_text("x =\n")
    done = compile_all(installation)
    assert done.returncode == 1
    assert "the bytecode could not be compiled" in done.stderr


def test_every_folder_of_code_that_services_load_is_compiled() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks", "tools"}
    assert folders == set(PRODUCT)


def test_what_export_cells_needs_is_installed_once_from_its_lock(installation: Path) -> None:
    (installation / "requirements").mkdir()
    (installation / "requirements" / "history.txt").write_text("duckdb==1 --hash=sha256:0\n")
    uv = installation / ".tools/bin/uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(f'#!/bin/sh\necho "$@" >> {installation}/called\n')
    uv.chmod(0o755)
    for _ in range(2):
        command = ["sh", "-euc", HISTORY, "sh", str(installation), str(ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    (call,) = [line for line in (installation / "called").read_text().splitlines() if not line.startswith("--version")]
    assert call.startswith("pip install --quiet --require-hashes ")
    assert call.endswith(f"-r {installation}/requirements/history.txt")
