"""Which test files run in one process."""

from pathlib import Path

from tests.runner.scheduling import TOGETHER, TogetherScheduling

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
