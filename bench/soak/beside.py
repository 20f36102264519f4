"""What goes on beside the posts: reads of every page, answer and export, upkeep, retention, and refolds."""

import http.client
import subprocess
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import psycopg
from celery import Celery
from django.conf import settings
from kombu.exceptions import OperationalError as BrokerError

from bench.hostile.reads import read_memory
from bench.memory.whole import find_parts, forget_peak
from bench.soak.history import DAYS, HISTORY, REFOLDED
from bench.soak.watching import open_database
from config.env import make_broker_url
from config.up.parts import BASE_DIR, make_manage_command
from config.up.running import RunningStack

READ_PAUSE_S: Final = 1.0
READ_LIMIT_S: Final = 120.0
UPKEEP: Final = ("aggregate.roll_up_hours", "aggregate.merge_hours", "aggregate.expire")
KEPT: Final = 3  # the exit status of a refold that kept some cells as they are
CENSUS: Final = """
SELECT (SELECT count(*) FROM pg_inherits WHERE inhparent = 'ingest_rawtrace'::regclass),
       (SELECT count(*) FROM aggregate_view), (SELECT count(*) FROM aggregate_cell WHERE merged_into IS NULL),
       (SELECT count(*) FROM aggregate_cell WHERE merged_into IS NOT NULL),
       (SELECT count(*) FROM aggregate_cell WHERE is_rolled)
"""
SHORTEN: Final = """
UPDATE ingest_project SET keep_raw_days = %(days)s, keep_views_days = %(days)s, keep_cells_days = %(days)s
WHERE slug = %(slug)s
"""


@dataclass(slots=True, kw_only=True)
class BesideCounts:
    """What went on so far: reads by status, the seconds of each, those that failed, and how often the rest was done.

    `faults` says why a refold failed. `rises` has for each address by how many bytes a web process rose at most while
    it was read, posts included.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    took_s: "array[float]" = field(default_factory=lambda: array("d"))
    failed: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    times: Counter[str] = field(default_factory=Counter)
    rises: dict[str, int] = field(default_factory=dict)


class Beside:
    """Three threads that go on until they are stopped. Stores that are away are no fault: the next turn tries again."""

    def __init__(
        self, stack: RunningStack, *, cookie: str, addresses: Sequence[str], soak_s: float, every_s: float
    ) -> None:
        self.done = BesideCounts()
        self.fault: BaseException | None = None
        self._stack = stack
        self._cookie = cookie
        self._addresses = addresses
        self._began_s = time.monotonic()
        self._soak_s = soak_s
        self._is_over = threading.Event()
        self._celery = Celery(broker=make_broker_url(stack.store_environment["REDIS_URL"]), set_as_current=False)
        turns: Sequence[tuple[Callable[[], None], float]] = (
            (self._read, READ_PAUSE_S),
            (self._keep_up, every_s),
            (self._refold, 3 * every_s),
        )
        self._threads = [threading.Thread(target=self._repeat, args=turn, daemon=True) for turn in turns]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends the threads, and raises what went wrong."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self._celery.close()
        if self.fault is not None:
            raise self.fault

    def _repeat(self, turn: Callable[[], None], pause_s: float) -> None:
        try:
            while not self._is_over.wait(pause_s):
                turn()
        except BaseException as error:  # told by the thread that stops this
            self.fault = error

    def _read(self) -> None:
        address = self._addresses[self.done.statuses.total() % len(self._addresses)]
        before = forget_web_peaks(self._stack)
        began_s = time.monotonic()
        status, may_retry = read(self._stack.port, self._cookie, address)
        self.done.took_s.append(time.monotonic() - began_s)
        rise = max((read_web_memory(pid, "VmHWM") - size for pid, size in before.items()), default=0)
        self.done.rises[address] = max(rise, self.done.rises.get(address, 0))
        self.done.statuses[status] += 1
        if status == 0 or (status >= 500 and not may_retry):
            self.done.failed[f"{status} {address.partition('?')[0]}"] += 1

    def _keep_up(self) -> None:
        share = min(1.0, (time.monotonic() - self._began_s) / self._soak_s)
        try:
            with open_database(self._stack) as connection:
                connection.execute(SHORTEN, {"days": max(1, round(DAYS * (1 - share))), "slug": HISTORY})
            for task in UPKEEP:
                self._celery.send_task(task, queue=settings.UPKEEP_QUEUE, ignore_result=True, retry=False)
        except (psycopg.Error, OSError, BrokerError):
            self.done.times["upkeep that could not be sent"] += 1
        else:
            self.done.times["upkeep"] += 1

    def _refold(self) -> None:
        """Sets everything of a project back, by the command; the workers fold it again."""
        command = make_manage_command("refold", "--project", REFOLDED, "--no-fold")
        done = subprocess.run(
            command, env=self._stack.store_environment, cwd=BASE_DIR, capture_output=True, check=False
        )
        is_done = done.returncode in (0, KEPT)
        self.done.times["refolds" if is_done else "refolds that failed"] += 1
        if not is_done:  # as while PostgreSQL is restarted
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            self.done.faults[f"refold: {lines[-1] if lines else done.returncode}"] += 1


def read(port: int, cookie: str, address: str) -> tuple[int, bool]:
    """Reads an address; returns the status, 0 without an answer, and whether there is `Retry-After`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READ_LIMIT_S)
    try:
        connection.request("GET", address, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        return 0, False
    finally:
        connection.close()
    return answer.status, answer.getheader("Retry-After") is not None


def forget_web_peaks(stack: RunningStack) -> dict[int, int]:
    """Makes the peak of each web process its memory now, and returns that in bytes."""
    assert stack.process is not None
    found = {}
    for pid in [pid for pid, part in find_parts(stack.process.pid).items() if part == "web"]:
        try:
            forget_peak(pid)
        except OSError:
            continue  # gone
        found[pid] = read_web_memory(pid, "VmRSS")
    return found


def read_web_memory(pid: int, name: str) -> int:
    """Returns a field of a process's memory in bytes; 0 if it is gone."""
    try:
        return read_memory(name, pid)
    except OSError:
        return 0


def take_census(stack: RunningStack) -> dict[str, int]:
    """Returns how many there are of what upkeep deletes, merges and rolls up."""
    names = ("days of raw traces", "views", "cells", "hours merged into days", "cells rolled up")
    with open_database(stack) as connection:
        row = connection.execute(CENSUS).fetchone()
    assert row is not None
    return {name: int(value) for name, value in zip(names, row, strict=True)}
