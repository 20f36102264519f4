"""Whether this worker was told to stop: its processes look between two batches, and give up what would take longer.

Celery tells only a worker's main process. The byte is memory that it shares with the processes it forks.
"""

import mmap
from typing import Final

_stop_flag: Final = mmap.mmap(-1, 1)


class Stopping(Exception):
    """The worker was told to stop. The work was given up, and nothing of it is counted against it."""


def tell_to_stop(*, is_wanted: bool = True) -> None:
    """Tells this process, and those that it forked or will fork, to stop."""
    _stop_flag[0] = int(is_wanted)


def is_stopping() -> bool:
    """Returns whether the worker was told to stop."""
    return bool(_stop_flag[0])


def check_stop() -> None:
    """Raises `Stopping` if the worker was told to stop."""
    if is_stopping():
        raise Stopping
