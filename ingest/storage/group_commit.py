"""Shared writes: what threads bring while a statement is under way is written by the next one.

No thread does only this. A thread that finds nothing under way writes at once. Others wait, and the thread that has
written names one of them, which writes for all of them. So a lone post waits for nobody, and under load a commit, with
its wait for the disk, is shared.

A statement is of one project: in a cluster that shards by project it stays on one node, and what fails for one project
fails for no other.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError

from ingest.deadline import DeadlineExceeded, left_s, spend

T = TypeVar("T")
# A statement takes some milliseconds. One that takes longer waits for a lock or a slow disk: the next one of its
# project is then begun beside it.
STALLED_S: Final = 0.05
# The classes of errors that say nothing of the rows: the connection is lost, or the server stops.
OUTAGES: Final = ("08", "57P")


@dataclass(slots=True, eq=False, kw_only=True)
class PendingWrite(Generic[T]):
    """What one thread wants to have written, and how far that is. `turn` is released when something has changed."""

    project_id: int
    item: T
    rows: int
    size: int
    turn: threading.Lock = field(default_factory=threading.Lock)
    led: "list[PendingWrite[T]] | None" = None  # those that this one's thread must write, itself among them
    is_done: bool = False
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class FlushPolicy:
    """How long a thread waits for others before it writes, when it is taken to stall, and how many write at once."""

    gather_s: float
    stalled_s: float
    at_once: int


def usual_flush_policy() -> FlushPolicy:
    """Returns the usual policy: no thread waits for others, and each statement has a connection."""
    return FlushPolicy(0.0, STALLED_S, settings.INGEST_STORE_CONNECTIONS)


class GroupCommit(Generic[T]):
    """Writes items in statements that threads share. `write_all` writes the items of one project, all or none."""

    def __init__(
        self, write_all: Callable[[Sequence[T]], None], flush_policy: Callable[[], FlushPolicy] = usual_flush_policy
    ) -> None:
        self._write_all = write_all
        self._flush_policy = flush_policy
        self._lock = threading.Lock()
        self._waiting: list[PendingWrite[T]] = []  # in the order of their arrival
        self._under_way: Counter[int] = Counter()  # statements, by project
        self._newest: dict[int, float] = {}  # when the newest one under way began

    def write(self, project_id: int, item: T, *, rows: int, size: int) -> None:
        """Returns when the item is written. Raises what its own write raised, or that the database does not answer."""
        own = PendingWrite(project_id=project_id, item=item, rows=rows, size=size)
        own.turn.acquire()
        with self._lock:
            self._waiting.append(own)
            self._begin(own)
        if own.led is None:
            self._wait(own)
        if own.led is not None:
            self._lead(own.led, own)
        if own.error is not None:
            raise again(own.error)

    def _wait(self, own: PendingWrite[T]) -> None:
        """Returns when the item is written, or when this thread must write. Raises Django's `OperationalError`."""
        stalled_s = self._flush_policy().stalled_s
        while True:
            began = time.monotonic()
            left = left_s()
            has_changed = own.turn.acquire(timeout=stalled_s if left is None else max(min(left, stalled_s), 0))
            spend(time.monotonic() - began)
            if has_changed:
                return
            with self._lock:
                if own.is_done or own.led is not None:
                    return
                if left is not None and left <= 0:
                    if own in self._waiting:
                        self._waiting.remove(own)
                    raise OperationalError("not written in time") from DeadlineExceeded("not written in time")
                if own in self._waiting and self._begin(own):
                    return

    def _begin(self, own: PendingWrite[T]) -> bool:
        """Lets a waiting one write for those of its project, unless others are at it. The lock must be held."""
        project_id, now, policy = own.project_id, time.monotonic(), self._flush_policy()
        is_busy = self._under_way[project_id] and now - self._newest[project_id] < policy.stalled_s
        if is_busy or self._under_way.total() >= policy.at_once:
            return False
        own.led = [own]
        self._waiting.remove(own)
        self._under_way[project_id] += 1
        self._newest[project_id] = now
        return True

    def _fill(self, led: list[PendingWrite[T]]) -> None:
        """Adds others of the project that wait, within the bounds of a statement. The lock must be held."""
        rows, size = led[0].rows, led[0].size
        for other in [share for share in self._waiting if share.project_id == led[0].project_id]:
            rows, size = rows + other.rows, size + other.size
            if rows > settings.INGEST_TOGETHER_TRACES or size > settings.INGEST_TOGETHER_BYTES:
                return
            self._waiting.remove(other)
            led.append(other)

    def _lead(self, led: list[PendingWrite[T]], own: PendingWrite[T]) -> None:
        """Writes for all, tells them, and names who writes next."""
        project_id = own.project_id
        try:
            self._gather()
            with self._lock:
                if self._waiting:
                    self._fill(led)
            self._write_apart_if_needed(led)
        except BaseException:
            fault = OperationalError("the thread that wrote for others was ended")
            for share in led:
                share.error = share.error or fault
            raise
        finally:
            with self._lock:
                self._under_way[project_id] -= 1
                if not self._under_way[project_id]:
                    del self._under_way[project_id], self._newest[project_id]
                for share in led:
                    share.is_done = True
                named = [share for share in self._waiting.copy() if self._begin(share)]
            for share in named + led:
                if share is not own:
                    share.turn.release()

    def _gather(self) -> None:
        """Waits for others, where a write costs more than that."""
        if gather_s := self._flush_policy().gather_s:
            left = left_s()
            gather_s = gather_s if left is None else max(min(left, gather_s), 0)
            time.sleep(gather_s)
            spend(gather_s)

    def _write_apart_if_needed(self, led: list[PendingWrite[T]]) -> None:
        """Writes all in one statement. If it fails for what is in it, each alone: only what is wrong fails then."""
        try:
            self._write_all([share.item for share in led])
        except Exception as error:
            if len(led) == 1 or is_outage(error):
                for share in led:
                    share.error = error
                return
        else:
            return
        for number, share in enumerate(led):
            try:
                self._write_all([share.item])
            except Exception as error:
                share.error = error
                if is_outage(error):
                    for other in led[number:]:
                        other.error = error
                    return


def is_outage(error: Exception) -> bool:
    """Tells whether an error of Django's database is about the server and not about the rows."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(OUTAGES)


def again(error: Exception) -> Exception:
    """Returns an error like this one, to be raised in another thread too: a traceback belongs to one of them."""
    try:
        copied = type(error)(*error.args)
    except TypeError:  # an error with a constructor of its own
        return error
    copied.__cause__ = error.__cause__
    return copied
