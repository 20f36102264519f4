"""What an input costs, counted instead of timed: lines of this project's code, calls of others', bytes of memory."""

import gc
import signal
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

ROOT: Final = str(Path(__file__).resolve().parents[2])
OURS: Final = tuple(
    f"{ROOT}/{room}/"
    for room in ("profcore", "projects", "ingest", "aggregate", "alerts", "dashboard", "ops", "config")
)
# No measure, but a net: C code may run for hours without one line of Python. The slowest input takes tenths of it.
NET_CPU_S: Final = 120
CASE_CPU_S: Final = 5.0  # of an input of some kB by its grammar: the slowest take tenths of a second


class TooDear(AssertionError):
    """An input costs more than its size admits."""


class HangError(Exception):
    """An input took two minutes of a processor."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Lines of this project and calls of other Python code that ran, and the peak of allocated bytes."""

    steps: int
    peak_bytes: int

    def check(self, size: int, *, steps_per_byte: float, bytes_per_byte: float, steps: int, peak_bytes: int) -> None:
        """Raises `TooDear` for more than the given fixed cost and so much for each byte of the input."""
        if self.steps > steps + steps_per_byte * size:
            raise TooDear(f"{self.steps:,} steps for {size:,} bytes")
        if self.peak_bytes > peak_bytes + bytes_per_byte * size:
            raise TooDear(f"a peak of {self.peak_bytes:,} bytes for {size:,} bytes")


class _Counter:
    """Counts lines in code of this project, and one step for each call of any other Python code."""

    def __init__(self) -> None:
        self.steps = 0
        self._is_ours: dict[CodeType, bool] = {}

    def start_frame(self, frame: FrameType, event: str, argument: Any) -> Any:  # Any: as sys.settrace has them
        self.steps += 1
        code = frame.f_code
        is_ours = self._is_ours.get(code)
        if is_ours is None:
            is_ours = self._is_ours[code] = code.co_filename.startswith(OURS)
        return self.count_line if is_ours else None

    def count_line(self, frame: FrameType, event: str, argument: Any) -> Any:  # Any: as above
        self.steps += 1
        return self.count_line


def measure(work: Callable[[], object], *, with_memory: bool = True) -> Cost:
    """Returns the cost of some work in this thread. Errors of the work pass through, and then nothing was measured."""
    counter = _Counter()
    before = sys.gettrace()
    if with_memory:
        gc.collect(0)
        tracemalloc.start()
    sys.settrace(counter.start_frame)
    try:
        work()
    finally:
        sys.settrace(before)
        peak = tracemalloc.get_traced_memory()[1] if with_memory else 0
        if with_memory:
            tracemalloc.stop()
    return Cost(counter.steps, peak)


def check_cpu(work: Callable[[], object], *, most_s: float = CASE_CPU_S) -> None:
    """Does some work in this thread. Raises `TooDear` if it takes more of a processor than its input may."""
    start_s = time.thread_time()
    work()
    if (taken_s := time.thread_time() - start_s) > most_s:
        raise TooDear(f"{taken_s:.2g} s of a processor")


@contextmanager
def end_hangs() -> Iterator[None]:
    """Raises `HangError` in what takes more than two minutes of a processor."""

    def raise_hang(number: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {NET_CPU_S} s of a processor")

    before = signal.signal(signal.SIGVTALRM, raise_hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, NET_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
