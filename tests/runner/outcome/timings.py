"""What a run's time went into, at its end: the slowest tests, and the seconds of each folder."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

import pytest
from _pytest.terminal import TerminalReporter

SLOWEST: Final = 25
LEAST_TESTS: Final = 50  # with fewer, pytest's own `--durations` tells more


class Timings:
    """Sums the seconds of each test, with those of its fixtures."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if len(self.seconds) < LEAST_TESTS:
            return
        terminalreporter.section(f"slowest {SLOWEST} tests, with their fixtures")
        for test, seconds in sorted(self.seconds.items(), key=lambda timing: -timing[1])[:SLOWEST]:
            terminalreporter.write_line(f"{seconds:7.1f} s  {test}")
        terminalreporter.section("seconds per folder, of all processes together")
        for folder, seconds, count in sum_folders(self.seconds):
            terminalreporter.write_line(f"{seconds:7.1f} s  {folder} ({count} tests)")


def sum_folders(seconds: Mapping[str, float]) -> list[tuple[str, float, int]]:
    """Returns (folder, its seconds, its tests), most seconds first."""
    folders: defaultdict[str, list[float]] = defaultdict(list)
    for test, spent in seconds.items():
        folders[str(PurePosixPath(test.partition("::")[0]).parent)].append(spent)
    return sorted(((name, sum(times), len(times)) for name, times in folders.items()), key=lambda row: -row[1])
