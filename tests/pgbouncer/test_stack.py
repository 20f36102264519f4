"""A whole Fieldflame behind PgBouncer in transaction mode: sums, first attempts, kills and jobs."""

import json
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from ops.supervisor.running import RunningStack, run_stack
from tests.acceptance.corpus.oracle import APPS
from tests.acceptance.corpus.projects import create_projects
from tests.acceptance.corpus_stack import ask, compare_with_oracle, corpus, database, post_until_accepted
from tests.acceptance.killing import LIMIT_S, Sender, kill_workers_in_mid_transaction
from tests.pgbouncer.bouncer import run_bouncer
from tests.runner.servers import run_stores

pytestmark = [pytest.mark.nightly, pytest.mark.stack, pytest.mark.kills, pytest.mark.slow(90)]

WORKER_KILLS = 6
ATTEMPTS = """
SELECT r.state, r.attempts, count(*) FROM ingest_tracereceipt r JOIN projects_project p ON p.id = r.project_id
WHERE p.slug = %s GROUP BY 1, 2
"""
FOLDED = 1


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[RunningStack, dict[str, str]]]:
    """A running stack, with a project for each app and their tokens; each test posts an app of its own."""
    environment = {
        "FIELDFLAME_TRANSACTION_POOLING": "1",
        "FIELDFLAME_FOLD_BATCH_TRACES": "2",
        "FIELDFLAME_FOLD_SWEEP_S": "1",
        "FIELDFLAME_JOB_SWEEP_S": "1",
    }
    with (
        run_stores() as stores,
        run_bouncer(stores.environment["DATABASE_URL"]) as url,
        run_stack({**environment, "DATABASE_URL": url}) as stack,
    ):
        yield stack, create_projects(stack, APPS)


def test_every_trace_is_folded_at_its_first_attempt(site: tuple[RunningStack, dict[str, str]]) -> None:
    (stack, tokens), app = site, APPS[0]
    bodies = [body for _, body in corpus([app])]
    for body in bodies:
        post_until_accepted(stack.port, app, body)
    stack.wait_until_folded({app: tokens[app]}, limit_s=LIMIT_S)
    assert compare_with_oracle(stack, [app]) == []
    with database(stack) as connection:
        assert connection.execute(ATTEMPTS, [app]).fetchall() == [(FOLDED, 1, len(bodies))]


def test_kills_change_no_total_and_lose_nothing(site: tuple[RunningStack, dict[str, str]]) -> None:
    (stack, tokens), app = site, APPS[1]
    sender = Sender(stack.port, [app])
    sender.start()
    try:
        hits = kill_workers_in_mid_transaction(stack, sender, WORKER_KILLS)
    finally:
        sender.finish()
    assert hits == WORKER_KILLS
    stack.wait_until_folded({app: tokens[app]}, limit_s=LIMIT_S)
    assert compare_with_oracle(stack, [app]) == []
    assert stack.read(app, tokens[app], "status")["rejected"] == 0


@pytest.mark.parametrize(
    ("kind", "params"),
    [("profile", {"format": "firefox"}), ("calltree", {}), ("calltree", {"tag": "cache:cold"})],
    ids=["profile-of-cells", "calltree-of-cells", "calltree-of-traces"],
)
def test_a_job_answers_as_a_request_does(
    site: tuple[RunningStack, dict[str, str]], kind: str, params: dict[str, str]
) -> None:
    (stack, tokens), app = site, APPS[2]
    if not stack.read(app, tokens[app], "status")["received"]:
        for _, body in corpus([app]):
            post_until_accepted(stack.port, app, body)
    stack.wait_until_folded({app: tokens[app]}, limit_s=LIMIT_S)
    api = f"/api/v1/projects/{app}/"
    expected = ask(stack, tokens[app], f"{api}{kind}?{urlencode(params)}")
    job = json.loads(ask(stack, tokens[app], f"{api}jobs", {"kind": kind, "params": params}))
    deadline = time.monotonic() + LIMIT_S
    while (now := json.loads(ask(stack, tokens[app], job["url"])))["state"] != "done":
        assert now["state"] in ("queued", "running"), now
        assert time.monotonic() < deadline, now
        time.sleep(0.1)
    assert now["attempts"] == 1
    assert ask(stack, tokens[app], now["result_url"]) == expected
