"""The proof against crashes: a fold of the corpus while its worker is killed repeatedly and its stores once."""

import contextlib
import time
from collections.abc import Iterator

import psycopg
import pytest

from ops.supervisor.running import RunningStack, run_stack
from tests.acceptance.corpus.oracle import APPS
from tests.acceptance.corpus.projects import create_projects
from tests.acceptance.corpus_stack import compare_with_oracle, corpus, database, post_until_accepted
from tests.acceptance.killing import LIMIT_S, Sender, kill_workers_in_mid_transaction
from tests.acceptance.processes import find_processes, kill

pytestmark = [pytest.mark.stack, pytest.mark.kills, pytest.mark.slow(80)]

WORKER_KILLS = 12


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[RunningStack, dict[str, str]]]:
    """A running stack with a project per app, and their tokens; each test posts apps of its own.

    Batches of two make many transactions, so that kills meet them; leases are trusted long, so that what heals a
    killed worker's claims is that its process is gone.
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
