"""Every input that once found a bug is tried again: the files of tests/hostile/kept, written by `./run fuzz`."""

from pathlib import Path

import pytest

from tests.hostile.cases import KEPT, BodyCase, keep_case, list_cases, read_case
from tests.hostile.fuzzing import check_case
from tests.hostile.lab import Lab

pytestmark = pytest.mark.slow(8)


@pytest.mark.parametrize("path", list_cases(KEPT), ids=lambda path: path.stem)
def test_a_kept_input_does_no_harm_any_more(lab: Lab, path: Path) -> None:
    part, case = read_case(path)
    check_case(part, lab, case)


def test_an_input_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    case = BodyCase(b'\xff\x00"\xed\xa0\x80', read=7)
    path = keep_case(tmp_path, "posts", case, "a problem")
    assert list_cases(tmp_path) == [path]
    assert read_case(path) == ("posts", case)
    assert keep_case(tmp_path, "posts", case, "the same") == path
