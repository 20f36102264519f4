"""The slots of a worker for work that takes long: one less than it has processes, so that one is always left to fold.

A slot is a locked byte of a file that all processes of the worker have open. The kernel frees it when its process ends,
however that happens.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.conf import settings


def _open_unnamed() -> int:
    descriptor, path = tempfile.mkstemp(prefix="fieldflame-slots-")
    os.unlink(path)
    return descriptor


_slots: Final = _open_unnamed()  # before the worker forks, and for as long as it runs


def count_semaphores() -> int:
    """Returns how many processes of a worker may be busy for long. The only one of a worker may."""
    return max(1, settings.CELERY_WORKER_CONCURRENCY - 1)


@contextmanager
def try_semaphore() -> Iterator[bool]:
    """Holds a slot until the block ends, and yields True; yields False at once if no slot is free."""
    for number in range(count_semaphores()):
        try:
            fcntl.lockf(_slots, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except OSError:
            continue
        try:
            yield True
        finally:
            fcntl.lockf(_slots, fcntl.LOCK_UN, 1, number)
        return
    yield False
