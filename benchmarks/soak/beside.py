"""What goes on next to the posts: reads of every page, answer and export, and the tasks of maintenance."""

import itertools
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from celery import Celery
from django.conf import settings

from benchmarks.shared.reads import Reads, read
from benchmarks.soak.repeating import Repeated
from config.env import make_broker_url
from ops.supervisor.running import RunningStack

READ_PAUSE_S: Final = 1.0
TASK_PAUSE_S: Final = 10.0
TASKS: Final = ("aggregate.roll_up_hours", "aggregate.merge_hours", "aggregate.expire")


@dataclass(slots=True, kw_only=True)
class BesideCounts:
    """What went on so far: reads by status, the seconds of each, those that failed, and how often tasks were sent."""

    statuses: Counter[int] = field(default_factory=Counter)
    took_s: "array[float]" = field(default_factory=lambda: array("d"))
    failed: Counter[str] = field(default_factory=Counter)
    tasks: int = 0


class Beside:
    """Reads and tasks that go on until they are stopped."""

    def __init__(self, stack: RunningStack, reads: Reads) -> None:
        self.done = BesideCounts()
        self._port = stack.port
        self._cookie = reads.cookie
        self._addresses = itertools.cycle(reads.addresses)
        self._celery = Celery(broker=make_broker_url(stack.store_environment["REDIS_URL"]), set_as_current=False)
        self._repeated = [Repeated(self._read, READ_PAUSE_S), Repeated(self._send_tasks, TASK_PAUSE_S)]

    def stop(self) -> None:
        """Ends them, and raises what went wrong."""
        for reader in self._repeated:
            reader.stop()
        self._celery.close()

    def _read(self) -> None:
        address = next(self._addresses)
        began_s = time.monotonic()
        status, headers = read(self._port, self._cookie, address)
        self.done.took_s.append(time.monotonic() - began_s)
        self.done.statuses[status] += 1
        if status == 0 or (status >= 500 and "Retry-After" not in headers):
            self.done.failed[f"{status} {address.partition('?')[0]}"] += 1

    def _send_tasks(self) -> None:
        for task in TASKS:
            self._celery.send_task(task, queue=settings.MAINTENANCE_QUEUE, ignore_result=True)
        self.done.tasks += 1
