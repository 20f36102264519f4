"""Group commit: posts that arrive while a statement is under way are stored by the next one.

No thread does only this. A thread that finds nothing under way writes at once. Others wait, and the thread that has
written picks one of them, which writes for all of them. So a lone post waits for no one, and under load a commit, with
its wait for the disk, is shared.

A statement is of one project: in a cluster that shards by project it stays on one node, and what fails for one project
fails for no other.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import InterfaceError, OperationalError

from ingest.deadline import DeadlineExceeded, left_s, spend
from ingest.storage.receipt_partitions import DedupMode

# The classes of errors that say nothing of the rows: the connection is lost, or the server stops.
OUTAGES: Final = ("08", "57P")


@dataclass(slots=True, eq=False, kw_only=True)
class PendingWrite:
    """The rows of one post, and how far their write is. `turn` is released when something has changed.

    A row has the values of `ingest.storage.storing.COLUMNS`: texts for arrays, and last the body.
    """

    project_id: int
    received_at: datetime
    rows: list[tuple[Any, ...]]  # Any: as above
    dedup_mode: DedupMode = DedupMode.NONE
    turn: threading.Lock = field(default_factory=threading.Lock)
    batch: "list[PendingWrite] | None" = None  # those that this one's thread must write, itself among them
    is_done: bool = False
    error: Exception | None = None

    @property
    def body_bytes(self) -> int:
        """The bytes of the bodies, as they are stored."""
        return sum(len(row[-1]) for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushPolicy:
    """How posts share statements.

    A thread waits `gather_s` for others before it writes, and is taken to stall after `stalled_s`. No more than
    `most_under_way` statements are under way, each of at most `max_rows` and `max_bytes`. A post may wait `deadline_s`
    in all.
    """

    gather_s: float
    stalled_s: float
    most_under_way: int
    max_rows: int
    max_bytes: int
    deadline_s: float


class GroupCommit:
    """Writes posts in statements that threads share. `write_all` writes posts of one project, all or none."""

    def __init__(self, write_all: Callable[[Sequence[PendingWrite]], None], policy: FlushPolicy) -> None:
        self.write_all = write_all
        self.policy = policy
        self._lock = threading.Lock()
        self._waiting: list[PendingWrite] = []  # in the order of their arrival
        self._under_way: Counter[int] = Counter()  # statements, by project
        self._newest: dict[int, float] = {}  # when the newest one under way began

    def write(self, write: PendingWrite) -> None:
        """Returns when the rows are written. Raises what their own write raised, or that the database is silent."""
        write.turn.acquire()
        with self._lock:
            self._waiting.append(write)
            self._begin(write)
        if write.batch is None:
            self._wait(write)
        if write.batch is not None:
            self._lead(write.batch, write)
        if write.error is not None:
            raise copy_error(write.error)

    def _wait(self, write: PendingWrite) -> None:
        """Returns when the rows are written, or when this thread must write. Raises Django's `OperationalError`."""
        stalled_s = self.policy.stalled_s
        while True:
            began = time.monotonic()
            left = left_s()
            has_changed = write.turn.acquire(timeout=stalled_s if left is None else max(min(left, stalled_s), 0))
            spend(time.monotonic() - began)
            if has_changed:
                return
            with self._lock:
                if write.is_done or write.batch is not None:
                    return
                if left is not None and left <= 0:
                    if write in self._waiting:
                        self._waiting.remove(write)
                    raise OperationalError("not written in time") from DeadlineExceeded("not written in time")
                if write in self._waiting and self._begin(write):
                    return

    def _begin(self, write: PendingWrite) -> bool:
        """Lets a waiting one write for those of its project, unless others are at it. The lock must be held."""
        project_id, now = write.project_id, time.monotonic()
        is_busy = self._under_way[project_id] and now - self._newest[project_id] < self.policy.stalled_s
        if is_busy or self._under_way.total() >= self.policy.most_under_way:
            return False
        write.batch = [write]
        self._waiting.remove(write)
        self._under_way[project_id] += 1
        self._newest[project_id] = now
        return True

    def _fill(self, batch: list[PendingWrite]) -> None:
        """Adds others of the project that wait, within the bounds of a statement. The lock must be held."""
        rows, size = len(batch[0].rows), batch[0].body_bytes
        for write in [write for write in self._waiting if write.project_id == batch[0].project_id]:
            rows, size = rows + len(write.rows), size + write.body_bytes
            if rows > self.policy.max_rows or size > self.policy.max_bytes:
                return
            self._waiting.remove(write)
            batch.append(write)

    def _lead(self, batch: list[PendingWrite], leader: PendingWrite) -> None:
        """Writes the batch, notifies its waiters, and picks the next leaders."""
        project_id = leader.project_id
        try:
            if gather_s := self.policy.gather_s:
                left = left_s()
                gather_s = gather_s if left is None else max(min(left, gather_s), 0)
                time.sleep(gather_s)
                spend(gather_s)
            with self._lock:
                if self._waiting:
                    self._fill(batch)
            self._write_apart_if_needed(batch)
        except BaseException:
            fault = OperationalError("the thread that wrote for others was ended")
            for write in batch:
                write.error = write.error or fault
            raise
        finally:
            with self._lock:
                self._under_way[project_id] -= 1
                if not self._under_way[project_id]:
                    del self._under_way[project_id], self._newest[project_id]
                for write in batch:
                    write.is_done = True
                leaders = [write for write in self._waiting.copy() if self._begin(write)]
            for write in leaders + batch:
                if write is not leader:
                    write.turn.release()

    def _write_apart_if_needed(self, batch: list[PendingWrite]) -> None:
        """Writes all in one statement. If it fails for what is in it, each alone: only what is wrong fails then."""
        try:
            self.write_all(batch)
        except Exception as error:
            if len(batch) == 1 or is_outage(error):
                for write in batch:
                    write.error = error
                return
        else:
            return
        for number, write in enumerate(batch):
            try:
                self.write_all([write])
            except Exception as error:
                write.error = error
                if is_outage(error):
                    for unwritten in batch[number:]:
                        unwritten.error = error
                    return


def is_outage(error: Exception) -> bool:
    """Returns whether an error of Django's database is about the server and not about the rows."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(OUTAGES)


def copy_error(error: Exception) -> Exception:
    """Returns an error like this one, to be raised in another thread too: a traceback belongs to one of them."""
    try:
        copied = type(error)(*error.args)
    except TypeError:  # an error with a constructor of its own
        return error
    copied.__cause__ = error.__cause__
    return copied
