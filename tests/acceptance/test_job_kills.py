"""The proof that a job survives its worker: killed in the middle of the job, the bytes are the same."""

import json
import time
from urllib.parse import urlencode

import pytest

from ops.supervisor.running import RunningStack
from tests.acceptance.corpus_stack import ask, database
from tests.acceptance.processes import find_processes, kill, parent_of

pytestmark = [pytest.mark.stack, pytest.mark.kills, pytest.mark.slow(50)]

LIMIT_S = 300.0
LOOK = "SELECT state, attempts, done_traces, COALESCE(total_traces, 0) FROM aggregate_job WHERE id = %s"
LOCKED = " FOR UPDATE"
KILLS = 2  # of each job: fewer than the attempts it has
RUNNING, DONE = 1, 2


@pytest.fixture
def site(folded: tuple[RunningStack, dict[str, str]]) -> tuple[RunningStack, str]:
    """The traces of one app, with a token: as many of a tag as a job needs to be met twice."""
    stack, tokens = folded
    return stack, tokens["crunch"]


def kill_in_mid_job(stack: RunningStack, job_id: str, attempt: int) -> tuple[int, int]:
    """Kills every worker process in the middle of the job's `attempt`; returns its progress and total."""
    deadline = time.monotonic() + LIMIT_S
    is_running = False
    with database(stack) as connection:
        while time.monotonic() < deadline:
            # Each look at a running job locks its row, and the next follows at once: the job hardly gets on unseen.
            with connection.transaction():
                row = connection.execute(LOOK + (LOCKED if is_running else ""), [job_id]).fetchone()
                assert row is not None
                state, attempts, done, total = row
                assert state != DONE, "the job ended before it could be met"
                is_running = (state, attempts) == (RUNNING, attempt)
                if is_running and 20 * attempt < done < total:
                    workers = find_processes(stack, b"celery", b"worker")
                    # First the processes that run tasks, which Celery replaces; then the whole worker, which `up` does.
                    victims = workers if attempt > 1 else [pid for pid in workers if parent_of(pid) in workers]
                    assert kill(victims)
                    return done, total
            if not is_running:
                time.sleep(0.002)
    raise TimeoutError(f"attempt {attempt} was never in its middle")


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("functions", {"tag": "cache:cold", "limit": "50"}),
        ("calltree", {"tag": "cache:cold"}),
        ("profile", {"tag": "cache:cold", "format": "firefox"}),
    ],
)
def test_a_job_whose_worker_is_killed_ends_with_the_same_bytes(
    site: tuple[RunningStack, str], kind: str, params: dict[str, str]
) -> None:
    stack, token = site
    api = "/api/v1/projects/crunch/"
    expected = ask(stack, token, f"{api}{kind}?{urlencode(params)}")
    job = json.loads(ask(stack, token, f"{api}jobs", {"kind": kind, "params": params}))
    met = [kill_in_mid_job(stack, job["id"], attempt) for attempt in range(1, KILLS + 1)]
    assert all(0 < done < total for done, total in met)
    deadline = time.monotonic() + LIMIT_S
    while (now := json.loads(ask(stack, token, job["url"])))["state"] != "done":
        assert now["state"] in ("queued", "running"), now
        assert time.monotonic() < deadline, now
        time.sleep(0.1)
    assert now["attempts"] == KILLS + 1
    assert ask(stack, token, now["result_url"]) == expected
    with database(stack) as connection:
        pieces = connection.execute(
            "SELECT sum(octet_length(body)) FROM aggregate_jobpiece WHERE job_id = %s", [job["id"]]
        ).fetchone()
        assert pieces == (now["result_bytes"],)
