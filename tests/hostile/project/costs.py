"""What a piece of work costs this process: processor time, and memory above what it had."""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.runner.caches import clear_caches

# Of one page, export, job, evaluation or message. What needs most is far below; what takes the square of a text of the
# project is far above. A request is counted in processor time, so that other work of the machine adds nothing.
MOST_CPU_S: Final = 2.0
WHOLE_CPU_S: Final = 6.0  # of a page that contains the dozen parts which its script would fetch
MOST_BYTES: Final = 50 * 2**20
WORKER_BYTES: Final = 300 * 2**20  # of a batch that is folded, a job, or an upload of 10 MB (config/limits.py)
# FIELDFLAME_HOSTILE_COSTS names a file that gets a line for each: what docs/security.md says of the worst cases is from
# there. With it, another thread looks how long it does not run.
COSTS_NAME: Final = "FIELDFLAME_HOSTILE_COSTS"
TICK_S: Final = 0.005
STATUS: Final = Path("/proc/self/status")
_trim: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)
CLEAR_REFS: Final = Path("/proc/self/clear_refs")  # 5 resets the peak: proc(5)


class TooDear(AssertionError):
    """A piece of work took more than it may."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds, bytes above the start at the peak, and how long it kept another thread from running."""

    cpu_s: float
    peak_bytes: int
    gap_s: float = 0.0

    def is_bounded(self, most_cpu_s: float, most_bytes: int) -> bool:
        """Returns whether it is no more than a piece of work may cost."""
        return self.cpu_s <= most_cpu_s and self.peak_bytes <= most_bytes


class GapWatch:
    """Another thread, which notes the most that this one worked while the other could not run.

    It is counted in this thread's processor time: on a busy machine a thread waits for others' work, too.
    """

    def __init__(self) -> None:
        self.gap_s = 0.0
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "GapWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        before_s = time.clock_gettime(self._clock)
        while not self._is_over.wait(TICK_S):
            now_s = time.clock_gettime(self._clock)
            self.gap_s = max(self.gap_s, now_s - before_s - TICK_S)
            before_s = now_s


def read_memory(name: str) -> int:
    """Returns a figure of this process, such as VmRSS, in bytes; 0 where the system does not say."""
    with suppress(OSError):
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1_024
    return 0


def measure(work: Callable[[], object]) -> Cost:
    """Does a piece of work, and returns what it cost."""
    if _trim is not None:
        _trim(0)  # what was freed before would hide what is needed now
    with suppress(OSError):
        CLEAR_REFS.write_text("5")
    before = read_memory("VmRSS")
    if COSTS_NAME in os.environ:
        with GapWatch() as watch:
            cpu_s = _time(work)
        return Cost(cpu_s, read_memory("VmHWM") - before, watch.gap_s)
    return Cost(_time(work), read_memory("VmHWM") - before)


def _time(work: Callable[[], object]) -> float:
    start_s = time.process_time()
    work()
    return time.process_time() - start_s


def run_once(what: str, work: Callable[[], object], *, most_cpu_s: float = MOST_CPU_S) -> None:
    """Does a worker's piece of work, which cannot be done twice. Raises `TooDear` if it costs too much."""
    _check(what, measure(work), most_cpu_s, WORKER_BYTES)


def run_within_bounds(
    what: str, work: Callable[[], object], *, most_cpu_s: float = MOST_CPU_S, most_bytes: int = MOST_BYTES
) -> None:
    """Does a piece of work. Raises `TooDear` if it costs too much, twice: the first time may load code."""
    cost = measure(work)
    if not cost.is_bounded(most_cpu_s, most_bytes):
        clear_caches()
        cost = measure(work)
    _check(what, cost, most_cpu_s, most_bytes)


def _check(what: str, cost: Cost, most_cpu_s: float, most_bytes: int) -> None:
    if path := os.environ.get(COSTS_NAME):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{cost.cpu_s:.3f}\t{cost.peak_bytes / 2**20:.0f}\t{cost.gap_s:.3f}\t{what}\n")
    if not cost.is_bounded(most_cpu_s, most_bytes):
        raise TooDear(f"{what}: {cost.cpu_s:.1f} s of a processor, {cost.peak_bytes / 2**20:.0f} MiB more memory")
