"""Giving freed memory back to the system: the C library's allocator keeps it where something lies behind it.

After heavy traces, a web process held 25 MB that way and a worker process 10. Looking for free pages takes some
milliseconds, so it is done only after work, and not often.
"""

import ctypes
import threading
import time
from typing import Final

EVERY_S: Final = 10.0
WORK_S: Final = 0.05  # processor time since the last time: less frees little

_malloc_trim: Final = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, other libraries do not


class Trimmer:
    """When this process last gave memory back, on two clocks: elapsed, and its processor time."""

    def __init__(self) -> None:
        self.at_s, self.used_s = time.monotonic(), time.process_time()

    def trim_after_work(self) -> bool:
        """Gives memory back if there was work since the last time, and that is a while ago; returns whether it did."""
        now_s, used_s = time.monotonic(), time.process_time()
        if _malloc_trim is None or now_s - self.at_s < EVERY_S or used_s - self.used_s < WORK_S:
            return False
        _malloc_trim(0)
        self.at_s, self.used_s = now_s, time.process_time()
        return True


def keep_trimming() -> threading.Thread:
    """Lets a thread of this process give memory back from time to time, for as long as the process lives."""
    trimmer = Trimmer()

    def run() -> None:
        while True:
            time.sleep(EVERY_S)
            trimmer.trim_after_work()

    thread = threading.Thread(target=run, name="trimming", daemon=True)
    thread.start()
    return thread
