"""The proof that a job survives its worker: killed outright in its middle, its bytes are the same."""

import json
import time
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from config.up.running import RunningStack, run_stack
from tests.proof.corpus_stack import corpus, database, post_until_accepted
from tests.proof.test_kills import find_processes, kill, parent_of

pytestmark = pytest.mark.slow(50)

LIMIT_S = 300.0
LOOK = "SELECT state, attempts, done_traces, COALESCE(total_traces, 0) FROM aggregate_job WHERE id = %s"
LOCKED = " FOR UPDATE"
KILLS = 2  # of each job: fewer than the attempts it has
RUNNING, DONE = 1, 2
# One trace a batch makes a job long enough to be met, and lets it be met anywhere; a request may fold them all.
SETTINGS = {
    "FIELDFLAME_JOB_BATCH_TRACES": "1",
    "FIELDFLAME_JOB_SWEEP_S": "1",
    "FIELDFLAME_READ_MAX_RAW_TRACES": "10000",
    "FIELDFLAME_READ_MAX_RAW_BYTES": str(2**30),
}


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[RunningStack, str]]:
    """The whole corpus in one project, with a token."""
    with run_stack(SETTINGS) as stack:
        token = stack.create_project("all")
        bodies = [body for _, body in corpus()]
        for start in range(0, len(bodies), 50):
            post_until_accepted(stack.port, "all", b"\n".join(bodies[start : start + 50]))
        stack.wait_until_folded({"all": token})
        yield stack, token


def ask(stack: RunningStack, token: str, path: str, body: dict[str, Any] | None = None) -> bytes:
    request = urllib.request.Request(
        stack.url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        answer: bytes = response.read()
    return answer


def kill_in_mid_job(stack: RunningStack, job_id: str, attempt: int) -> tuple[int, int]:
    """Kills every worker process while the job's `attempt` is in its middle; returns how far it was, of how many."""
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
    api = "/api/v1/projects/all/"
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
