"""Whether this worker was told to stop: its processes look between two batches, and give up what would take longer.

Celery tells only a worker's main process. The byte is memory that it shares with the processes it forks.
"""

import mmap
from typing import Final

_told: Final = mmap.mmap(-1, 1)


class Stopping(Exception):
    """The worker was told to stop. The work was given up, and nothing of it is counted against it."""


def tell_to_stop(*, is_told: bool = True) -> None:
    """Tells this process, and those that it forked or will fork, to stop."""
    _told[0] = int(is_told)


def is_stopping() -> bool:
    """Tells whether the worker was told to stop."""
    return bool(_told[0])


def check_stop() -> None:
    """Raises `Stopping` if the worker was told to stop."""
    if is_stopping():
        raise Stopping
