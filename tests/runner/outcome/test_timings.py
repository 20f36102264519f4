"""The seconds that a run reports at its end."""

from tests.runner.outcome.timings import sum_folders


def test_folders_come_by_their_seconds_with_their_tests_counted() -> None:
    seconds = {
        "tests/a/test_x.py::test_1[b/c]": 2.0,
        "tests/a/test_y.py::T::test_2": 3.0,
        "tests/b/test_z.py::t": 9,
    }
    assert sum_folders(seconds) == [("tests/b", 9.0, 1), ("tests/a", 5.0, 2)]
