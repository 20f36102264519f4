"""A failed test is tried again alone, if only few failed; the run that counts is said."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.runner.outcome.second_try import FAILED_FILE_NAME, MOST_TESTS, try_again

MADE = "test_" + "made.py"


def run_twice(
    folder: Path, names: Sequence[str], first: int, second: int
) -> tuple[int, list[Sequence[str]], list[str]]:
    """Returns (the code that counts, what was run the second time, what was said)."""
    failed = folder / "failed.txt"
    failed.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    ran: list[Sequence[str]] = []
    said: list[str] = []

    def run(arguments: Sequence[str]) -> int:
        ran.append(arguments)
        return second

    return try_again(first, failed, run, said.append), ran, said


def test_what_passes_alone_is_named(tmp_path: Path) -> None:
    code, ran, said = run_twice(tmp_path, ["test_a::test_b"], 1, 0)
    assert (code, ran) == (0, [[f"@{tmp_path / 'failed.txt'}"]])
    assert said[-1] == "  test_a::test_b"


def test_what_fails_twice_fails(tmp_path: Path) -> None:
    code, ran, said = run_twice(tmp_path, ["test_a::test_b"], 1, 1)
    assert (code, len(ran), len(said)) == (1, 1, 1)


@pytest.mark.parametrize(("names", "code"), [(["a"] * (MOST_TESTS + 1), 1), ([], 1), (["a"], 2), (["a"], 3), ([], 0)])
def test_many_failures_and_broken_runs_are_not_tried_again(tmp_path: Path, names: list[str], code: int) -> None:
    assert run_twice(tmp_path, names, code, 0) == (code, [], [])


def test_no_file_is_a_run_that_did_not_come_to_its_end(tmp_path: Path) -> None:
    assert try_again(1, tmp_path / "none", lambda arguments: 0, print) == 1


@pytest.mark.slow(12)
@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_run_writes_what_failed(tmp_path: Path, processes: str) -> None:
    (tmp_path / MADE).write_text(
        "import pytest\n"
        "@pytest.fixture\ndef broken(): raise OSError\n"
        "@pytest.mark.parametrize('x', ['a b', '[é]'])\ndef test_fails(x): assert x == 'a b'\n"
        "def test_has_a_broken_fixture(broken): pass\n"
        "def test_passes(): pass\n",
        encoding="utf-8",
    )
    (tmp_path / "conftest.py").write_text(
        "import os\nfrom pathlib import Path\n"
        "from tests.runner.outcome.second_try import FAILED_FILE_NAME, FailedTests\n"
        "def pytest_configure(config):\n"
        "    if not hasattr(config, 'workerinput'):\n"
        "        config.pluginmanager.register(FailedTests(Path(os.environ[FAILED_FILE_NAME])))\n",
        encoding="utf-8",
    )
    failed = tmp_path / "failed.txt"

    def run(arguments: Sequence[str]) -> int:
        command = [sys.executable, "-m", "pytest", "-p", "no:django", "-c", "/dev/null", "--rootdir", str(tmp_path)]
        environment = {"PYTHONPATH": str(Path(__file__).parents[3]), FAILED_FILE_NAME: str(failed)}
        done = subprocess.run([*command, *arguments], check=False, cwd=tmp_path, env=environment, capture_output=True)
        return done.returncode

    assert run(["--numprocesses", processes, MADE]) == 1
    names = failed.read_text(encoding="utf-8").splitlines()
    assert sorted(name.partition("::")[2].partition("[")[0] for name in names) == [
        "test_fails",
        "test_has_a_broken_fixture",
    ]
    assert run([f"@{failed}"]) == 1
    assert sorted(failed.read_text(encoding="utf-8").splitlines()) == sorted(names)
