"""The proof against crashes: a fold of the corpus while its worker is killed again and again, and its stores once."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest

from config.up.running import RunningStack, run_stack
from tests.proof.corpus_stack import APPS, compare_with_oracle, corpus, create_projects, database, post_until_accepted

pytestmark = pytest.mark.slow(80)

WORKER_KILLS = 20
LIMIT_S = 240.0
# A fold is in its transaction while it holds a group's advisory lock.
IN_TRANSACTION = """
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
"""


def find_processes(stack: RunningStack, *words: bytes) -> list[int]:
    """Returns the processes of a stack whose command line holds all words."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            environ = (entry / "environ").read_bytes()
            is_ours = os.fsencode(stack.folder.path) in environ or os.fsencode(stack.folder.path) in command
            if is_ours and all(word in command for word in words):
                found.append(int(entry.name))
    return found


def parent_of(pid: int) -> int:
    """Returns a process's parent, 0 when it is gone."""
    with contextlib.suppress(OSError):
        return int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return 0


def kill(pids: list[int]) -> int:
    """Kills processes outright; returns how many there were."""
    killed = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def wait_for_transaction(stack: RunningStack, deadline: float) -> bool:
    """Waits until a fold is in its transaction; False if none was seen in time."""
    with contextlib.suppress(psycopg.Error), database(stack) as connection:
        while time.monotonic() < deadline:
            row = connection.execute(IN_TRANSACTION).fetchone()
            if row is not None and row[0]:
                return True
            time.sleep(0.0005)
    return False


def kill_workers_in_mid_transaction(stack: RunningStack, times: int) -> int:
    """Kills every worker process while a fold is in its transaction, `times` times; returns how often it was so."""
    hits = 0
    deadline = time.monotonic() + LIMIT_S
    while hits < times and time.monotonic() < deadline:
        if wait_for_transaction(stack, time.monotonic() + 5.0):
            # Mostly the processes that fold, which Celery replaces; now and then the whole worker, which `up` replaces.
            workers = find_processes(stack, b"celery", b"worker")
            victims = workers if hits % 5 == 4 else [pid for pid in workers if parent_of(pid) in workers]
            hits += bool(kill(victims))
            time.sleep(0.2)
    return hits


def test_kills_change_no_total_and_lose_nothing() -> None:
    # Batches of one make many transactions, so that kills meet them; leases are trusted long, so that what heals a
    # killed worker's claims is that its session is gone.
    with run_stack({"FIELDFLAME_FOLD_BATCH_TRACES": "2", "FIELDFLAME_FOLD_SWEEP_S": "1"}) as stack:
        tokens = create_projects(stack, APPS)
        faults: list[BaseException] = []

        def post_all() -> None:
            try:
                for app, body in corpus():
                    post_until_accepted(stack.port, app, body)
                    time.sleep(0.05)  # so that there is something to fold between the kills
            except BaseException as error:  # told by the test's own thread
                faults.append(error)

        sender = threading.Thread(target=post_all)
        sender.start()
        hits = kill_workers_in_mid_transaction(stack, WORKER_KILLS // 2)
        assert kill(find_processes(stack, b"valkey-server")) >= 1
        hits += kill_workers_in_mid_transaction(stack, WORKER_KILLS // 4)
        assert kill(find_processes(stack, b"postgres", b"-D")) >= 1
        wait_until_answering(stack)
        hits += kill_workers_in_mid_transaction(stack, WORKER_KILLS - hits)
        assert hits >= WORKER_KILLS
        sender.join()
        assert faults == []
        stack.wait_until_folded(tokens, limit_s=LIMIT_S)
        assert compare_with_oracle(stack) == []
        for app, token in tokens.items():
            assert stack.read(app, token, "status")["rejected"] == 0


def wait_until_answering(stack: RunningStack) -> None:
    """Waits until the database takes queries again."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(psycopg.Error), database(stack) as connection:
            connection.execute("SELECT 1")
            return
        time.sleep(0.2)
    raise TimeoutError("the database did not come back")


def test_killing_everything_at_once_loses_nothing_that_was_accepted() -> None:
    with run_stack() as stack:
        token = stack.create_project("crunch")
        bodies = [body for app, body in corpus() if app == "crunch"]
        for body in bodies:
            post_until_accepted(stack.port, "crunch", body)
        assert stack.process is not None
        kill([stack.process.pid, *find_processes(stack)])
        stack.process.wait()
        stack.start()
        stack.wait_until_folded({"crunch": token})
        status = stack.read("crunch", token, "status")
        assert (status["received"], status["folded"], status["rejected"]) == (len(bodies), len(bodies), 0)
        assert [line for line in compare_with_oracle(stack) if "'crunch'" in line] == []
