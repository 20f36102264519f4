"""A second try, alone, for the few tests that failed while several ran at a time.

Browsers, servers and killed processes share the cores with five other files. What fails only then is told apart from
what fails by itself: the suite passes, but names it. More than a few are no accident, and are not tried again.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

MOST_TESTS: Final = 5
FAILED_FILE_NAME: Final = "FIELDFLAME_TEST_FAILED_FILE"  # where a run writes the names of the tests that failed
TESTS_FAILED: Final = int(pytest.ExitCode.TESTS_FAILED)


class FailedTests:
    """Writes the names of the tests that failed, or whose fixtures did, one on each line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        self.path.write_text("".join(f"{name}\n" for name in self.names), encoding="utf-8")


def try_again(code: int, failed: Path, run: Callable[[Sequence[str]], int], say: Callable[[str], None]) -> int:
    """Runs the tests of the file again, one at a time, and returns the code that counts.

    Only if tests failed, and few of them: another code means that the run itself went wrong.
    """
    names = failed.read_text(encoding="utf-8").splitlines() if failed.exists() else []
    if code != TESTS_FAILED or not 0 < len(names) <= MOST_TESTS:
        return code
    say(f"{len(names)} failed while several tests ran at a time. Trying them again, one at a time.")
    code = run([f"@{failed}"])
    if code == 0:
        say("UNSTEADY: these failed among others and passed alone. They want a look:")
        for name in names:
            say(f"  {name}")
    return code
