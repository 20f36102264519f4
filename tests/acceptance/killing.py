"""Killing the workers of a running stack while they write, with something to fold in between."""

import contextlib
import threading
import time
from collections.abc import Sequence

import psycopg

from ops.supervisor.running import RunningStack
from tests.acceptance.corpus_stack import corpus, database, post_until_accepted
from tests.acceptance.processes import find_processes, kill, parent_of

LIMIT_S = 240.0
# A fold is in its transaction while it holds a group's advisory lock.
IN_TRANSACTION = """
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
"""


def wait_for_transaction(stack: RunningStack, deadline: float) -> bool:
    """Waits until a fold is in its transaction; False if none was seen in time."""
    with contextlib.suppress(psycopg.Error), database(stack) as connection:
        while time.monotonic() < deadline:
            row = connection.execute(IN_TRANSACTION).fetchone()
            if row is not None and row[0]:
                return True
            time.sleep(0.002)
    return False


class Sender(threading.Thread):
    """Posts the traces of some apps, a few at a time, so that there is something to fold between the kills."""

    PORTION = 8  # four transactions

    def __init__(self, port: int, apps: Sequence[str]) -> None:
        super().__init__()
        self.port = port
        self.bodies = list(corpus(apps))
        self.allowed = threading.Semaphore(0)
        self.fault: BaseException | None = None

    def send_more(self, count: int = PORTION) -> None:
        self.allowed.release(count)

    def run(self) -> None:
        try:
            for app, body in self.bodies:
                self.allowed.acquire()
                post_until_accepted(self.port, app, body)
        except BaseException as error:  # told by the test's own thread
            self.fault = error

    def finish(self) -> None:
        """Sends the rest, and raises any error."""
        self.send_more(len(self.bodies))
        self.join()
        if self.fault is not None:
            raise self.fault


def kill_workers_in_mid_transaction(stack: RunningStack, sender: Sender, times: int) -> int:
    """Kills every worker process while a fold is in its transaction, `times` times; returns how often it succeeded."""
    hits = 0
    deadline = time.monotonic() + LIMIT_S
    while hits < times and time.monotonic() < deadline:
        sender.send_more()
        if wait_for_transaction(stack, time.monotonic() + 5.0):
            # Mostly the processes that fold, which Celery replaces; now and then the whole worker, which `up` replaces.
            workers = find_processes(stack, b"celery", b"worker")
            victims = workers if hits % 5 == 4 else [pid for pid in workers if parent_of(pid) in workers]
            hits += bool(kill(victims))
    return hits
