"""Which test files run in one process."""

import re
from pathlib import Path

from tests.runner.scheduling import FIRST_OF, TOGETHER, TogetherScheduling

ROOT = Path(__file__).parent.parent.parent


def scope_of(nodeid: str) -> str:
    scheduling = TogetherScheduling.__new__(TogetherScheduling)  # which scope a test is of depends on its id only
    return scheduling._split_scope(nodeid)


def test_files_that_share_a_fieldflame_are_one_scope() -> None:
    for files in TOGETHER:
        assert {scope_of(f"{file}::test_one[a::b]") for file in files} == {files[0]}


def test_any_other_file_is_a_scope_of_its_own() -> None:
    assert scope_of("tests/ops/supervisor/test_ports.py::test_one") == "tests/ops/supervisor/test_ports.py"


def test_files_that_belong_together_are_there() -> None:
    assert [file for files in TOGETHER for file in files if not (ROOT / file).exists()] == []


def test_each_file_that_borrows_a_whole_fieldflame_is_in_a_group() -> None:
    """In a process of its own, a file would start another one."""
    borrowers = set()
    for path in (ROOT / "tests").glob("**/test_*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r": (tuple\[)?RunningStack\b", text) and not re.search(r"\brun_stack\b", text):
            borrowers.add(str(path.relative_to(ROOT)))
    assert "tests/acceptance/test_job_kills.py" in borrowers
    assert borrowers - set(FIRST_OF) == set()
