"""The proof against crashes: a fold of the corpus while its worker is killed repeatedly and its stores once."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from config.up.running import RunningStack, run_stack
from tests.proof.corpus_stack import APPS, compare_with_oracle, corpus, create_projects, database, post_until_accepted
from tests.proof.processes import find_processes, kill, parent_of

pytestmark = [pytest.mark.stack, pytest.mark.kills, pytest.mark.slow(80)]

WORKER_KILLS = 20
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


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[RunningStack, dict[str, str]]]:
    """A running stack with a project per app, and their tokens; each test posts apps of its own.

    Batches of two make many transactions, so that kills meet them; leases are trusted long, so that what heals a
    killed worker's claims is that its session is gone.
    """
    with run_stack({"FIELDFLAME_FOLD_BATCH_TRACES": "2", "FIELDFLAME_FOLD_SWEEP_S": "1"}) as stack:
        yield stack, create_projects(stack, APPS)


def test_kills_change_no_total_and_lose_nothing(site: tuple[RunningStack, dict[str, str]]) -> None:
    # Half of the corpus makes transactions enough; test_corpus_end_to_end.py folds all of it.
    (stack, tokens), apps = site, APPS[:2]
    sender = Sender(stack.port, apps)
    sender.start()
    try:
        hits = kill_workers_in_mid_transaction(stack, sender, WORKER_KILLS // 2)
        assert kill(find_processes(stack, b"valkey-server")) >= 1
        hits += kill_workers_in_mid_transaction(stack, sender, WORKER_KILLS // 4)
        assert kill(find_processes(stack, b"postgres", b"-D")) >= 1
        wait_until_answering(stack)
        hits += kill_workers_in_mid_transaction(stack, sender, WORKER_KILLS - hits)
    finally:
        sender.finish()
    assert hits >= WORKER_KILLS
    stack.wait_until_folded({app: tokens[app] for app in apps}, limit_s=LIMIT_S)
    assert compare_with_oracle(stack, apps) == []
    for app in apps:
        assert stack.read(app, tokens[app], "status")["rejected"] == 0


def wait_until_answering(stack: RunningStack) -> None:
    """Waits until the database accepts queries again."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(psycopg.Error), database(stack) as connection:
            connection.execute("SELECT 1")
            return
        time.sleep(0.2)
    raise TimeoutError("the database did not come back")


def test_killing_everything_at_once_loses_nothing_that_was_accepted(site: tuple[RunningStack, dict[str, str]]) -> None:
    (stack, tokens), app = site, APPS[2]
    bodies = [body for _, body in corpus([app])]
    for body in bodies:
        post_until_accepted(stack.port, app, body)
    assert stack.process is not None
    kill([stack.process.pid, *find_processes(stack)])
    stack.process.wait()
    stack.start()
    stack.wait_until_folded({app: tokens[app]})
    status = stack.read(app, tokens[app], "status")
    assert (status["received"], status["folded"], status["rejected"]) == (len(bodies), len(bodies), 0)
    assert compare_with_oracle(stack, [app]) == []
