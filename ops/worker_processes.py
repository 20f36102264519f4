"""How many processes a worker has: one, and more only while tasks wait.

A process that has nothing to do holds 25 MB of its own, and up to 60 after work.
"""

from contextlib import suppress
from time import monotonic
from typing import Any, Final

from celery.worker.autoscale import Autoscaler

LOOK_EVERY_S: Final = 1.0
# Sweeps are due together, and take some milliseconds each: they need no second process.
WAIT_S: Final = 1.0
KEEP_S: Final = 30.0  # for one process that is not needed, and then for the next: the alert on restarts allows for it


class PatientAutoscaler(Autoscaler):
    """Adds processes when tasks have waited for `WAIT_S`, and takes one away after `KEEP_S` in which it was not needed.

    Celery's own adds one as soon as two tasks are there, and takes none away while any arrive.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as Celery calls it
        super().__init__(*args, **{"keepalive": LOOK_EVERY_S} | kwargs)
        self.waiting_since: float | None = None
        self.needed_at = monotonic()

    def maybe_scale(self, req: Any = None) -> None:  # Any: Celery's request
        """Looks every `LOOK_EVERY_S`, and not when a task arrives."""
        if req is None:
            super().maybe_scale()

    def _maybe_scale(self, req: Any = None) -> bool:  # Any: as above
        """Looks whether processes are too few or too many; returns whether it changed them."""
        now, tasks, processes = monotonic(), self.qty, self.processes
        if tasks >= processes:
            self.needed_at = now
        if tasks <= processes:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = now
        elif now - self.waiting_since >= WAIT_S and processes < self.max_concurrency:
            self.scale_up(min(tasks, self.max_concurrency) - processes)
            self.waiting_since = None
            return True
        if processes > self.min_concurrency and now - self.needed_at >= KEEP_S:
            with suppress(ValueError):  # all are busy by now
                self.pool.shrink(1)  # type: ignore[attr-defined]  # the pool of processes has it
            self.needed_at = now
            return True
        return False
